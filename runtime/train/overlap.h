// Overlap: how much of the time in which gradients and values are on their way something is computed meanwhile. What is not hidden so, a training waits for.
//
// Intervals of both kinds begin and end whenever they do, on any threads, several of a kind at once; the meter adds up how long there is one of
// communication, and one of each.
#pragma once

#include <cstdint>
#include <mutex>

namespace mxc::train {

class Overlap {
 public:
  enum class Kind : uint8_t { communication, computing };

  // At `now` nanoseconds of a clock that does not go back.
  void begin(Kind kind, int64_t now) { change(kind, +1, now); }
  void end(Kind kind, int64_t now) { change(kind, -1, now); }

  // From 0 to 100: of the communication so far. 0 if there was none.
  double hidden_percent() const;

  // Of a clock of the system's that does not go back.
  static int64_t clock();

 private:
  void change(Kind kind, int by, int64_t now);

  mutable std::mutex mutex_;  // guards what follows
  int communication_ = 0, computing_ = 0;  // intervals that have begun and not ended
  int64_t last_ = 0;                       // change
  int64_t all_ = 0, hidden_ = 0;           // nanoseconds of communication, and of both
};

}  // namespace mxc::train

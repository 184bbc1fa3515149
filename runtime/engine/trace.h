// Trace: what ran when and on which thread, in the JSON format that Chrome's about:tracing and Perfetto read.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace mxc::engine {

// Threads: all members callable from any.
class Trace {
 public:
  // Keeps at most `capacity` events; later ones are counted only.
  explicit Trace(size_t capacity = size_t{1} << 20) : capacity_(capacity) {}

  // Nanoseconds of the steady clock, the time of all events.
  static int64_t now();

  // Bytes of what an event reads and writes; zeros are not shown.
  struct Sizes {
    uint64_t read = 0, written = 0;
  };

  // The calling thread (known by its system name) did `name` from `begin` to `end`. `category` is a lane, "step" or "wait".
  void add(std::string name, std::string category, int64_t begin, int64_t end, Sizes sizes = {0, 0});

  // {"traceEvents": [...]}: complete events ("ph": "X", microseconds from the first, sizes as "args") and thread names. Events in
  // order of begin.
  std::string json() const;

 private:
  struct Event {
    std::string name, category;
    int64_t begin, end;
    Sizes sizes;
    int thread;
  };
  int thread_number();  // requires mutex_

  const size_t capacity_;
  mutable std::mutex mutex_;             // guards all below
  std::vector<Event> events_;
  size_t dropped_ = 0;
  std::map<std::thread::id, int> threads_;  // small numbers in order of first appearance
  std::vector<std::string> thread_names_;
};

}  // namespace mxc::engine

// Member: a process's side of the conversation with the scheduler. A pure state machine. What is asked is said again with each heartbeat
// until it is answered.
//
// If the job waits for its dead, a scheduler that is gone is waited for: the member joins again, says again where its server is, and which barrier it has
// passed; from what all say, a scheduler that knows nothing comes to know where the job is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "runtime/kv/progress.h"

namespace mxc::kv {

struct MemberOptions {
  std::string who;                                 // "host alpha, process 4711"
  std::string scheduler;                           // its address, for messages
  Duration beat = std::chrono::milliseconds(500);  // between heartbeats
  Duration silence = std::chrono::seconds(2);      // after which the scheduler is gone
  Duration gathering = std::chrono::seconds(60);   // in which it must have answered
  bool waits = false;                              // for a scheduler that is gone; as long as that
};

// What the scheduler has said, when it is news.
struct News {
  enum class Kind : uint8_t {
    peers,  // the first time, and when one has come back at another address
    barrier_passed,
    farewell,
    ended
  } kind = Kind::ended;
  uint64_t number = 0;               // of the barrier
  std::vector<std::string> addresses;  // peers: where their servers listen, by rank; nothing, of those that are none
  std::string why;                   // ended: the job has, or cannot go on
};

class Member {
 public:
  Member(const MemberOptions& options, Time now);

  // ---- What is asked; goes with the next `send`
  void seal(uint64_t hash, std::string address);
  void meet(uint64_t barrier);
  void leave();
  // Ends the job, for this reason.
  void fail(std::string why);
  // How far the program is.
  void progress(Progress progress) { progress_ = std::move(progress); }

  // ---- What happens
  void receive(const Message& message, Time now, std::vector<News>& news);
  // The connection to the scheduler has ended.
  void lost(std::vector<News>& news);
  void tick(Time now, std::vector<News>& news);
  // The next message for the scheduler. False: none now. `text` is its payload.
  bool send(Time now, Header& header, std::string& text);
  // When `send` or `tick` has something to do, at the latest.
  Time next_time() const;

 private:
  struct Said {
    Type type;
    uint64_t step = 0;
    std::string text;
  };
  void ask(Said said);
  void answered(Type type);
  void gone(std::vector<News>& news);
  void end(std::string why, std::vector<News>& news);

  const MemberOptions options_;
  std::vector<Said> asked_;  // and not answered, in order
  std::optional<Said> sealed_;
  size_t next_ = 0;          // of asked_ to be said now; beyond: the heartbeat is next, or nothing
  bool beat_due_ = false;
  bool welcome_ = false, over_ = false;
  Progress progress_;
  uint64_t passed_ = 0;
  std::string peers_;  // that have been told
  Time began_, heard_, next_beat_, ticked_;
};

}  // namespace mxc::kv

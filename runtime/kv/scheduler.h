// Scheduler: knows who is in the job, tells everybody where the servers are, and that somebody is gone. It is never on the way of data. A pure
// state machine: messages, lost connections and the time in, notices out.
//
// A member joins, says where its server listens and by which plan (`sealed`), says that it lives, meets the others at barriers, and leaves
// when it has nothing more to do. When all have left, all are told, and their servers end. A member whose connection ends or who is silent
// for too long before that is gone: the job ends, and everybody is told who it was. So is one that says that it lives, but whose program stands still
// (progress.h) while it waits for nobody and another waits.
//
// If the job waits for its dead, a member whose connection ends is away, and the others hear nothing. A process that joins as a rank takes the place of
// the one before, with the barriers of a program that begins anew; when it has sealed all are told where its server is. Whoever of the old process still
// speaks is nobody. A scheduler that takes the place of another knows nothing but what members say when they join again: which barrier they have passed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/kv/progress.h"

namespace mxc::kv {

struct SchedulerOptions {
  uint32_t members = 1;
  Duration silence = std::chrono::seconds(2);     // after which a member is gone
  Duration gathering = std::chrono::seconds(60);  // in which all must have joined
  Duration patience = std::chrono::seconds(30);   // with a program that stands still; 0: for ever
  bool waits = false;                             // for members that are gone, or silent
  Duration absence = std::chrono::seconds(60);    // for so long
};

// A message to a member.
struct Notice {
  uint32_t rank = 0;
  Header header;  // job, sender and incarnation are the loop's
  std::string text;
};

class Scheduler {
 public:
  Scheduler(const SchedulerOptions& options, Time now);

  // Error: InvalidArgument: it breaks the protocol, and has changed nothing.
  absl::Status receive(const Message& message, Time now, std::vector<Notice>& notices);
  // The connection of this member's process has ended.
  void lost(uint32_t rank, uint64_t incarnation, std::vector<Notice>& notices);
  // Time has passed.
  void tick(Time now, std::vector<Notice>& notices);

  // All have left, or the job has failed; who has been told need not be told again.
  bool is_over() const { return farewell_ || !failure_.empty(); }
  bool all_have_come() const;
  // Why the job has failed, in a line; empty: it has not.
  const std::string& failure() const { return failure_; }

 private:
  struct Member {
    bool joined = false, sealed = false, left = false;
    bool away = false;  // its connection has ended, and nobody has come in its place
    uint64_t incarnation = 0;
    std::string who;      // host and process
    std::string address;  // of its server; empty: it has none
    uint64_t hash = 0;
    Progress progress;
    uint64_t barrier = 0;  // that it has reached
    Time heard{};
    Time moved{};  // when its program was last seen to go on
  };

  void fail(std::string why, std::vector<Notice>& notices);
  void gone(uint32_t rank, const std::string& how, std::vector<Notice>& notices);
  static void note_progress(Member& member, Progress progress, Time now);
  void look_for_standstill(Time now, std::vector<Notice>& notices);
  std::string described(uint32_t rank) const;
  void tell(uint32_t rank, Type type, uint64_t step, std::vector<Notice>& notices, std::string text = "");
  void tell_all(Type type, uint64_t step, std::vector<Notice>& notices, const std::string& text = "");
  void join(uint32_t rank, const Message& message, std::vector<Notice>& notices);
  void seal(uint32_t rank, const Message& message, std::vector<Notice>& notices);
  void meet(uint32_t rank, uint64_t number, std::vector<Notice>& notices);
  void leave(uint32_t rank, std::vector<Notice>& notices);
  template <typename Condition>
  bool all(Condition condition) const;

  const SchedulerOptions options_;
  const Time began_;
  std::vector<Member> members_;
  Time ticked_;
  uint32_t epoch_ = 0;
  bool farewell_ = false;
  uint64_t passed_ = 0;  // barriers
  std::string failure_;
};

}  // namespace mxc::kv

// Processes that `mxc launch` starts: their output as lines, how they are asked to end, and how they ended.
//
// All of them die with this process (PR_SET_PDEATHSIG), however that ends; what runs on another machine for one of them, because the connection to it ends.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace mxc::driver {

// A pipe's reading end, cut into lines.
class Lines {
 public:
  explicit Lines(int descriptor);
  ~Lines();
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;

  int descriptor() const { return descriptor_; }
  bool open() const { return open_; }
  // The whole lines that are there; at the end of the stream the rest, too.
  std::vector<std::string> read();

 private:
  const int descriptor_;
  bool open_ = true;
  std::string text_;
};

struct Child {
  pid_t process = -1;
  std::optional<int> status;  // as waitpid has it, once it has ended
  std::unique_ptr<Lines> out, err;
  std::string host;  // of a program on another machine: `process` is that of its ssh (remote.h)
  int control = -1;  // what ssh reads
  int returns = 0;   // so many before it have died in its place
};

using Variables = std::vector<std::pair<std::string, std::string>>;

struct ChildCommand {
  std::vector<std::string> words;
  Variables variables = {};  // beside this process's
  int kept = -1;             // a descriptor that it inherits; -1: none
  bool controlled = false;   // its standard input is `Child::control`, and not this process's
};

// Error (invalid argument): it cannot be run.
absl::Status start(Child& child, const ChildCommand& command);

bool has_ended(Child& child);
// Of one that has ended: the signal that ended it, there or here; 0: it ended by itself. And its exit code, 128 + N for signal N.
int signal_of(const Child& child);
int code_of(const Child& child);
// Has it ended, and by a signal?
bool was_killed(const Child& child);
// "rank 2 (host beta) was ended by signal 9 (Killed)", for "rank 2".
std::string how_it_ended(const std::string& who, const Child& child);

// What it is to read. One that has ended reads nothing.
void tell(const Child& child, const std::string& line);
// Sends it a signal, or asks ssh's other end to. SIGKILL: does not come back before a process of this machine has ended.
void end(Child& child, int signal);
// Ends the process of this machine.
void cut(Child& child);

}  // namespace mxc::driver

// A signal that does nothing while an object of this class lives. SIGPIPE and SIGXFSZ end a process by default when it writes to a pipe
// that nobody reads, or beyond the limit of a file's size; ignored, they leave the write to fail with an error that can be handled.
#pragma once

#include <csignal>

namespace mxc::train {

class IgnoredSignal {
 public:
  explicit IgnoredSignal(int number);
  ~IgnoredSignal();
  IgnoredSignal(const IgnoredSignal&) = delete;
  IgnoredSignal& operator=(const IgnoredSignal&) = delete;

 private:
  int number_;
  struct sigaction before_;
};

}  // namespace mxc::train

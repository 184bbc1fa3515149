// See ignored_signal.h.
#include "runtime/train/ignored_signal.h"

namespace mxc::train {

IgnoredSignal::IgnoredSignal(int number) : number_(number) {
  struct sigaction ignore = {};
  ignore.sa_handler = SIG_IGN;
  sigemptyset(&ignore.sa_mask);
  sigaction(number_, &ignore, &before_);
}

IgnoredSignal::~IgnoredSignal() { sigaction(number_, &before_, nullptr); }

}  // namespace mxc::train

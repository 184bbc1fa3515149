// See stop_signals.h.
#include "driver/stop_signals.h"

#include <signal.h>

#include <csignal>
#include <cstddef>

namespace mxc::driver {

namespace {

volatile std::sig_atomic_t stop_signal = 0;
struct sigaction before_stop[2];
constexpr int kStopSignals[] = {SIGINT, SIGTERM};

void restore() {
  for (size_t i = 0; i < 2; ++i) sigaction(kStopSignals[i], &before_stop[i], nullptr);
}

}  // namespace

StopSignals::StopSignals() {
  stop_signal = 0;
  struct sigaction action = {};
  action.sa_handler = [](int number) {
    stop_signal = number;
    restore();
  };
  sigfillset(&action.sa_mask);
  for (size_t i = 0; i < 2; ++i) sigaction(kStopSignals[i], nullptr, &before_stop[i]);
  for (size_t i = 0; i < 2; ++i)
    if (before_stop[i].sa_handler != SIG_IGN) sigaction(kStopSignals[i], &action, nullptr);
}

StopSignals::~StopSignals() { restore(); }

int StopSignals::received() const { return stop_signal; }

}  // namespace mxc::driver

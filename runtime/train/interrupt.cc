// See interrupt.h.
#include "runtime/train/interrupt.h"

namespace mxc::train {
namespace {

// The only type that a handler may write; written by handlers, read by the loop, which tolerates seeing it a step late.
volatile std::sig_atomic_t g_requested = 0;

void on_signal(int) { g_requested = 1; }

}  // namespace

Interrupt::Interrupt() {
  g_requested = 0;
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART | SA_RESETHAND;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, &old_int_);
  sigaction(SIGTERM, &action, &old_term_);
}

Interrupt::~Interrupt() {
  sigaction(SIGINT, &old_int_, nullptr);
  sigaction(SIGTERM, &old_term_, nullptr);
}

bool Interrupt::requested() const { return g_requested != 0; }

}  // namespace mxc::train

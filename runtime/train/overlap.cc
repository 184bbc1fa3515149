// See overlap.h.
#include "runtime/train/overlap.h"

#include <algorithm>
#include <chrono>

namespace mxc::train {

int64_t Overlap::clock() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Threads read the clock before they come here, and may change places.
void Overlap::change(Kind kind, int by, int64_t now) {
  std::lock_guard lock(mutex_);
  now = std::max(now, last_);
  if (communication_ > 0) all_ += now - last_;
  if (communication_ > 0 && computing_ > 0) hidden_ += now - last_;
  last_ = now;
  (kind == Kind::communication ? communication_ : computing_) += by;
}

double Overlap::hidden_percent() const {
  std::lock_guard lock(mutex_);
  return all_ == 0 ? 0 : 100.0 * static_cast<double>(hidden_) / static_cast<double>(all_);
}

}  // namespace mxc::train

// The threads of the lanes.
#include <pthread.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/core/spin.h"
#include "runtime/engine/dispatcher.h"
#include "runtime/engine/running.h"

namespace mxc::engine {

void Dispatcher::lane_main(LaneState& lane, int number) {
  // For debuggers and the trace; at most 15 characters, cut beyond.
  std::string name = absl::StrCat(lane_name(static_cast<Lane>(lane.lane)), " ", number);
  pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
  own_lane = &lane;
  Lock lock = locked();
  while (true) {
    if (!lane.ready.empty()) {
      run_batch(lane, lock);
    } else if (stopping_) {
      return;
    } else {
      wait_for_work(lane, lock);
    }
  }
}

// Returns when there may be work. One thread of a lane spins for a while; when it gives up, or another does, it sleeps.
void Dispatcher::wait_for_work(LaneState& lane, Lock& lock) {
  if (spin_ != 0 && !lane.watched) {
    lane.watched = true;
    const uint64_t seen = lane.posted.load(std::memory_order_relaxed);
    lock.unlock();
    // Relaxed: whatever it sees, it looks again under the lock.
    core::spin(spin_, [&] { return lane.posted.load(std::memory_order_relaxed) != seen; });
    relock(lock);
    lane.watched = false;
    if (!lane.ready.empty() || stopping_) return;
  }
  ++lane.sleeping;
  lane.work.wait(lock);
  --lane.sleeping;
}

}  // namespace mxc::engine

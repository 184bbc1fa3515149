// See progress.h.
#include "runtime/kv/progress.h"

#include <ctime>
#include <utility>

namespace mxc::kv {

namespace {

constexpr Duration kBetweenLooks = std::chrono::milliseconds(400);  // at the CPUs
constexpr int kPartOfCpu = 200;

}  // namespace

uint64_t Moves::look(Time now, uint64_t asked, Duration computed, bool waits) {
  if (std::exchange(asked_, asked) != asked) ++moves_;
  if (now - looked_ < kBetweenLooks) return moves_;
  const Duration passed = now - std::exchange(looked_, now);
  const Duration used = computed - std::exchange(computed_, computed);
  if (!waits && used * kPartOfCpu > passed) ++moves_;
  return moves_;
}

Duration computed_by_process() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

}  // namespace mxc::kv

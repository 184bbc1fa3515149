// See resources.h.
#include "runtime/engine/resources.h"

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "runtime/core/plan.h"

namespace mxc::engine {

Random::Draw Random::next() {
  std::lock_guard<std::mutex> lock(mutex_);
  return {seed_, step_++};
}

void Random::set_seed(uint64_t seed) {
  std::lock_guard<std::mutex> lock(mutex_);
  seed_ = seed;
  step_ = 0;
}

Scratch::~Scratch() {
  engine_.wait_idle(variable_, /*tells=*/false).IgnoreError();
  std::free(memory_);
}

absl::StatusOr<void*> Scratch::get(size_t bytes) {
  if (memory_ != nullptr && bytes <= bytes_) return memory_;
  const size_t whole = (bytes + plan::kAlign) / plan::kAlign * plan::kAlign;  // at least one unit
  void* grown = whole < bytes ? nullptr : std::aligned_alloc(plan::kAlign, whole);
  if (grown == nullptr) return absl::ResourceExhaustedError(absl::StrCat("no memory for ", bytes, " bytes of scratch"));
  std::free(memory_);
  memory_ = grown;
  bytes_ = whole;
  return memory_;
}

}  // namespace mxc::engine

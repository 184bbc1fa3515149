// See aligned_plan.h.
#include "driver/aligned_plan.h"

#include <cstring>

namespace mxc::driver {

AlignedPlan::AlignedPlan() : status_(core::error(core::Code::corrupt_plan, "plan: none")) {}

AlignedPlan::AlignedPlan(std::string_view blob) : storage_((blob.size() + plan::kAlign) / sizeof(uint64_t) + 1) {
  auto start = reinterpret_cast<uintptr_t>(storage_.data());
  void* aligned = reinterpret_cast<void*>((start + plan::kAlign - 1) / plan::kAlign * plan::kAlign);
  std::memcpy(aligned, blob.data(), blob.size());
  status_ = core::PlanView::open(aligned, blob.size(), &view_);
}

}  // namespace mxc::driver

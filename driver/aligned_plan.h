// A Plan copied out of a file or a string to where it may be read: Plans are viewed at aligned addresses alone.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "runtime/core/plan_view.h"

namespace mxc::driver {

class AlignedPlan {
 public:
  AlignedPlan();  // none: not ok
  explicit AlignedPlan(std::string_view blob);

  // Ok if the blob is a valid Plan; `view` may then be used as long as this lives.
  const core::Status& status() const { return status_; }
  const core::PlanView& view() const { return view_; }

 private:
  std::vector<uint64_t> storage_;  // moving a vector does not move its elements, so that the view stays valid
  core::PlanView view_;
  core::Status status_;
};

}  // namespace mxc::driver

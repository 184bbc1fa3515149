// What a library is, in a few lines for people: `mxc inspect`.
#pragma once

#include <string>
#include <vector>

#include "runtime/core/plan_view.h"

namespace mxc::driver {

// Whether a Plan is that of a library.
bool isOfLibrary(const core::PlanView& plan);

// Model, inputs and outputs of each set of sizes, memory, trained parameters, flags, versions, hash and build number. `plans`: those of one library as
// they lie in it, all sets for one processor after another.
std::string librarySummary(const std::vector<core::PlanView>& plans);

}  // namespace mxc::driver

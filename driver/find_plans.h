// The Plans inside a compiled program, object, archive or shared library.
//
// A Plan begins with a magic number, its version and its length, and is position independent; so it is found by looking for
// places in the file where those make a valid Plan, whatever the container.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "driver/aligned_plan.h"
#include "driver/diagnostics.h"

namespace mxc::driver {

// All Plans of a file's bytes, those of models in the order of their names.
std::vector<AlignedPlan> findPlans(std::string_view file);

// Those of the file at `path`. None: the error, at the file, is of `printer`.
std::vector<AlignedPlan> readPlans(const std::string& path, DiagnosticPrinter& printer);

}  // namespace mxc::driver

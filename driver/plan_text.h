// A Plan for people, and as JSON for programs.
#pragma once

#include <string>

#include "runtime/core/plan_view.h"

namespace mxc::driver {

struct PlanTextOptions {
  bool steps = true;    // every step of every graph, with its arguments
  bool buffers = true;  // every buffer
};

// "parameter", "gradient", ...
const char* roleName(plan::Role role);

// Facts, memory, hyper-parameters, parameters, graphs; sizes in bytes.
std::string planText(const core::PlanView& plan, const PlanTextOptions& options);

// Everything, one object: facts, devices, buffers, hypers, parameters, graphs with their blocks and steps. Indices are those of the Plan.
std::string planJson(const core::PlanView& plan);

}  // namespace mxc::driver

// The verb `info`: what a program holds, for people or as JSON. Reads the Plan alone; nothing is allocated or run.
#pragma once

#include <string>

#include "runtime/core/plan_view.h"

namespace mxc::train {

std::string info_text(const core::PlanView& view);

// One object: facts, parameters, hypers, graphs (inputs, outputs, steps), memory (bytes by device).
std::string info_json(const core::PlanView& view);

// "NCHW16c"-like: the logical axes by number in physical order, with the block: "0,2,3,1/16". Empty for row-major.
std::string layout_text(const plan::Buffer& buffer);

// "1.5 MiB", "512 B".
std::string bytes_text(uint64_t bytes);

}  // namespace mxc::train

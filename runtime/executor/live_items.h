// Which part of a graph computes what is wanted.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/core/plan_view.h"

namespace mxc::executor {

// One byte for each top-level item of a graph: 1 for those of [first, end) that compute a buffer of `wanted`, or what such items read, or
// write to persistent memory; else 0. Decided by bytes: each item's reads and writes, from the last to the first. A nested block is kept
// or left out whole.
std::vector<uint8_t> live_items(const core::PlanView& view, uint32_t graph, uint32_t first, uint32_t end,
                                const std::vector<uint32_t>& wanted);

}  // namespace mxc::executor

// The checks behind PlanView::open: every index, offset and size of a blob is in range before anything follows it.
#pragma once

#include <cstdint>

#include "runtime/core/plan_view.h"

namespace mxc::core {

// Checks the header, the bounds and alignment of every table, and the string section, of a blob of `bytes` bytes.
// After it the view's spans are safe to form.
Status check_tables(const void* blob, uint64_t bytes);

// Checks every record. Requires: check_tables passed on the view's blob. `kernel_count` bounds the kernel indices of steps.
Status check_records(const PlanView& view, uint64_t kernel_count);

}  // namespace mxc::core

// Whether a hyper-parameter can have a value (core/hyper_range.h), as the trainer and executors say it.
#pragma once

#include <string>

#include "runtime/core/plan.h"

namespace mxc::io {

// Empty if `value` can be used, as the program will hold it: in `dtype` (1e-60 is 0 in f32, 1e60 infinite). Otherwise "expected ...,
// not VALUE". What the program was compiled with (`compiled`) is always accepted.
std::string hyper_fault(const std::string& name, plan::DType dtype, double compiled, double value);

}  // namespace mxc::io

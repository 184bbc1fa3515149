// Which values of a hyper-parameter can mean something. Only what is certain is refused: no number at all for any of them, and for
// those whose name the optimizers share:
//     lr, weight_decay, clip, clip_norm, l1, beta, eta   at least 0
//     momentum, beta1, beta2, rho                        at least 0, below 1
//     epsilon                                            above 0
#pragma once

#include <string>

#include "runtime/core/plan.h"

namespace mxc::train {

// Empty if `value` can be used, as the program will hold it: in `dtype` (1e-60 is 0 in f32, 1e60 infinite). Otherwise "expected ...,
// not VALUE". What the program was compiled with (`compiled`) is always accepted.
std::string hyper_fault(const std::string& name, plan::DType dtype, double compiled, double value);

}  // namespace mxc::train

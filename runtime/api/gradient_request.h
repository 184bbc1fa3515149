// What is done with a gradient.
#pragma once

namespace mxc {

// Backward replaces the last one, adds to it, or does not compute it: then the steps that only it needs are left out.
enum class GradientRequest { write, add, none };

}  // namespace mxc

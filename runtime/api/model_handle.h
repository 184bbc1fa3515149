// A compiled model, as the code beside it means it: MXC_MODEL(lenet) makes `lenet` a constant of this class.
#pragma once

namespace mxc {

namespace plan {
struct Program;
}

struct Model {
  const char* name;
  const plan::Program* program;  // what mxc made of it; null where there is none: while models are staged
};

}  // namespace mxc

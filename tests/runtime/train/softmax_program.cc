// The hand-written model as a program: what the compiler makes, but with its Plan built when the program starts. Linked by
// link_runtime.txt alone, as mxc links a model's object file.
#include "tests/runtime/train/softmax_model.h"

namespace {
const mxc::test::BuiltPlan g_plan = mxc::test::softmax_plan();
}

extern "C" {
extern mxc::plan::Program mxc_program;
mxc::plan::Program mxc_program = g_plan.program();
}

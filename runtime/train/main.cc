// main of a compiled model: the standard trainer on the program that the compiler linked in; or the scheduler of a job, where the launcher wants that.
#include "runtime/kv/role.h"
#include "runtime/train/trainer.h"

extern "C" const mxc::plan::Program mxc_program;

int main(int argc, char** argv) {
  if (const int code = mxc_run_role(); code >= 0) return code;
  return mxc::train::trainer_main(argc, argv, mxc_program);
}

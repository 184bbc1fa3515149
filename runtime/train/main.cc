// main of a compiled model: the standard trainer on the program that the compiler linked in.
#include "runtime/train/trainer.h"

extern "C" const mxc::plan::Program mxc_program;

int main(int argc, char** argv) { return mxc::train::trainer_main(argc, argv, mxc_program); }

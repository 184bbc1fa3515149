// Code that ends the process by itself.
// RUN: %exits 1 mxc compile %s --emit=graph -o %t.json 2>&1 | FileCheck %s
#include <mxc/mxc.h>

#include <cstdlib>

// CHECK: stage_exit.cpp: error: the model's code ended the staging process with exit code 0; no operation had been made
MXC_MODEL(leaves) { std::exit(0); }

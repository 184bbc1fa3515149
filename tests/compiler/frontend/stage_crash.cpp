// A crash in the model's code is a diagnostic with the last operation before it.
// RUN: %exits 1 mxc compile %s --emit=graph -o %t.json 2>&1 | FileCheck %s
#include <mxc/mxc.h>
using namespace mxc;

MXC_MODEL(crashes) {
  // CHECK: stage_crash.cpp:[[@LINE+3]]:14: error: staging crashed: Segmentation fault; the last operation before that was input
  // CHECK-NEXT: Symbol x = input("x", {3});
  // CHECK-NEXT: ^~~~~
  Symbol x = input("x", {3});
  volatile int* nowhere = nullptr;
  *nowhere = 1;
}

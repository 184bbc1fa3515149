// RUN: %exits 1 mxc compile %s --emit=graph -o %t.json 2>&1 | FileCheck %s
#include <mxc/mxc.h>
using namespace mxc;

volatile int depth = 0;
// CHECK: error: staging crashed: Segmentation fault; the last operation before that was input
int recurse(int n) {
  volatile char room[4096];
  room[0] = static_cast<char>(n);
  return depth == 1 ? 0 : recurse(n + 1) + room[0];
}

MXC_MODEL(deep) {
  input("x", {3});
  recurse(0);
}

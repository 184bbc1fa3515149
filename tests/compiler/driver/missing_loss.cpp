// A model without a loss cannot be trained.
// RUN: rm -f %t.exe
// RUN: %exits 1 mxc compile %s -o %t.exe 2>&1 | FileCheck %s
// RUN: test ! -e %t.exe
#include <mxc/mxc.h>
using namespace mxc;

// CHECK: missing_loss.cpp:[[@LINE+3]]:1: error: the model has no minimize(loss): there is nothing to train
// CHECK-NEXT: MXC_MODEL(net) {
// CHECK-NEXT: {{^}}^
MXC_MODEL(net) {
  Symbol x = input("x", {batch(2), 3});
  output("y", dense(x, {.units = 2}));
}

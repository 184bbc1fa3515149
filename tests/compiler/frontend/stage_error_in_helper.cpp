// An error in a helper function shows the lines that called it.
// RUN: %exits 1 mxc compile %s --emit=graph -o %t.json 2>&1 | FileCheck %s
#include <mxc/mxc.h>
using namespace mxc;

Symbol block(Symbol x) {
  // CHECK: stage_error_in_helper.cpp:[[@LINE+3]]:10: error: conv2d needs the attribute 'kernel': write {.kernel = ...}
  // CHECK-NEXT: return conv2d(x, {.filters = 3});
  // CHECK-NEXT: ^~~~~~
  return conv2d(x, {.filters = 3});
}

MXC_MODEL(helper) {
  Symbol x = input("x", {batch(2), 3, 8, 8});
  // CHECK-NEXT: stage_error_in_helper.cpp:[[@LINE+2]]:{{[0-9]+}}: note: called from here
  // CHECK-NEXT: block(x);
  block(x);
}

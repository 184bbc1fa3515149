// A shape that does not fit in a helper function: notes lead to the model's line. An operator has its caret too.
// RUN: %exits 1 mxc compile %s --emit=obj -o %t.o 2>&1 | FileCheck %s
// RUN: %exits 1 mxc compile %s -DSUM --emit=obj -o %t.o 2>&1 | FileCheck %s --check-prefix=SUM
#include <mxc/mxc.h>
using namespace mxc;

Symbol block(Symbol x) {
  // CHECK: shape_in_helper.cpp:[[@LINE+3]]:10: error: conv2d kernel of 5 (dilated) is larger than the padded input of 4
  // CHECK-NEXT: return conv2d
  // CHECK-NEXT: {{^}}         ^~~~~~
  return conv2d(x, {.filters = 3, .kernel = 5});
}

MXC_MODEL(net) {
  Symbol x = input("x", {batch(2), 3, 8, 8});
#ifdef SUM
  // SUM: shape_in_helper.cpp:[[@LINE+3]]:19: error: add shapes 2x3x8x8 and 5x1 do not broadcast
  // SUM-NEXT: minimize(tanh(x + parameter("w", {5, 1})));
  // SUM-NEXT: {{^}}                  ^
  minimize(tanh(x + parameter("w", {5, 1})));
#else
  x = block(x);
  // CHECK: shape_in_helper.cpp:[[@LINE+2]]:{{[0-9]+}}: note: called from here
  // CHECK-NEXT: minimize(mean(block(x)));
  minimize(mean(block(x)));
#endif
}

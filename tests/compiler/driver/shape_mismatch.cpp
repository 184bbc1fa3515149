// A shape that does not fit: the line of the operation, a caret under its name, where the shape comes from; exit code 1, no output.
// RUN: rm -f %t.o
// RUN: %exits 1 mxc compile %s --emit=obj -o %t.o 2>&1 | FileCheck %s
// RUN: test ! -e %t.o
#include <mxc/mxc.h>
using namespace mxc;

MXC_MODEL(net) {
  Symbol image = input("image", {batch(64), 1, 28, 28});
  Symbol label = input("label", {batch(64)}, i32);
  // CHECK: shape_mismatch.cpp:[[@LINE+8]]:19: error: dense expects a 2-D input, got 64x50x24x24
  // CHECK-NEXT: {{^}}  Symbol logits = dense(h, {.units = 10});
  // CHECK-NEXT: {{^}}                  ^~~~~
  // CHECK-NEXT: shape_mismatch.cpp:[[@LINE+4]]:14: note: shape comes from here
  // CHECK-NEXT: {{^}}  Symbol h = conv2d(image, {.filters = 50, .kernel = 5});
  // CHECK-NEXT: {{^}}             ^~~~~~
  // CHECK-NOT: {{.}}
  Symbol h = conv2d(image, {.filters = 50, .kernel = 5});
  Symbol logits = dense(h, {.units = 10});
  minimize(softmax_cross_entropy(logits, label));
}

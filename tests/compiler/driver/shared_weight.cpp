// A shared parameter that does not fit its second use is named.
// RUN: %exits 1 mxc compile %s --emit=obj -o %t.o 2>&1 | FileCheck %s
#include <mxc/mxc.h>
using namespace mxc;

MXC_MODEL(net) {
  Symbol x = input("x", {batch(2), 3});
  Symbol w = parameter("w", {4, 3});
  Symbol y = dense(x, {.units = 4, .weight = w, .bias = false});
  // CHECK: shared_weight.cpp:[[@LINE+1]]:12: error: dense needs a parameter of shape 4x4, but parameter w is 4x3
  minimize(dense(y, {.units = 4, .weight = w, .bias = false}));
}

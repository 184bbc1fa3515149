// RUN: %exits 1 mxc compile %s --emit=graph -o %t.json 2>&1 | FileCheck %s
#include <mxc/mxc.h>
using namespace mxc;

MXC_MODEL(missing) {
  Symbol x = input("x", {batch(2), 3, 8, 8});
  // CHECK: stage_missing_attribute.cpp:[[@LINE+1]]:{{[0-9]+}}: error: conv2d needs the attribute 'kernel': write {.kernel = ...}
  conv2d(x, {.filters = 3});
}

// A name that is taken, with the place of the first.
// RUN: %exits 1 mxc compile %s --emit=graph -o %t.json 2>&1 | FileCheck %s
#include <mxc/mxc.h>
using namespace mxc;

MXC_MODEL(names) {
  Symbol x = input("x", {batch(2), 3});
  // CHECK: stage_names.cpp:[[@LINE+6]]:{{[0-9]+}}: error: the name 'fc' is already taken
  // CHECK-NEXT: dense(x, {.units = 4, .name = "fc"});
  // CHECK-NEXT: ^
  // CHECK-NEXT: stage_names.cpp:[[@LINE+2]]:{{[0-9]+}}: note: first used by this dense
  // CHECK-NEXT: dense(x, {.units = 3, .name = "fc"});
  dense(x, {.units = 3, .name = "fc"});
  dense(x, {.units = 4, .name = "fc"});
}

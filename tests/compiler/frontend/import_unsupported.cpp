// What mxc understands and cannot do has exit code 3 and is named.
// RUN: %exits 3 mxc compile %s --emit=mlir 2>&1 | FileCheck %s
#include <mxc/mxc.h>
using namespace mxc;

MXC_MODEL(net) {
  Symbol x = input("x", {batch(2), 3});
  // CHECK: import_unsupported.cpp:[[@LINE+1]]:{{[0-9]+}}: error: parameter 'dense0.weight': gradients that add up over steps (GradientRequest::add) are not supported in compiled training
  minimize(dense(x, {.units = 2, .weight = {.gradient = GradientRequest::add}}));
}

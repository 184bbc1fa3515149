// An exception names its type and text, at the last operation.
// RUN: rm -f %t.json
// RUN: %exits 1 mxc compile %s --emit=graph -o %t.json 2>&1 | FileCheck %s
// RUN: test ! -e %t.json
#include <mxc/mxc.h>

#include <stdexcept>
using namespace mxc;

MXC_MODEL(throws) {
  Symbol x = input("x", {3});
  // CHECK: stage_exception.cpp:[[@LINE+3]]:7: error: staging threw std::runtime_error: no data today
  // CHECK-NEXT: x = tanh(x);
  // CHECK-NEXT: {{^}}      ^~~~
  x = tanh(x);
  throw std::runtime_error("no data today");
}

// Operations made by helper functions carry the lines that called them.
// RUN: mxc compile %s --emit=graph | FileCheck %s
#include <mxc/mxc.h>
using namespace mxc;

Symbol inner(Symbol x) { return tanh(x); }
Symbol outer(Symbol x) { return inner(x); }

MXC_MODEL(helpers) {
  Symbol x = input("x", {3});
  // CHECK: "op": "tanh", {{.*}}"at": [0, 6, {{[0-9]+}}], "callers": {{\[\[}}"{{.*}}stage_callers.cpp",7,{{[0-9]+}}], ["{{.*}}stage_callers.cpp",[[@LINE+1]],{{[0-9]+}}{{\]\]}}}
  outer(x);
  // CHECK: "op": "exp", {{.*}}"at": [0, [[@LINE+1]], {{[0-9]+}}]}
  exp(x);
}

// A model that the host compiler rejects: its own diagnostic, then ours; no output.
// RUN: rm -f %t.json
// RUN: %exits 1 mxc compile %s --emit=graph -o %t.json 2>&1 | FileCheck %s
// RUN: test ! -e %t.json
#include <mxc/mxc.h>
using namespace mxc;

MXC_MODEL(broken) {
  // CHECK: stage_compile_error.cpp:[[@LINE+1]]:{{[0-9]+}}: error: {{.*}}convolve
  Symbol x = convolve(3);
}
// CHECK: stage_compile_error.cpp: error: the host C++ compiler rejects this file (see above)

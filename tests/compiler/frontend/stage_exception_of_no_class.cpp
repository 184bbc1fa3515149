// RUN: %exits 1 mxc compile %s --emit=graph -o %t.json 2>&1 | FileCheck %s
#include <mxc/mxc.h>

// CHECK: stage_exception_of_no_class.cpp: error: staging threw int
MXC_MODEL(throws) { throw 3; }

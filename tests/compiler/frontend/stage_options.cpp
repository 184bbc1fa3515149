// Macros and dimensions from the command line; what the model prints goes to standard error.
// RUN: mxc compile %s --emit=graph -D UNITS=7 --dim batch=2 --dim width=6 2>%t.err | FileCheck %s
// RUN: FileCheck %s --check-prefix=ERR --input-file=%t.err
// RUN: %exits 1 mxc compile %s --emit=graph --dim bach=2 2>&1 | FileCheck %s --check-prefix=DIM
// RUN: %exits 2 mxc compile none.json --emit=graph --dim batch=2 2>&1 | FileCheck %s --check-prefix=JSON
// RUN: printf '#include <mxc/mxc.h>\nMXC_MODEL(m) { mxc::input("x", {2}); }\n' > %t.cpp
// RUN: %exits 1 mxc compile %t.cpp --emit=graph --dim batch=2 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: %exits 2 mxc compile %s --emit=graph --dim batch=0 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: %exits 2 mxc compile %s --emit=graph --dim 'a b=2' 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: %exits 1 mxc compile %s --emit=graph --host-cxx no-such-compiler 2>&1 | FileCheck %s --check-prefix=HOST
// DIM: error: --dim bach: the model has no dimension of that name; it has batch, width
// JSON: mxc: error: --dim sets a dimension while a model is staged: none.json is symbol JSON, whose sizes are fixed
// NONE: error: --dim batch: the model has no dimension of that name
// ZERO: mxc: error: --dim batch=0: name=size with a positive size is expected
// NAME: mxc: error: --dim a b=2: name=size with a positive size is expected
// HOST: mxc: error: cannot run the host compiler 'no-such-compiler': No such file or directory
#include <mxc/mxc.h>

#include <cstdio>
using namespace mxc;

#ifndef UNITS
#define UNITS 3
#endif

MXC_MODEL(options) {
  // ERR: hello
  std::puts("hello");
  // CHECK-NOT: hello
  // CHECK: "op": "input", "name": "x", "attributes": {"shape": [2, 6], "batch_axis": 0
  Symbol x = input("x", {batch(64), dim("width", 5)});
  // CHECK: "op": "dense", "name": "dense0", "attributes": {"units": 7}
  dense(x, {.units = UNITS});
}

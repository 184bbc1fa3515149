// A file with several models, or none.
// RUN: mxc compile %s --model=second --emit=graph | FileCheck %s --check-prefix=SECOND
// RUN: %exits 2 mxc compile %s --emit=graph 2>&1 | FileCheck %s --check-prefix=WHICH
// RUN: %exits 2 mxc compile %s --model=third --emit=graph 2>&1 | FileCheck %s --check-prefix=THIRD
// RUN: %exits 1 mxc compile %s -DNONE --emit=graph 2>&1 | FileCheck %s --check-prefix=NONE
// SECOND: "model": "second"
// WHICH: stage_models.cpp: error: there are several models in this file: choose with --model: first, second
// THIRD: stage_models.cpp: error: there is no model 'third' in this file; there is: first, second
// NONE: stage_models.cpp: error: there is no model in this file: write MXC_MODEL(name) { ... }
#include <mxc/mxc.h>

#ifndef NONE
MXC_MODEL(first) {}
MXC_MODEL(second) {}
#endif

// Every form in which a model can be had; the same input gives the same bytes.
// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: mxc compile %s --emit=graph | FileCheck %s --check-prefix=GRAPH
// RUN: mxc compile %s --emit=mlir | FileCheck %s --check-prefix=MLIR
// RUN: mxc compile %s --emit=plan | FileCheck %s --check-prefix=PLAN
// RUN: mxc compile %s --emit=llvm | FileCheck %s --check-prefix=LLVM
// RUN: mxc compile %s --emit=asm | FileCheck %s --check-prefix=ASM
// RUN: mxc compile %s --emit=obj && mxc inspect emit.o | FileCheck %s --check-prefix=INSPECT
// RUN: mxc compile %s --emit=obj -o again.o && cmp emit.o again.o
// RUN: mxc compile %s && mxc compile %s -o again && cmp emit again
// RUN: mxc compile %s -O0 && ./emit info | FileCheck %s --check-prefix=INFO
// RUN: mxc inspect emit --json | python3 -c 'import json, sys; print([g["name"] for g in json.load(sys.stdin)["graphs"]])' | FileCheck %s --check-prefix=JSON
// RUN: mxc inspect emit --steps --buffers | FileCheck %s --check-prefix=STEPS
// RUN: mxc compile %s --optimizer=adam --emit=plan | FileCheck %s --check-prefix=ADAM
// RUN: mxc compile %s --time-passes --print-ir-after-all --emit=obj -o timed.o 2>&1 | FileCheck %s --check-prefix=PASSES
// RUN: mxc compile %s --save-temps -o kept && ls kept.temps | FileCheck %s --check-prefix=TEMPS
// RUN: mxc run %s -- info | FileCheck %s --check-prefix=INFO
// RUN: %exits 1 mxc inspect %s 2>&1 | FileCheck %s --check-prefix=NOTHING
// RUN: %exits 1 mxc inspect nowhere 2>&1 | FileCheck %s --check-prefix=NOWHERE
// GRAPH: "format": "mxc-symbol"
// MLIR: module @net
// PLAN: parameters
// PLAN: dense0.weight
// PLAN: graph train (train), up to 4 samples
// PLAN: step 0
// LLVM: @mxc_program
// ASM: mxc_program
// INSPECT: model {{ *}}net
// INSPECT: graph train
// INFO: net
// JSON: ['train', 'eval', 'infer', 'init', 'gradients', 'update']
// STEPS: step 0 {{.*}}: cpu kernel {{[0-9]+}}, grid (n / 4 rounded up), 48 flops{{$}}
// STEPS: buffers
// ADAM: beta1 {{ *}}0.9
// ADAM: dense0.weight/mean
// PASSES: ms{{ *}}infer-shapes
// PASSES: // after infer-shapes
// TEMPS: graph.json
// TEMPS: import.mlir
// TEMPS: model.ll
// TEMPS: passes.mlir
// NOTHING: emit.cpp: error: there is no program compiled by this version of mxc in this file
// NOWHERE: nowhere: error: No such file or directory
#include <mxc/mxc.h>
using namespace mxc;

MXC_MODEL(net) {
  Symbol x = input("x", {batch(4), 3});
  Symbol label = input("label", {batch(4)}, i32);
  Symbol y = dense(x, {.units = 2});
  minimize(softmax_cross_entropy(y, label));
  output("y", softmax(y));
}

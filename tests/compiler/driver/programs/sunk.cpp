// Training gives the same bytes whether relu has gone behind pool and concat (pass sink) or stays before them, because another reads it.
// Half of the numbers are cut to zero, so that many windows are ties.
// RUN: mkdir -p %t && cd %t && mxc compile %s -o sunk && mxc compile -D READ %s -o read
// RUN: mxc compile %s --emit=mlir -o - | mxc-opt --pass=infer-shapes,sink - | FileCheck %s --check-prefix=SUNK
// RUN: mxc compile -D READ %s --emit=mlir -o - | mxc-opt --pass=infer-shapes,sink - | FileCheck %s --check-prefix=READ
// SUNK: mx.concat
// SUNK-NEXT: mx.max_pool
// SUNK-NEXT: mx.relu
// READ: mx.relu
// READ: mx.relu
// READ: mx.concat
// READ-NEXT: mx.max_pool
// RUN: ./sunk train --data random:48 --steps 6 --save sunk.safetensors && ./read train --data random:48 --steps 6 --save read.safetensors
// RUN: cmp sunk.safetensors read.safetensors
#include <mxc/mxc.h>
using namespace mxc;

MXC_MODEL(net) {
  Symbol image = input("image", {batch(8), 2, 9, 9}), label = input("label", {batch(8)}, i32);
  Symbol c = conv2d(image, {.filters = 16, .kernel = 3}), d = conv2d(image, {.filters = 3, .kernel = 3});
  Symbol a = relu(c), b = relu(d);
  Symbol p = max_pool(concat({a, b}), {.kernel = 3, .stride = 2, .ceil_mode = true});
  Symbol logits = dense(flatten(p), {.units = 5});
  minimize(softmax_cross_entropy(logits, label));
#ifdef READ
  report("a", sum(a, {.axes = {1, 2, 3}}));
  report("b", sum(b, {.axes = {1, 2, 3}}));
#else
  report("a", sum(relu(c), {.axes = {1, 2, 3}}));
  report("b", sum(relu(d), {.axes = {1, 2, 3}}));
#endif
  output("probability", softmax(logits));
}

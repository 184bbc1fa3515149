// RUN: mxc-opt --pass=fuse,schedule --disable=fuse %s | FileCheck %s
// RUN: mxc-opt --pass=fuse,schedule --disable=fuse,schedule %s | FileCheck %s --check-prefix=OFF
!v = tensor<16xf32>

// The update waits for the last reader of the old value.
// CHECK-LABEL: @update
// CHECK: mx.neg
// CHECK: mx.sub
// OFF-LABEL: @update
// OFF: mx.sub
// OFF: mx.neg
func.func @update(%w: !v, %g: !v) -> (!v {mx.donates = 0 : i64}, !v) {
  %0 = mx.sub %w, %g : (!v, !v) -> !v
  %1 = mx.neg %w : (!v) -> !v
  return %0, %1 : !v, !v
}

// Here it cannot: the reader needs the new value.
// CHECK-LABEL: @impossible
// CHECK: mx.sub
// CHECK: mx.mul
func.func @impossible(%w: !v, %g: !v) -> (!v {mx.donates = 0 : i64}, !v) {
  %0 = mx.sub %w, %g : (!v, !v) -> !v
  %1 = mx.mul %w, %0 : (!v, !v) -> !v
  return %0, %1 : !v, !v
}

// Each gradient is used up before the next is made, and the large values, which need nothing but an argument, wait for their readers.
// CHECK-LABEL: @memory
// CHECK: mx.exp
// CHECK: mx.sub
// CHECK: mx.log
// CHECK: mx.sub
// CHECK: mx.tanh
// CHECK: mx.reduce_sum
// CHECK: mx.sin
// CHECK: mx.reduce_sum
// CHECK: mx.add
func.func @memory(%a: !v, %b: !v, %x: tensor<16x16xf32>) -> (!v {mx.donates = 0 : i64}, !v {mx.donates = 1 : i64}, !v) {
  %big = mx.tanh %x : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %more = mx.sin %x : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %ga = mx.exp %a : (!v) -> !v
  %gb = mx.log %b : (!v) -> !v
  %sum = mx.reduce_sum %big {axes = array<i64: 0>} : (tensor<16x16xf32>) -> !v
  %other = mx.reduce_sum %more {axes = array<i64: 0>} : (tensor<16x16xf32>) -> !v
  %s = mx.add %sum, %other : (!v, !v) -> !v
  %na = mx.sub %a, %ga : (!v, !v) -> !v
  %nb = mx.sub %b, %gb : (!v, !v) -> !v
  return %na, %nb, %s : !v, !v, !v
}

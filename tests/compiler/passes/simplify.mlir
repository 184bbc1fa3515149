// RUN: mxc-opt --pass=simplify %s | FileCheck %s
// RUN: mxc-opt --pass=simplify --disable=simplify %s | FileCheck %s --check-prefix=OFF
!v = tensor<16xf32>
!m = tensor<4x4xf32>

// CHECK-LABEL: @neutral
// CHECK-NEXT: return %arg0, %arg0, %arg0, %arg0, %arg0
// OFF: mx.mul
func.func @neutral(%x: !v) -> (!v, !v, !v, !v, !v) {
  %one = mx.constant {value = 1.0, element = f32} : () -> tensor<f32>
  %zero = mx.constant {value = 0.0, element = f32} : () -> tensor<f32>
  %minus = mx.constant {value = -0.0, element = f32} : () -> tensor<f32>
  %ones = mx.broadcast %one {to = !v} : (tensor<f32>) -> !v
  %0 = mx.mul %ones, %x : (!v, !v) -> !v
  %1 = mx.sub %x, %zero : (!v, tensor<f32>) -> !v
  %2 = mx.add %x, %minus : (!v, tensor<f32>) -> !v
  %3 = mx.div %x, %one : (!v, tensor<f32>) -> !v
  %4 = mx.neg %x : (!v) -> !v
  %5 = mx.neg %4 : (!v) -> !v
  return %0, %1, %2, %3, %5 : !v, !v, !v, !v, !v
}

// -0 + 0 is 0; and a narrow operand is not the wide result.
// CHECK-LABEL: @not_neutral
// CHECK: mx.add
// CHECK: mx.mul
func.func @not_neutral(%x: !v, %s: tensor<f32>) -> (!v, !v) {
  %zero = mx.constant {value = 0.0, element = f32} : () -> tensor<f32>
  %one = mx.constant {value = 1.0, element = f32} : () -> tensor<f32>
  %ones = mx.broadcast %one {to = !v} : (tensor<f32>) -> !v
  %0 = mx.add %x, %zero : (!v, tensor<f32>) -> !v
  %1 = mx.mul %s, %ones : (tensor<f32>, !v) -> !v
  return %0, %1 : !v, !v
}

// CHECK-LABEL: @identity
// CHECK-NEXT: return %arg0, %arg0, %arg0, %arg0, %arg1
func.func @identity(%x: !v, %y: tensor<2x3xf32>) -> (!v, !v, !v, !v, tensor<2x3xf32>) {
  %0 = mx.stop_gradient %x : (!v) -> !v
  %1 = mx.cast %x {to = f32} : (!v) -> !v
  %2 = mx.broadcast %x {to = !v} : (!v) -> !v
  %3 = mx.reshape %x {shape = array<i64: 4, 4>} : (!v) -> !m
  %4 = mx.reshape %3 {shape = array<i64: 16>} : (!m) -> !v
  %5 = mx.transpose %y {axes = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %6 = mx.transpose %5 {axes = array<i64: 1, 0>} : (tensor<3x2xf32>) -> tensor<2x3xf32>
  return %0, %1, %2, %4, %6 : !v, !v, !v, !v, tensor<2x3xf32>
}

// CHECK-LABEL: @view_of_view
// CHECK: %[[V:.*]] = mx.reshape %arg0 {shape = array<i64: 2, 8>}
// CHECK: return %[[V]]
func.func @view_of_view(%x: !v) -> tensor<2x8xf32> {
  %0 = mx.reshape %x {shape = array<i64: 4, 4>} : (!v) -> !m
  %1 = mx.reshape %0 {shape = array<i64: 2, -1>} : (!m) -> tensor<2x8xf32>
  return %1 : tensor<2x8xf32>
}

// CHECK-LABEL: @twice_and_never
// CHECK-NEXT: %[[E:.*]] = mx.exp
// CHECK-NEXT: return %[[E]], %[[E]]
func.func @twice_and_never(%x: !v) -> (!v, !v) {
  %0 = mx.exp %x : (!v) -> !v
  %1 = mx.exp %x : (!v) -> !v
  %2 = mx.log %x : (!v) -> !v
  return %0, %1 : !v, !v
}

// A single element needs no shape to be spread.
// CHECK-LABEL: @spread
// CHECK-NEXT: %[[B:.*]] = mx.broadcast %arg0
// CHECK-NEXT: return %[[B]]
func.func @spread(%s: tensor<f32>) -> !m {
  %0 = mx.reshape %s {shape = array<i64: 1>} : (tensor<f32>) -> tensor<1xf32>
  %1 = mx.broadcast %0 {to = tensor<4xf32>} : (tensor<1xf32>) -> tensor<4xf32>
  %2 = mx.broadcast %1 {to = !m} : (tensor<4xf32>) -> !m
  return %2 : !m
}

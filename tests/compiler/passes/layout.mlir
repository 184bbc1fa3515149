// RUN: mxc-opt --pass=layout %s | FileCheck %s
// RUN: mxc-opt --pass=layout --lanes=8 %s | FileCheck %s --check-prefix=EIGHT
// RUN: mxc-opt --pass=layout --disable=layout %s | FileCheck %s --check-prefix=OFF
!w = tensor<32x16x3x3xf32>
!x = tensor<8x16x7x7xf32, #mx.enc<batch = 0>>
!y = tensor<8x32x5x5xf32, #mx.enc<batch = 0>>
!flat = tensor<8x800xf32, #mx.enc<batch = 0>>
!dense = tensor<10x800xf32>
!logits = tensor<8x10xf32, #mx.enc<batch = 0>>
// OFF-NOT: block

// The layout that inference wants of the weight holds in every function, even where nobody has a wish.
// CHECK-LABEL: @init
// CHECK: %[[W:.*]] = mx.broadcast {{.*}} -> tensor<32x16x3x3xf32, #mx.enc<order = [0, 1, 2, 3]block_axis = 0block = 16>>
// CHECK: return %[[W]]
// EIGHT-LABEL: @init
// EIGHT: block_axis = 0block = 8
func.func @init() -> (!w {mx.name = "w", mx.role = "parameter"}) {
  %c = mx.constant {value = 0.0, element = f32} : () -> tensor<f32>
  %0 = mx.broadcast %c {to = !w} : (tensor<f32>) -> !w
  return %0 : !w
}

// The input stays row-major; tanh works in the convolution's layout; the view and the output are row-major.
// CHECK-LABEL: @infer
// CHECK-SAME: tensor<32x16x3x3xf32, #mx.enc<order = [0, 1, 2, 3]block_axis = 0block = 16>> {mx.name = "w"
// CHECK-SAME: tensor<8x16x7x7xf32, #mx.enc<batch = 0>> {mx.name = "x"
// CHECK: %[[X:.*]] = mx.relayout %arg1
// CHECK-SAME: -> tensor<8x16x7x7xf32, #mx.enc<batch = 0order = [0, 1, 2, 3]block_axis = 1block = 16>>
// CHECK: mx.conv2d %[[X]], %arg0
// CHECK-SAME: -> tensor<8x32x5x5xf32, #mx.enc<batch = 0order = [0, 1, 2, 3]block_axis = 1block = 16>>
// CHECK: %[[T:.*]] = mx.tanh
// CHECK-SAME: -> tensor<8x32x5x5xf32, #mx.enc<batch = 0order = [0, 1, 2, 3]block_axis = 1block = 16>>
// CHECK: %[[P:.*]] = mx.relayout %[[T]]
// CHECK-SAME: -> tensor<8x32x5x5xf32, #mx.enc<batch = 0>>
// CHECK: mx.flatten %[[P]]
func.func @infer(%w: !w {mx.name = "w", mx.role = "parameter"}, %x: !x {mx.name = "x", mx.role = "input"}) -> (!flat {mx.name = "y", mx.role = "output"}) {
  %0 = mx.conv2d %x, %w {filters = 32 : i64, kernel = array<i64: 3, 3>} : (!x, !w) -> !y
  %1 = mx.tanh %0 : (!y) -> !y
  %2 = mx.flatten %1 : (!y) -> !flat
  return %2 : !flat
}

// The optimizer's state follows the weight, through the update; so does the gradient as it is made. The product that makes it runs along the
// packed axis and reads both operands as they are.
// CHECK-LABEL: @train
// CHECK-SAME: tensor<10x800xf32, #mx.enc<order = [0, 1]block_axis = 0block = 16>> {mx.name = "d"
// CHECK-SAME: tensor<10x800xf32, #mx.enc<order = [0, 1]block_axis = 0block = 16>> {mx.name = "d/velocity"
// CHECK-NOT: mx.relayout
// CHECK: mx.matmul
// CHECK-SAME: -> tensor<10x800xf32, #mx.enc<order = [0, 1]block_axis = 0block = 16>>
// CHECK-NOT: mx.relayout
// CHECK: return
func.func @train(%d: !dense {mx.name = "d", mx.role = "parameter"}, %m: !dense {mx.name = "d/velocity", mx.role = "state"},
    %x: !flat {mx.name = "x", mx.role = "input"}, %dy: !logits {mx.name = "dy", mx.role = "input"}, %mu: tensor<f32> {mx.name = "momentum", mx.role = "hyper"})
    -> (!dense {mx.name = "d", mx.role = "parameter", mx.donates = 0 : i64}, !dense {mx.name = "d/velocity", mx.role = "state", mx.donates = 1 : i64},
        !logits {mx.name = "y", mx.role = "output"}) {
  %0 = mx.dense %x, %d {units = 10 : i64} : (!flat, !dense) -> !logits
  %1 = mx.matmul %dy, %x {transpose_a = true} : (!logits, !flat) -> !dense
  %2 = mx.mul %m, %mu : (!dense, tensor<f32>) -> !dense
  %3 = mx.add %2, %1 : (!dense, !dense) -> !dense
  %4 = mx.sub %d, %3 : (!dense, !dense) -> !dense
  return %4, %3, %0 : !dense, !dense, !logits
}

// f64: blocks of half as many elements. Few channels stay row-major. Pooling follows its input.
// CHECK-LABEL: @pool
// CHECK: mx.conv2d
// CHECK-SAME: (tensor<8x1x7x7xf64, #mx.enc<batch = 0>>
// CHECK-SAME: -> tensor<8x32x6x6xf64, #mx.enc<batch = 0order = [0, 1, 2, 3]block_axis = 1block = 8>>
// CHECK: mx.max_pool
// CHECK-SAME: -> (tensor<8x32x3x3xf64, #mx.enc<batch = 0order = [0, 1, 2, 3]block_axis = 1block = 8>>, tensor<8x32x3x3xi8, #mx.enc<batch = 0order = [0, 1, 2, 3]block_axis = 1block = 8>>)
func.func @pool(%w: tensor<32x1x2x2xf64> {mx.name = "w2", mx.role = "parameter"}, %x: tensor<8x1x7x7xf64, #mx.enc<batch = 0>> {mx.name = "x", mx.role = "input"})
    -> (tensor<8x32x3x3xf64, #mx.enc<batch = 0>> {mx.name = "y", mx.role = "output"}) {
  %0 = mx.conv2d %x, %w {filters = 32 : i64, kernel = array<i64: 2, 2>} : (tensor<8x1x7x7xf64, #mx.enc<batch = 0>>, tensor<32x1x2x2xf64>) -> tensor<8x32x6x6xf64, #mx.enc<batch = 0>>
  %1, %i = mx.max_pool %0 {kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>} : (tensor<8x32x6x6xf64, #mx.enc<batch = 0>>) -> (tensor<8x32x3x3xf64, #mx.enc<batch = 0>>, tensor<8x32x3x3xi8, #mx.enc<batch = 0>>)
  return %1 : tensor<8x32x3x3xf64, #mx.enc<batch = 0>>
}

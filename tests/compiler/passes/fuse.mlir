// RUN: mxc-opt --pass=fuse %s | FileCheck %s
// RUN: mxc-opt --pass=fuse --small-stack %s | FileCheck %s --check-prefix=SMALL
// RUN: mxc-opt --pass=fuse --disable=fuse %s | FileCheck %s --check-prefix=OFF
!x = tensor<64x8xf32, #mx.enc<batch = 0>>
!y = tensor<64x10xf32, #mx.enc<batch = 0>>
!row = tensor<10xf32>

// An epilogue: relu is computed where dense stores. A constant is no kernel.
// CHECK-LABEL: @epilogue
// CHECK: mx.kernel(%arg0, %arg1, %arg2) :
// CHECK: mx.dense
// CHECK: mx.constant
// CHECK: mx.mul
// CHECK: mx.yield
// CHECK-NOT: mx.kernel
// CHECK: return
// OFF-LABEL: @epilogue
// OFF: mx.kernel
// OFF: mx.dense
// OFF: mx.kernel
// OFF: mx.constant
// OFF: mx.mul
// OFF-NOT: mx.kernel
// OFF: return
func.func @epilogue(%x: !x, %w: tensor<10x8xf32>, %b: !row) -> !y {
  %two = mx.constant {value = 2.0, element = f32} : () -> tensor<f32>
  %0 = mx.dense %x, %w, %b {units = 10 : i64} : (!x, tensor<10x8xf32>, !row) -> !y
  %1 = mx.mul %0, %two : (!y, tensor<f32>) -> !y
  return %1 : !y
}

// The anchor's result is read by another anchor too: both it and the epilogue's are results.
// CHECK-LABEL: @stored_once
// CHECK: %[[K:.*]]:2 = mx.kernel
// CHECK: mx.dense
// CHECK: mx.tanh
// CHECK: mx.kernel(%[[K]]#0)
// CHECK: mx.reduce_sum
// CHECK: return %[[K]]#1
func.func @stored_once(%x: !x, %w: tensor<10x8xf32>) -> (!y, !row) {
  %0 = mx.dense %x, %w {units = 10 : i64} : (!x, tensor<10x8xf32>) -> !y
  %1 = mx.tanh %0 : (!y) -> !y
  %2 = mx.reduce_sum %0 {axes = array<i64: 0>} : (!y) -> !row
  return %1, %2 : !y, !row
}

// A prologue: the product is computed where the reduction loads. tanh costs too much to be one.
// CHECK-LABEL: @prologue
// CHECK: mx.kernel(%arg0, %arg1)
// CHECK-NEXT: ^bb0
// CHECK-NEXT: mx.mul
// CHECK-NEXT: mx.reduce_sum
// CHECK-NEXT: mx.yield
// CHECK: mx.kernel(%arg0)
// CHECK-NEXT: ^bb0
// CHECK-NEXT: mx.tanh
// CHECK-NEXT: mx.yield
// CHECK: mx.kernel
// CHECK-NEXT: ^bb0
// CHECK-NEXT: mx.reduce_max
func.func @prologue(%a: !y, %b: !y) -> (!row, !row) {
  %0 = mx.mul %a, %b : (!y, !y) -> !y
  %1 = mx.reduce_sum %0 {axes = array<i64: 0>} : (!y) -> !row
  %2 = mx.tanh %a : (!y) -> !y
  %3 = mx.reduce_max %2 {axes = array<i64: 0>} : (!y) -> !row
  return %1, %3 : !row, !row
}

// A contraction reads memory in its own ways: no prologue, and a broadcast that it reads is stored.
// CHECK-LABEL: @no_prologue
// CHECK: mx.kernel
// CHECK-NEXT: ^bb0
// CHECK-NEXT: mx.neg
// CHECK-NEXT: mx.yield
// CHECK: mx.kernel
// CHECK-NEXT: ^bb0
// CHECK-NEXT: mx.broadcast
// CHECK-NEXT: mx.yield
// CHECK: mx.kernel
// CHECK-NEXT: ^bb0
// CHECK-NEXT: mx.matmul
func.func @no_prologue(%x: !x, %s: tensor<8x1xf32>) -> !y {
  %0 = mx.neg %x : (!x) -> !x
  %1 = mx.broadcast %s {to = tensor<8x10xf32>} : (tensor<8x1xf32>) -> tensor<8x10xf32>
  %2 = mx.matmul %0, %1 : (!x, tensor<8x10xf32>) -> !y
  return %2 : !y
}

// An optimizer's arithmetic of one tensor is one kernel with several results; the scalar product is done again in each.
// CHECK-LABEL: @update
// CHECK: %[[U:.*]]:2 = mx.kernel
// CHECK: mx.mul
// CHECK: mx.yield
// CHECK-NOT: mx.kernel
// CHECK: return %[[U]]#
func.func @update(%w: !row, %m: !row, %g: !row, %lr: tensor<f32>, %mu: tensor<f32>, %wd: tensor<f32>) -> (!row, !row) {
  %decay = mx.mul %lr, %wd : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %0 = mx.mul %m, %mu : (!row, tensor<f32>) -> !row
  %1 = mx.add %0, %g : (!row, !row) -> !row
  %2 = mx.mul %1, %lr : (!row, tensor<f32>) -> !row
  %3 = mx.sub %w, %2 : (!row, !row) -> !row
  %4 = mx.mul %w, %decay : (!row, tensor<f32>) -> !row
  %5 = mx.sub %3, %4 : (!row, !row) -> !row
  return %5, %1 : !row, !row
}

// No cycle: the sum cannot ride with the first product, since the reduction between needs that one's result first.
// CHECK-LABEL: @no_cycle
// CHECK: %[[A:.*]] = mx.kernel
// CHECK-NEXT: ^bb0
// CHECK-NEXT: mx.exp
// CHECK-NEXT: mx.yield
// CHECK: %[[S:.*]] = mx.kernel(%[[A]])
// CHECK-NEXT: ^bb0
// CHECK-NEXT: mx.reduce_sum
// CHECK-NEXT: mx.yield
// CHECK: mx.kernel(%[[A]], %[[S]])
// CHECK-NEXT: ^bb0
// CHECK-NEXT: mx.div
func.func @no_cycle(%x: !y) -> !y {
  %0 = mx.exp %x : (!y) -> !y
  %1 = mx.reduce_sum %0 {axes = array<i64: 0>} : (!y) -> !row
  %2 = mx.div %0, %1 : (!y, !row) -> !y
  return %2 : !y
}

// Views stay outside kernels.
// CHECK-LABEL: @view
// CHECK: %[[V:.*]] = mx.flatten %arg0
// CHECK: mx.kernel(%[[V]])
func.func @view(%x: tensor<64x2x5xf32, #mx.enc<batch = 0>>) -> !y {
  %0 = mx.flatten %x : (tensor<64x2x5xf32, #mx.enc<batch = 0>>) -> !y
  %1 = mx.relu %0 : (!y) -> !y
  return %1 : !y
}

// What the backward pass computes from a stored value stays there: the forward kernel does not make and keep the square.
// CHECK-LABEL: @backward
// CHECK: mx.dense
// CHECK-NEXT: mx.tanh
// CHECK-NEXT: mx.yield
// CHECK: mx.matmul
// CHECK-NEXT: mx.mul
// CHECK-NEXT: mx.mul
// CHECK-NEXT: mx.yield
func.func @backward(%x: !x, %w: tensor<10x8xf32>, %v: tensor<10x10xf32>) -> !y {
  %0 = mx.dense %x, %w {units = 10 : i64} : (!x, tensor<10x8xf32>) -> !y
  %1 = mx.tanh %0 : (!y) -> !y
  %2 = mx.matmul %1, %v : (!y, tensor<10x10xf32>) -> !y
  %3 = mx.mul %1, %1 : (!y, !y) -> !y
  %4 = mx.mul %2, %3 : (!y, !y) -> !y
  return %4 : !y
}

// What follows at once joins even if both are stored.
// CHECK-LABEL: @both_stored
// CHECK: %[[B:.*]]:2 = mx.kernel
// CHECK: mx.dense
// CHECK-NEXT: mx.gelu
// CHECK-NEXT: mx.yield
// CHECK: mx.matmul
// CHECK-NEXT: mx.mul
// CHECK-NEXT: mx.yield
func.func @both_stored(%x: !x, %w: tensor<10x8xf32>, %v: tensor<10x10xf32>) -> !y {
  %0 = mx.dense %x, %w {units = 10 : i64} : (!x, tensor<10x8xf32>) -> !y
  %1 = mx.gelu %0 : (!y) -> !y
  %2 = mx.matmul %1, %v : (!y, tensor<10x10xf32>) -> !y
  %4 = mx.mul %2, %0 : (!y, !y) -> !y
  return %4 : !y
}

!blocks = tensor<8x32x12x12xf32, #mx.enc<batch = 0 order = [0, 1, 2, 3] block_axis = 1 block = 16>>
!halves = tensor<8x32x6x6xf32, #mx.enc<batch = 0 order = [0, 1, 2, 3] block_axis = 1 block = 16>>
!places = tensor<8x32x6x6xi8, #mx.enc<batch = 0 order = [0, 1, 2, 3] block_axis = 1 block = 16>>
!weight = tensor<32x32x3x3xf32, #mx.enc<order = [0, 1, 2, 3] block_axis = 0 block = 16>>

// Of a convolution that only a pooling reads, no more than a few rows are ever in memory; elementwise work between the two and behind both.
// CHECK-LABEL: @windows
// CHECK: mx.kernel(%arg0, %arg1)
// CHECK-NEXT: ^bb0
// CHECK-NEXT: mx.conv2d
// CHECK-NEXT: mx.tanh
// CHECK-NEXT: mx.max_pool
// CHECK-NEXT: mx.neg
// CHECK-NEXT: mx.yield %{{[^,]*}} : tensor<8x32x6x6xf32
// CHECK-NOT: mx.kernel
// CHECK: return
// On a small stack nothing waits.
// SMALL-LABEL: @windows(
// SMALL: mx.conv2d
// SMALL-NEXT: mx.tanh
// SMALL-NEXT: mx.yield
// SMALL: mx.max_pool
// SMALL-NEXT: mx.neg
func.func @windows(%x: !blocks, %w: !weight) -> !halves {
  %0 = mx.conv2d %x, %w {filters = 32 : i64, kernel = array<i64: 3, 3>, pad = array<i64: 1, 1>} : (!blocks, !weight) -> !blocks
  %1 = mx.tanh %0 : (!blocks) -> !blocks
  %2:2 = mx.max_pool %1 {kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>} : (!blocks) -> (!halves, !places)
  %3 = mx.neg %2#0 : (!halves) -> !halves
  return %3 : !halves
}

// Not where others read the convolution, or what is computed from it, too.
// CHECK-LABEL: @windows_and_others
// CHECK: mx.conv2d
// CHECK-NEXT: mx.tanh
// CHECK-NEXT: mx.yield
// CHECK: mx.avg_pool
// CHECK-NEXT: mx.yield
func.func @windows_and_others(%x: !blocks, %w: !weight) -> (!halves, !blocks) {
  %0 = mx.conv2d %x, %w {filters = 32 : i64, kernel = array<i64: 3, 3>, pad = array<i64: 1, 1>} : (!blocks, !weight) -> !blocks
  %1 = mx.tanh %0 : (!blocks) -> !blocks
  %2 = mx.avg_pool %1 {kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>} : (!blocks) -> !halves
  return %2, %1 : !halves, !blocks
}

// Nor where rows are too long to wait on the stack, or vectors do not run over channels.
// CHECK-LABEL: @windows_of_long_rows
// CHECK: mx.conv2d
// CHECK-NEXT: mx.yield
// CHECK: mx.avg_pool
// CHECK: mx.conv2d
// CHECK-NEXT: mx.yield
// CHECK: mx.avg_pool
!long = tensor<1x16x4x1025xf32, #mx.enc<order = [0, 1, 2, 3] block_axis = 1 block = 16>>
!short = tensor<1x16x2x1024xf32, #mx.enc<order = [0, 1, 2, 3] block_axis = 1 block = 16>>
!plane = tensor<1x16x4x8xf32>
!lines = tensor<1x16x2x7xf32>
func.func @windows_of_long_rows(%x: !long, %w: tensor<16x16x1x1xf32>, %p: !plane) -> (!short, !lines) {
  %0 = mx.conv2d %x, %w {filters = 16 : i64, kernel = array<i64: 1, 1>} : (!long, tensor<16x16x1x1xf32>) -> !long
  %1 = mx.avg_pool %0 {kernel = array<i64: 2, 2>, stride = array<i64: 2, 1>} : (!long) -> !short
  %2 = mx.conv2d %p, %w {filters = 16 : i64, kernel = array<i64: 1, 1>} : (!plane, tensor<16x16x1x1xf32>) -> !plane
  %3 = mx.avg_pool %2 {kernel = array<i64: 2, 2>, stride = array<i64: 2, 1>} : (!plane) -> !lines
  return %1, %3 : !short, !lines
}

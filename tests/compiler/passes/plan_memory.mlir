// RUN: mxc-opt --pass=fuse,plan-memory,verify-memory --disable=fuse %s | FileCheck %s
// RUN: mxc-opt --pass=fuse,plan-memory,verify-memory --disable=fuse --memory-plan=naive %s | FileCheck %s --check-prefix=NAIVE
!x = tensor<4x16xf32, #mx.enc<batch = 0>>
!y = tensor<4x32xf32, #mx.enc<batch = 0>>

// Two values of 512 bytes around one of 256: relu in place, the third where the first was. The last is the function's result.
// CHECK-LABEL: @chain
// CHECK-SAME: mx.arena_bytes = 1024 : i64, mx.peak_live_bytes = 1024 : i64
// CHECK: mx.places = [#mx.place<"arena", 0>]
// CHECK: mx.dense
// CHECK: mx.places = [#mx.place<"arena", 0>]
// CHECK: mx.relu
// CHECK: mx.places = [#mx.place<"arena", 512>]
// CHECK: mx.dense
// CHECK: mx.places = [#mx.place<"result", 0>]
// CHECK: mx.dense
// NAIVE-LABEL: @chain
// NAIVE-SAME: mx.arena_bytes = 1536 : i64
func.func @chain(%x: !x, %w: tensor<32x16xf32>, %v: tensor<32x32xf32>, %u: tensor<32x32xf32>) -> !y {
  %0 = mx.dense %x, %w {units = 32 : i64} : (!x, tensor<32x16xf32>) -> !y
  %1 = mx.relu %0 : (!y) -> !y
  %2 = mx.dense %1, %v {units = 32 : i64} : (!y, tensor<32x32xf32>) -> !y
  %3 = mx.dense %2, %u {units = 32 : i64} : (!y, tensor<32x32xf32>) -> !y
  return %3 : !y
}

// A parameter is updated in its own memory if its last reader comes before.
// CHECK-LABEL: @donated
// CHECK: mx.places = [#mx.place<"result", 1>]
// CHECK: mx.places = [#mx.place<"argument", 0>]
// CHECK: mx.sub
// CHECK-NOT: mx.kernel
// CHECK: return
func.func @donated(%w: tensor<16xf32>, %g: tensor<16xf32>) -> (tensor<16xf32> {mx.donates = 0 : i64}, tensor<16xf32>) {
  %0 = mx.neg %w : (tensor<16xf32>) -> tensor<16xf32>
  %1 = mx.sub %w, %g : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  return %1, %0 : tensor<16xf32>, tensor<16xf32>
}

// Here the old value is read after the update: the new one waits in the arena and is copied at the end.
// CHECK-LABEL: @too_soon
// CHECK: mx.places = [#mx.place<"arena", 0>]
// CHECK: mx.sub
// CHECK: mx.places = [#mx.place<"result", 1>]
// CHECK: mx.neg
// CHECK: mx.places = [#mx.place<"argument", 0>]
// CHECK: mx.relayout
func.func @too_soon(%w: tensor<16xf32>, %g: tensor<16xf32>) -> (tensor<16xf32> {mx.donates = 0 : i64}, tensor<16xf32>) {
  %1 = mx.sub %w, %g : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %0 = mx.neg %w : (tensor<16xf32>) -> tensor<16xf32>
  return %1, %0 : tensor<16xf32>, tensor<16xf32>
}

// Two states change places: both go through the arena.
// CHECK-LABEL: @swapped
// CHECK: mx.places = [#mx.place<"arena", [[A:.*]]>]
// CHECK: mx.places = [#mx.place<"arena", [[B:.*]]>]
// CHECK: mx.places = [#mx.place<"argument", 0>]
// CHECK: mx.places = [#mx.place<"argument", 1>]
func.func @swapped(%a: tensor<16xf32>, %b: tensor<16xf32>) -> (tensor<16xf32> {mx.donates = 0 : i64}, tensor<16xf32> {mx.donates = 1 : i64}) {
  return %b, %a : tensor<16xf32>, tensor<16xf32>
}

// A state that stays needs nothing; an output that is an argument is copied, and so is a second output of the same value.
// CHECK-LABEL: @same
// CHECK: mx.places = [#mx.place<"result", 1>]
// CHECK: mx.neg
// CHECK: mx.places = [#mx.place<"result", 2>]
// CHECK: mx.relayout
// CHECK: mx.places = [#mx.place<"result", 3>]
// CHECK: mx.relayout
func.func @same(%a: tensor<16xf32>) -> (tensor<16xf32> {mx.donates = 0 : i64}, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) {
  %0 = mx.neg %a : (tensor<16xf32>) -> tensor<16xf32>
  return %a, %0, %0, %a : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>
}

// A view keeps what it looks at alive, and its last reader may not overwrite it: the shapes differ.
// CHECK-LABEL: @view
// CHECK-SAME: mx.arena_bytes = 1024
// CHECK: mx.places = [#mx.place<"arena", 0>]
// CHECK: mx.relu
// CHECK: mx.places = [#mx.place<"arena", 512>]
// CHECK: mx.neg
// CHECK: mx.places = [#mx.place<"result", 0>]
// CHECK: mx.add
func.func @view(%x: !y) -> tensor<4x4x8xf32, #mx.enc<batch = 0>> {
  %0 = mx.relu %x : (!y) -> !y
  %1 = mx.reshape %0 {shape = array<i64: 0, 4, 8>} : (!y) -> tensor<4x4x8xf32, #mx.enc<batch = 0>>
  %2 = mx.neg %1 : (tensor<4x4x8xf32, #mx.enc<batch = 0>>) -> tensor<4x4x8xf32, #mx.enc<batch = 0>>
  %3 = mx.add %2, %1 : (tensor<4x4x8xf32, #mx.enc<batch = 0>>, tensor<4x4x8xf32, #mx.enc<batch = 0>>) -> tensor<4x4x8xf32, #mx.enc<batch = 0>>
  return %3 : tensor<4x4x8xf32, #mx.enc<batch = 0>>
}

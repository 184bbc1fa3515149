// RUN: split-file %s %t
// RUN: mxc-opt --by-shards --pass=infer-shapes,build-graphs %t/parts.mlir | FileCheck %t/parts.mlir
// RUN: mxc-opt --pass=infer-shapes,build-graphs %t/parts.mlir | FileCheck %t/parts.mlir --check-prefix=WITHOUT
// RUN: mxc-opt --by-shards --pass=all %t/parts.mlir | FileCheck %t/parts.mlir --check-prefix=PLAN
// RUN: mxc-opt --by-shards --pass=infer-shapes,build-graphs %t/whole.mlir | FileCheck %t/whole.mlir
// RUN: mxc-opt --by-shards --pass=infer-shapes,build-graphs %t/clipped.mlir | FileCheck %t/clipped.mlir

//--- parts.mlir
// The training step in two parts: gradients, and updates of any elements in a row, one for each pair of multipliers. They scale the rate in
// the graph; no gradient reaches "v".
// CHECK-LABEL: func.func @gradients
// CHECK-SAME: -> (tensor<f32> {mx.name = "loss", mx.role = "loss"}, tensor<3x3xf32> {mx.name = "w", mx.role = "gradient"}, tensor<3xf32> {mx.name = "b", mx.role = "gradient"})
// CHECK-SAME: mx.by_shards
// CHECK-NOT: momentum_update
// CHECK: return
// CHECK-LABEL: func.func @update(
// CHECK-SAME: tensor<8192xf32, #mx.enc<batch = 0>> {mx.name = "update/weight", mx.role = "input"}
// CHECK-SAME: {mx.name = "update/gradient", mx.role = "input"}
// CHECK-SAME: {mx.name = "update/momentum", mx.role = "input"}
// CHECK-SAME: {mx.name = "update/weight", mx.role = "output"}
// CHECK-SAME: {mx.name = "update/momentum", mx.role = "output"}
// CHECK-SAME: mx.updates = ["w"]
// CHECK: mx.sgd_momentum_update
// CHECK-LABEL: func.func @update1(
// CHECK-SAME: mx.updates = ["b"]
// CHECK: mx.sgd_momentum_update {{.*}}lr_mult = 2.0
// WITHOUT-NOT: func.func @gradients
// WITHOUT-NOT: func.func @update
// An update is one kernel.
// PLAN-LABEL: func.func @update(
// PLAN: mx.kernel
// PLAN-NOT: mx.kernel
// PLAN-LABEL: func.func @update1(
module @m {
  %x = mx.input "x" : tensor<4x3xf32, #mx.enc<batch = 0>>
  %w = mx.parameter "w" {init = "xavier"} : tensor<*xf32>
  %b = mx.parameter "b" {init = "zeros", lr_mult = 2.0} : tensor<3xf32>
  %v = mx.parameter "v" {init = "zeros"} : tensor<3xf32>
  %0 = mx.dense %x, %w {units = 3 : i64} : (tensor<4x3xf32, #mx.enc<batch = 0>>, tensor<*xf32>) -> tensor<*xf32>
  %1 = mx.add %0, %b : (tensor<*xf32>, tensor<3xf32>) -> tensor<*xf32>
  %2 = mx.add %0, %v : (tensor<*xf32>, tensor<3xf32>) -> tensor<*xf32>
  mx.minimize %1 : tensor<*xf32>
  mx.output "y", %2 : tensor<*xf32>
  mx.optimizer "sgd" {lr = 0.1, momentum = 0.9}
}

//--- whole.mlir
// An update that looks at whole parameters cannot be made of a part.
// CHECK: func.func @train
// CHECK-NOT: func.func @gradients
// CHECK-NOT: func.func @update
module @m {
  %x = mx.input "x" : tensor<4x3xf32, #mx.enc<batch = 0>>
  %w = mx.parameter "w" {init = "xavier"} : tensor<*xf32>
  %0 = mx.dense %x, %w {units = 3 : i64} : (tensor<4x3xf32, #mx.enc<batch = 0>>, tensor<*xf32>) -> tensor<*xf32>
  mx.minimize %0 : tensor<*xf32>
  mx.optimizer "lamb" {lr = 0.1}
}

//--- clipped.mlir
// Nor one that looks at all gradients.
// CHECK: func.func @train
// CHECK-NOT: func.func @gradients
// CHECK-NOT: func.func @update
module @m {
  %x = mx.input "x" : tensor<4x3xf32, #mx.enc<batch = 0>>
  %w = mx.parameter "w" {init = "xavier"} : tensor<*xf32>
  %0 = mx.dense %x, %w {units = 3 : i64} : (tensor<4x3xf32, #mx.enc<batch = 0>>, tensor<*xf32>) -> tensor<*xf32>
  mx.minimize %0 : tensor<*xf32>
  mx.optimizer "sgd" {lr = 0.1, clip_norm = 1.0}
}

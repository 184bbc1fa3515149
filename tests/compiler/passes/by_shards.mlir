// RUN: split-file %s %t
// RUN: mxc-opt --by-shards --pass=infer-shapes,build-graphs %t/parts.mlir | FileCheck %t/parts.mlir
// RUN: mxc-opt --pass=infer-shapes,build-graphs %t/parts.mlir | FileCheck %t/parts.mlir --check-prefix=WITHOUT
// RUN: mxc-opt --by-shards --pass=all %t/parts.mlir | FileCheck %t/parts.mlir --check-prefix=PLAN
// RUN: mxc-opt --by-shards --pass=infer-shapes,build-graphs %t/whole.mlir | FileCheck %t/whole.mlir
// RUN: mxc-opt --by-shards --pass=infer-shapes,build-graphs %t/clipped.mlir | FileCheck %t/clipped.mlir
// RUN: mxc-opt --by-shards --pass=infer-shapes,build-graphs %t/mixed.mlir | FileCheck %t/mixed.mlir
// RUN: mxc-opt --by-shards --pass=all %t/whole.mlir | FileCheck %t/whole.mlir --check-prefix=PLAN

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
// An update that looks at whole parameters is not made for parts. Its gradients are the results of @gradients, and lie as they do.
// CHECK: func.func @train
// CHECK-LABEL: func.func @gradients
// CHECK-SAME: tensor<3x3xf32> {mx.name = "w", mx.role = "gradient"}
// CHECK-NOT: func.func @update(
// CHECK-LABEL: func.func @update_whole(
// CHECK-SAME: tensor<3x3xf32> {mx.name = "w", mx.role = "parameter"}
// CHECK-SAME: tensor<3x3xf32> {mx.name = "w", mx.role = "gradient"}
// CHECK-SAME: {mx.name = "w/mean", mx.role = "state", mx.slot}
// CHECK-SAME: mx.donates = 0 : i64, mx.name = "w", mx.role = "parameter"
// CHECK-SAME: mx.by_shards
// CHECK: mx.lamb_direction
// PLAN-LABEL: func.func @gradients(
// PLAN-SAME: -> (tensor<f32> {{.*}}, [[LIES:tensor<3x3xf32.*>]] {mx.name = "w", mx.role = "gradient"})
// PLAN-LABEL: func.func @update_whole(
// PLAN-SAME: [[LIES]] {mx.name = "w", mx.role = "gradient"}
module @m {
  %x = mx.input "x" : tensor<4x3xf32, #mx.enc<batch = 0>>
  %w = mx.parameter "w" {init = "xavier"} : tensor<*xf32>
  %0 = mx.dense %x, %w {units = 3 : i64} : (tensor<4x3xf32, #mx.enc<batch = 0>>, tensor<*xf32>) -> tensor<*xf32>
  mx.minimize %0 : tensor<*xf32>
  mx.optimizer "lamb" {lr = 0.1}
}

//--- clipped.mlir
// One that looks at all gradients has them all.
// CHECK: func.func @train
// CHECK-NOT: func.func @update(
// CHECK-LABEL: func.func @update_whole(
// CHECK: mx.clip_norm_scale
// CHECK: mx.sgd_update
// CHECK: mx.sgd_update
module @m {
  %x = mx.input "x" : tensor<4x3xf32, #mx.enc<batch = 0>>
  %w = mx.parameter "w" {init = "xavier"} : tensor<*xf32>
  %b = mx.parameter "b" {init = "zeros"} : tensor<3xf32>
  %0 = mx.dense %x, %w {units = 3 : i64} : (tensor<4x3xf32, #mx.enc<batch = 0>>, tensor<*xf32>) -> tensor<*xf32>
  %1 = mx.add %0, %b : (tensor<*xf32>, tensor<3xf32>) -> tensor<*xf32>
  mx.minimize %1 : tensor<*xf32>
  mx.optimizer "sgd" {lr = 0.1, clip_norm = 1.0}
}

//--- mixed.mlir
// Parameters of two element types: hyper-parameters have the wider one, and are cast; an update is of one element type.
// CHECK-LABEL: func.func @train(
// CHECK-SAME: tensor<f64> {mx.default = 1.000000e-01 : f64, mx.name = "lr", mx.role = "hyper"}
// CHECK: mx.cast {{.*}} (tensor<f64>) -> tensor<f32>
// CHECK-LABEL: func.func @update(
// CHECK-SAME: tensor<8192xf32, #mx.enc<batch = 0>> {mx.name = "update/weight", mx.role = "input"}
// CHECK-SAME: mx.updates = ["w"]
// CHECK-LABEL: func.func @update1(
// CHECK-SAME: tensor<8192xf64, #mx.enc<batch = 0>> {mx.name = "update/weight", mx.role = "input"}
// CHECK-SAME: mx.updates = ["v"]
module @m {
  %x = mx.input "x" : tensor<4x3xf32, #mx.enc<batch = 0>>
  %w = mx.parameter "w" {init = "xavier"} : tensor<*xf32>
  %v = mx.parameter "v" {init = "xavier"} : tensor<*xf32>
  %0 = mx.dense %x, %w {units = 3 : i64} : (tensor<4x3xf32, #mx.enc<batch = 0>>, tensor<*xf32>) -> tensor<*xf32>
  %z = mx.cast %0 {to = f64} : (tensor<*xf32>) -> tensor<*xf32>
  %1 = mx.dense %z, %v {units = 3 : i64} : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  mx.minimize %1 : tensor<*xf32>
  mx.optimizer "sgd" {lr = 0.1}
}

// RUN: split-file %s %t
// RUN: mxc-opt --pass=infer-shapes,build-graphs %t/model.mlir | FileCheck %t/model.mlir
// RUN: not mxc-opt --pass=infer-shapes,build-graphs %t/no_loss.mlir 2>&1 | FileCheck %t/no_loss.mlir
// RUN: mxc-opt --pass=infer-shapes,build-graphs %t/untrained.mlir 2>&1 | FileCheck %t/untrained.mlir

//--- model.mlir
// Training: the mean of the loss, its gradient, a fan-in sum where %x1 has two users, the update donates its parameter.
// CHECK-LABEL: func.func @train
// CHECK-SAME: mx.name = "x", mx.role = "input"
// CHECK-SAME: mx.name = "w", mx.role = "parameter"
// CHECK-SAME: mx.name = "lr", mx.role = "hyper"
// CHECK-SAME: -> ({{.*}}mx.role = "loss"{{.*}}mx.donates = 1{{.*}}mx.role = "parameter"
// CHECK: mx.dense
// CHECK: mx.tanh
// CHECK: mx.reduce_mean
// CHECK: mx.div_by_count {{.*}}batched = true{{.*}}per_sample = 3
// CHECK: mx.add
// CHECK: mx.sgd_update
// Evaluation has no gradient; inference has no label and no loss.
// CHECK-LABEL: func.func @eval
// CHECK-NOT: update
// CHECK-LABEL: func.func @infer
// CHECK-NOT: mx.reduce_mean
// CHECK: return
// CHECK-LABEL: func.func @init
// CHECK-SAME: mx.name = "seed"
// CHECK: mx.random_uniform
module @m {
  %x = mx.input "x" : tensor<4x3xf32, #mx.enc<batch = 0>>
  %w = mx.parameter "w" {init = "xavier"} : tensor<*xf32>
  %0 = mx.dense %x, %w {units = 3 : i64} : (tensor<4x3xf32, #mx.enc<batch = 0>>, tensor<*xf32>) -> tensor<*xf32>
  %1 = mx.tanh %0 : (tensor<*xf32>) -> tensor<*xf32>
  %2 = mx.mul %1, %0 : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  mx.minimize %2 : tensor<*xf32>
  mx.output "y", %1 : tensor<*xf32>
  mx.optimizer "sgd" {lr = 0.1}
}

//--- no_loss.mlir
// CHECK: the model has no minimize(loss): there is nothing to train
module @m {
  %x = mx.input "x" : tensor<4x3xf32, #mx.enc<batch = 0>>
  mx.output "y", %x : tensor<4x3xf32, #mx.enc<batch = 0>>
  mx.optimizer "sgd" {lr = 0.1}
}

//--- untrained.mlir
// CHECK: warning: parameter v is not trained: the loss does not depend on it
module @m {
  %x = mx.input "x" : tensor<4x3xf32, #mx.enc<batch = 0>>
  %v = mx.parameter "v" {init = "zeros"} : tensor<*xf32>
  %w = mx.parameter "w" {init = "zeros"} : tensor<*xf32>
  %0 = mx.dense %x, %w {units = 3 : i64} : (tensor<4x3xf32, #mx.enc<batch = 0>>, tensor<*xf32>) -> tensor<*xf32>
  %1 = mx.dense %x, %v {units = 3 : i64} : (tensor<4x3xf32, #mx.enc<batch = 0>>, tensor<*xf32>) -> tensor<*xf32>
  mx.minimize %0 : tensor<*xf32>
  mx.report "size", %1 : tensor<*xf32>
  mx.optimizer "sgd" {lr = 0.1}
}

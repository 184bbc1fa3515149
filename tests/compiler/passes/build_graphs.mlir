// RUN: split-file %s %t
// RUN: mxc-opt --pass=infer-shapes,build-graphs %t/model.mlir | FileCheck %t/model.mlir
// RUN: not mxc-opt --pass=infer-shapes,build-graphs %t/no_loss.mlir 2>&1 | FileCheck %t/no_loss.mlir
// RUN: mxc-opt --pass=infer-shapes,build-graphs %t/composite.mlir | FileCheck %t/composite.mlir
// RUN: mxc-opt --pass=infer-shapes,build-graphs %t/clip_norm.mlir | FileCheck %t/clip_norm.mlir
// RUN: mxc-opt --pass=infer-shapes,build-graphs %t/loss_scale.mlir | FileCheck %t/loss_scale.mlir
// RUN: mxc-opt --pass=infer-shapes,build-graphs %t/from_file.mlir | FileCheck %t/from_file.mlir
// RUN: mxc-opt --pass=infer-shapes,build-graphs %t/untrained.mlir 2>&1 | FileCheck %t/untrained.mlir
// RUN: mxc-opt --pass=infer-shapes,build-graphs %t/gradient.mlir | FileCheck %t/gradient.mlir
// RUN: not mxc-opt --pass=infer-shapes,build-graphs %t/no_gradient.mlir 2>&1 | FileCheck %t/no_gradient.mlir
// RUN: not mxc-opt --pass=infer-shapes,build-graphs %t/integers.mlir 2>&1 | FileCheck %t/integers.mlir
// RUN: not mxc-opt --pass=infer-shapes,build-graphs %t/slot.mlir 2>&1 | FileCheck %t/slot.mlir
// RUN: not mxc-opt --pass=infer-shapes,build-graphs %t/state.mlir 2>&1 | FileCheck %t/state.mlir
// RUN: mxc-opt --pass=infer-shapes,build-graphs %t/bound.mlir | FileCheck %t/bound.mlir

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

//--- composite.mlir
// Ops that stand for others are gone; one that has a kernel with these attributes stays.
// CHECK-LABEL: func.func @train
// CHECK-NOT: mx.hinge_loss
// CHECK: mx.relu
// CHECK: mx.softmax_cross_entropy
// CHECK-NOT: mx.rmse
// CHECK: mx.mse_loss
// The root of a mean is no mean: training and evaluation give the mean, another graph the root of what it is over all samples.
// CHECK: return %{{.*}}
// CHECK-LABEL: func.func @eval
// CHECK-SAME: mx.name = "rmse#0", mx.role = "metric"
// CHECK-NOT: mx.sqrt
// CHECK-LABEL: func.func @report
// CHECK-SAME: %[[M:.*]]: tensor<f32> {mx.name = "rmse#0", mx.role = "input"}) -> (tensor<f32> {mx.name = "rmse", mx.role = "metric"})
// CHECK: mx.sqrt %[[M]]
module @m {
  %x = mx.input "x" : tensor<4x3xf32, #mx.enc<batch = 0>>
  %l = mx.input "l" : tensor<4xi32, #mx.enc<batch = 0>>
  %w = mx.parameter "w" {init = "xavier"} : tensor<*xf32>
  %0 = mx.dense %x, %w {units = 3 : i64} : (tensor<4x3xf32, #mx.enc<batch = 0>>, tensor<*xf32>) -> tensor<*xf32>
  %1 = mx.hinge_loss %0, %x : (tensor<*xf32>, tensor<4x3xf32, #mx.enc<batch = 0>>) -> tensor<*xf32>
  %2 = mx.softmax_cross_entropy %0, %l : (tensor<*xf32>, tensor<4xi32, #mx.enc<batch = 0>>) -> tensor<*xf32>
  %3 = mx.rmse %0, %x : (tensor<*xf32>, tensor<4x3xf32, #mx.enc<batch = 0>>) -> tensor<*xf32>
  mx.minimize %1 : tensor<*xf32>
  mx.minimize %2 : tensor<*xf32>
  mx.report "rmse", %3 : tensor<*xf32>
  mx.optimizer "sgd" {lr = 0.1}
}

//--- clip_norm.mlir
// Both gradients are scaled by one number, made from the squares of both, before their updates.
// CHECK-LABEL: func.func @train
// CHECK-SAME: mx.default = 5.0{{.*}}, mx.name = "clip_norm", mx.role = "hyper"
// CHECK: %[[A:.*]] = mx.mul %[[GW:.*]], %[[RESCALE:.*]] :
// CHECK: %[[B:.*]] = mx.square %[[A]]
// CHECK: %[[C:.*]] = mx.reduce_sum %[[B]]
// CHECK: mx.mul %[[GB:.*]], %[[RESCALE]] :
// CHECK: %[[SUM:.*]] = mx.add %[[C]], %{{.*}} : (tensor<f32>, tensor<f32>)
// CHECK: %[[SCALE:.*]] = mx.clip_norm_scale %[[SUM]]
// CHECK: mx.mul %[[GW]], %[[SCALE]]
// CHECK: mx.mul %[[GB]], %[[SCALE]]
// CHECK: mx.sgd_update
// CHECK: mx.sgd_update
module @m {
  %x = mx.input "x" : tensor<4x3xf32, #mx.enc<batch = 0>>
  %w = mx.parameter "w" {init = "xavier"} : tensor<*xf32>
  %b = mx.parameter "b" {init = "zeros"} : tensor<*xf32>
  %0 = mx.dense %x, %w, %b {units = 3 : i64} : (tensor<4x3xf32, #mx.enc<batch = 0>>, tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  mx.minimize %0 : tensor<*xf32>
  mx.optimizer "sgd" {clip_norm = 5.0, lr = 0.1}
}

//--- loss_scale.mlir
// The gradient begins with the scale instead of 1; every rescale is divided by it, that of the common norm too.
// CHECK-LABEL: func.func @train
// CHECK-SAME: %[[SCALE:[a-z0-9]+]]: tensor<f32> {mx.default = 1.024000e+03 : f64, mx.name = "loss_scale", mx.role = "hyper"}
// CHECK-SAME: %[[RESCALE:[a-z0-9]+]]: tensor<f32> {mx.default = 5.000000e-01 : f64, mx.name = "rescale", mx.role = "hyper"}
// CHECK: mx.div_by_count %[[SCALE]]
// CHECK: %[[NORM:.*]] = mx.div %[[RESCALE]], %[[SCALE]]
// CHECK: mx.mul %{{.*}}, %[[NORM]]
// CHECK: %[[OWN:.*]] = mx.div %[[RESCALE]], %[[SCALE]]
// CHECK: mx.sgd_update {{.*}}, %[[OWN]], %{{[a-z0-9]+}} :
module @m {
  %x = mx.input "x" : tensor<4x3xf32, #mx.enc<batch = 0>>
  %w = mx.parameter "w" {init = "xavier"} : tensor<*xf32>
  %0 = mx.dense %x, %w {units = 3 : i64} : (tensor<4x3xf32, #mx.enc<batch = 0>>, tensor<*xf32>) -> tensor<*xf32>
  mx.minimize %0 : tensor<*xf32>
  mx.optimizer "sgd" {clip_norm = 5.0, loss_scale = 1024.0, rescale = 0.5}
}

//--- from_file.mlir
// @init leaves zeros, and says where the parameter's values lie.
// CHECK-LABEL: func.func @init
// CHECK-SAME: mx.init_file = "w.npz", mx.init_tensor = "a", mx.name = "w", mx.role = "parameter"
// CHECK-NOT: mx.random
// CHECK: return
module @m {
  %x = mx.input "x" : tensor<4x3xf32, #mx.enc<batch = 0>>
  %w = mx.parameter "w" {init = "file", mx.init_file = "w.npz", mx.init_tensor = "a"} : tensor<*xf32>
  %0 = mx.dense %x, %w {units = 3 : i64} : (tensor<4x3xf32, #mx.enc<batch = 0>>, tensor<*xf32>) -> tensor<*xf32>
  mx.minimize %0 : tensor<*xf32>
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
// A parameter behind stop_gradient. (One that no loss depends on at all is find-unused's to tell.)
// CHECK: warning: parameter v is not trained: no gradient of the loss reaches it
module @m {
  %x = mx.input "x" : tensor<4x3xf32, #mx.enc<batch = 0>>
  %v = mx.parameter "v" {init = "zeros"} : tensor<*xf32>
  %w = mx.parameter "w" {init = "zeros"} : tensor<*xf32>
  %0 = mx.dense %x, %w {units = 3 : i64} : (tensor<4x3xf32, #mx.enc<batch = 0>>, tensor<*xf32>) -> tensor<*xf32>
  %1 = mx.dense %x, %v {units = 3 : i64} : (tensor<4x3xf32, #mx.enc<batch = 0>>, tensor<*xf32>) -> tensor<*xf32>
  %2 = mx.stop_gradient %1 : (tensor<*xf32>) -> tensor<*xf32>
  %3 = mx.mul %0, %2 : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  mx.minimize %3 : tensor<*xf32>
  mx.optimizer "sgd" {lr = 0.1}
}

//--- gradient.mlir
// A gradient in the model: of a value that the other does not depend on it is zero; others are differentiated again.
// CHECK-LABEL: func.func @infer
// CHECK: %[[ZERO:.*]] = mx.constant {{.*}}0.000000e+00
// CHECK: %[[ZEROS:.*]] = mx.broadcast %[[ZERO]]
// CHECK: %[[Y:.*]] = mx.exp
// CHECK: %[[DX:.*]] = mx.mul %{{.*}}, %[[Y]]
// CHECK: %[[DDX:.*]] = mx.mul %{{.*}}, %[[Y]]
// CHECK-NOT: mx.gradient
// CHECK: return %[[ZEROS]], %[[DDX]]
module @m {
  %x = mx.input "x" : tensor<4x3xf32, #mx.enc<batch = 0>>
  %w = mx.parameter "w" {init = "zeros"} : tensor<3xf32>
  %none = mx.gradient %w, %x : (tensor<3xf32>, tensor<4x3xf32, #mx.enc<batch = 0>>) -> tensor<*xf32>
  %y = mx.exp %x : (tensor<4x3xf32, #mx.enc<batch = 0>>) -> tensor<*xf32>
  %dx = mx.gradient %y, %x : (tensor<*xf32>, tensor<4x3xf32, #mx.enc<batch = 0>>) -> tensor<*xf32>
  %ddx = mx.gradient %dx, %x : (tensor<*xf32>, tensor<4x3xf32, #mx.enc<batch = 0>>) -> tensor<*xf32>
  %l = mx.mul %y, %w : (tensor<*xf32>, tensor<3xf32>) -> tensor<*xf32>
  mx.minimize %l : tensor<*xf32>
  mx.output "none", %none : tensor<*xf32>
  mx.output "ddx", %ddx : tensor<*xf32>
  mx.optimizer "sgd" {lr = 0.1}
}

//--- no_gradient.mlir
// The way from the loss to the parameter, place by place.
// CHECK: [[#@LINE+9]]:8: error: 'mx.bias_correction' op has no gradient, and the loss needs one on its way to parameter w
// CHECK: [[#@LINE+9]]:8: note: the loss depends on exp
// CHECK: [[#@LINE+6]]:8: note: bias_correction depends on tanh
// CHECK: [[#@LINE+4]]:8: note: and so on parameter w
module @m {
  %x = mx.input "x" : tensor<4x3xf32, #mx.enc<batch = 0>>
  %s = mx.input "s" : tensor<i64>
  %w = mx.parameter "w" {init = "zeros"} : tensor<f32>
  %h = mx.tanh %w : (tensor<f32>) -> tensor<*xf32>
  %u = mx.bias_correction %h, %s : (tensor<*xf32>, tensor<i64>) -> tensor<*xf32>
  %e = mx.exp %u : (tensor<*xf32>) -> tensor<*xf32>
  %l = mx.mul %e, %x : (tensor<*xf32>, tensor<4x3xf32, #mx.enc<batch = 0>>) -> tensor<*xf32>
  mx.minimize %l : tensor<*xf32>
  mx.optimizer "sgd" {lr = 0.1}
}

//--- integers.mlir
// CHECK: gradient{{.*}} needs floating-point operands
module @m {
  %i = mx.input "i" : tensor<4x3xi32, #mx.enc<batch = 0>>
  %x = mx.input "x" : tensor<4x3xf32, #mx.enc<batch = 0>>
  %g = mx.gradient %x, %i : (tensor<4x3xf32, #mx.enc<batch = 0>>, tensor<4x3xi32, #mx.enc<batch = 0>>) -> tensor<*xf32>
  mx.minimize %x : tensor<4x3xf32, #mx.enc<batch = 0>>
  mx.optimizer "sgd" {lr = 0.1}
}

//--- slot.mlir
// CHECK: [[#@LINE+5]]:9: error: the name w/momentum is taken by the optimizer's state
// CHECK: [[#@LINE+3]]:8: note: of the parameter w
module @m {
  %x = mx.input "x" : tensor<4x3xf32, #mx.enc<batch = 0>>
  %w = mx.parameter "w" {init = "zeros"} : tensor<3xf32>
  %wv = mx.parameter "w/momentum" {init = "zeros"} : tensor<3xf32>
  %0 = mx.add %w, %wv : (tensor<3xf32>, tensor<3xf32>) -> tensor<*xf32>
  %1 = mx.mul %x, %0 : (tensor<4x3xf32, #mx.enc<batch = 0>>, tensor<*xf32>) -> tensor<*xf32>
  mx.minimize %1 : tensor<*xf32>
  mx.optimizer "momentum" {lr = 0.1}
}

//--- state.mlir
// CHECK: batch_norm' op needs layer state of its own, which training changes, as operand 3
// CHECK: note: this is a trainable parameter
module @m {
  %x = mx.input "x" : tensor<4x3xf32, #mx.enc<batch = 0>>
  %g = mx.parameter "g" {init = "ones"} : tensor<3xf32>
  %b = mx.parameter "b" {init = "zeros"} : tensor<3xf32>
  %m = mx.parameter "m" {init = "zeros"} : tensor<3xf32>
  %v = mx.parameter "v" {init = "ones", trainable = false} : tensor<3xf32>
  %0 = mx.batch_norm %x, %g, %b, %m, %v : (tensor<4x3xf32, #mx.enc<batch = 0>>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<*xf32>
  mx.minimize %0 : tensor<*xf32>
  mx.optimizer "sgd" {lr = 0.1}
}

//--- bound.mlir
// What a lookup accepts is known of an input that it reads under another shape.
// CHECK: mx.name = "i", mx.role = "input", mx.upper_bound = 7
module @m {
  %i = mx.input "i" : tensor<4x3xi32, #mx.enc<batch = 0>>
  %w = mx.parameter "w" {init = "zeros"} : tensor<*xf32>
  %0 = mx.flatten %i : (tensor<4x3xi32, #mx.enc<batch = 0>>) -> tensor<*xi32>
  %1 = mx.embedding %0, %w {vocabulary = 7 : i64, units = 2 : i64} : (tensor<*xi32>, tensor<*xf32>) -> tensor<*xf32>
  mx.minimize %1 : tensor<*xf32>
  mx.optimizer "sgd" {lr = 0.1}
}

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
// RUN: not mxc-opt --pass=infer-shapes,build-graphs %t/lost.mlir 2>&1 | FileCheck %t/lost.mlir
// RUN: not mxc-opt --pass=infer-shapes,build-graphs %t/lost_integers.mlir 2>&1 | FileCheck %t/lost_integers.mlir
// RUN: not mxc-opt --pass=infer-shapes,build-graphs %t/lost_factor.mlir 2>&1 | FileCheck %t/lost_factor.mlir
// RUN: not mxc-opt --pass=infer-shapes,build-graphs %t/lost_operand.mlir 2>&1 | FileCheck %t/lost_operand.mlir
// RUN: not mxc-opt --pass=infer-shapes,build-graphs %t/lost_input.mlir 2>&1 | FileCheck %t/lost_input.mlir
// RUN: not mxc-opt --pass=infer-shapes,build-graphs %t/lost_twice.mlir 2>&1 | FileCheck %t/lost_twice.mlir
// RUN: not mxc-opt --pass=infer-shapes,build-graphs %t/lost_named.mlir 2>&1 | FileCheck %t/lost_named.mlir
// RUN: sed 's/OP/sign/' %t/jumps.mlir > %t/sign.mlir
// RUN: mxc-opt --pass=infer-shapes,build-graphs %t/sign.mlir 2>&1 | FileCheck %t/jumps.mlir
// RUN: sed 's/OP/floor/' %t/jumps.mlir > %t/floor.mlir
// RUN: mxc-opt --pass=infer-shapes,build-graphs %t/floor.mlir 2>&1 | FileCheck %t/jumps.mlir
// RUN: sed 's/OP/ceil/' %t/jumps.mlir > %t/ceil.mlir
// RUN: mxc-opt --pass=infer-shapes,build-graphs %t/ceil.mlir 2>&1 | FileCheck %t/jumps.mlir
// RUN: sed 's/OP/round/' %t/jumps.mlir > %t/round.mlir
// RUN: mxc-opt --pass=infer-shapes,build-graphs %t/round.mlir 2>&1 | FileCheck %t/jumps.mlir
// RUN: mxc-opt --pass=infer-shapes,build-graphs %t/two_ways.mlir 2>&1 | FileCheck %t/two_ways.mlir
// RUN: mxc-opt --pass=infer-shapes,build-graphs,simplify %t/flat.mlir 2>&1 | FileCheck %t/flat.mlir
// RUN: mxc-opt --own-main --pass=infer-shapes,build-graphs %t/outputs.mlir 2>&1 | FileCheck %t/outputs.mlir
// RUN: sed 's/{mx.wanted}/{mx.gradient}/' %t/outputs.mlir > %t/asked.mlir
// RUN: not mxc-opt --own-main --pass=infer-shapes,build-graphs %t/asked.mlir 2>&1 | FileCheck %t/outputs.mlir --check-prefix=ASKED
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

//--- lost.mlir
// An op that is constant between its jumps, on the only way. The mean that the loss is stands at the same place, and is not named.
// CHECK: [[#@LINE+9]]:8: error: 'mx.accuracy' op has no gradient, and the loss needs one on its way to parameter w
// CHECK-NOT: the loss depends
// CHECK: [[#@LINE+6]]:8: note: accuracy depends on dense
// CHECK: [[#@LINE+4]]:8: note: and so on parameter w
module @m {
  %x = mx.input "x" : tensor<4x3xf32, #mx.enc<batch = 0>>
  %l = mx.input "l" : tensor<4xi32, #mx.enc<batch = 0>>
  %w = mx.parameter "w" {init = "zeros"} : tensor<*xf32>
  %d = mx.dense %x, %w {units = 3 : i64} : (tensor<4x3xf32, #mx.enc<batch = 0>>, tensor<*xf32>) -> tensor<*xf32>
  %a = mx.accuracy %d, %l : (tensor<*xf32>, tensor<4xi32, #mx.enc<batch = 0>>) -> tensor<*xf32>
  mx.minimize %a : tensor<*xf32>
  mx.optimizer "sgd" {lr = 0.1}
}

//--- lost_integers.mlir
// Through integers: the op that makes them of numbers is named, not those that read them.
// CHECK: [[#@LINE+9]]:8: error: 'mx.argmax' op has no gradient, and the loss needs one on its way to parameter w
// CHECK: [[#@LINE+10]]:8: note: the loss depends on mul
// CHECK: [[#@LINE+8]]:8: note: the loss depends on one_hot
// CHECK: [[#@LINE+5]]:8: note: argmax depends on dense
// CHECK: [[#@LINE+3]]:8: note: and so on parameter w
module @m {
  %x = mx.input "x" : tensor<4x3xf32, #mx.enc<batch = 0>>
  %w = mx.parameter "w" {init = "zeros"} : tensor<*xf32>
  %d = mx.dense %x, %w {units = 3 : i64} : (tensor<4x3xf32, #mx.enc<batch = 0>>, tensor<*xf32>) -> tensor<*xf32>
  %i = mx.argmax %d {axis = 1 : i64} : (tensor<*xf32>) -> tensor<*xi32>
  %h = mx.one_hot %i {depth = 3 : i64, dtype = f32} : (tensor<*xi32>) -> tensor<*xf32>
  %l = mx.mul %h, %x : (tensor<*xf32>, tensor<4x3xf32, #mx.enc<batch = 0>>) -> tensor<*xf32>
  mx.minimize %l : tensor<*xf32>
  mx.optimizer "sgd" {lr = 0.1}
}

//--- lost_factor.mlir
// The same where the other factor is trained: the product has gradients, and is not to blame.
// CHECK: [[#@LINE+6]]:8: error: 'mx.argmax' op has no gradient, and the loss needs one on its way to parameter w
// CHECK: [[#@LINE+8]]:8: note: the loss depends on mul
module @m {
  %x = mx.input "x" : tensor<4x3xf32, #mx.enc<batch = 0>>
  %w = mx.parameter "w" {init = "zeros"} : tensor<*xf32>
  %d = mx.dense %x, %w {units = 3 : i64} : (tensor<4x3xf32, #mx.enc<batch = 0>>, tensor<*xf32>) -> tensor<*xf32>
  %i = mx.argmax %d {axis = 1 : i64} : (tensor<*xf32>) -> tensor<*xi32>
  %h = mx.one_hot %i {depth = 3 : i64, dtype = f32} : (tensor<*xi32>) -> tensor<*xf32>
  %v = mx.parameter "v" {init = "zeros"} : tensor<3xf32>
  %l = mx.mul %h, %v : (tensor<*xf32>, tensor<3xf32>) -> tensor<*xf32>
  mx.minimize %l : tensor<*xf32>
  mx.optimizer "sgd" {lr = 0.1}
}

//--- lost_operand.mlir
// An op with a gradient for another operand: the condition has none.
// CHECK: [[#@LINE+8]]:8: error: 'mx.where' op has no gradient for its operand 0, and the loss needs one on its way to parameter c
// CHECK: [[#@LINE+6]]:8: note: where depends on tanh
// CHECK: [[#@LINE+4]]:8: note: and so on parameter c
module @m {
  %x = mx.input "x" : tensor<4x3xf32, #mx.enc<batch = 0>>
  %w = mx.parameter "w" {init = "zeros"} : tensor<3xf32>
  %c = mx.parameter "c" {init = "zeros"} : tensor<3xf32>
  %t = mx.tanh %c : (tensor<3xf32>) -> tensor<*xf32>
  %l = mx.where %t, %w, %x : (tensor<*xf32>, tensor<3xf32>, tensor<4x3xf32, #mx.enc<batch = 0>>) -> tensor<*xf32>
  mx.minimize %l : tensor<*xf32>
  mx.optimizer "sgd" {lr = 0.1}
}

//--- lost_input.mlir
// A gradient that the model asks for itself.
// CHECK: [[#@LINE+6]]:8: error: 'mx.greater' op has no gradient, and gradient(...) needs one on its way to input x
// CHECK: [[#@LINE+6]]:8: note: the gradient is asked for here
// CHECK: [[#@LINE+2]]:8: note: and so on input x
module @m {
  %x = mx.input "x" : tensor<4x3xf32, #mx.enc<batch = 0>>
  %w = mx.parameter "w" {init = "zeros"} : tensor<3xf32>
  %o = mx.greater %x, %w : (tensor<4x3xf32, #mx.enc<batch = 0>>, tensor<3xf32>) -> tensor<*xf32>
  %g = mx.gradient %o, %x : (tensor<*xf32>, tensor<4x3xf32, #mx.enc<batch = 0>>) -> tensor<*xf32>
  %l = mx.mul %x, %w : (tensor<4x3xf32, #mx.enc<batch = 0>>, tensor<3xf32>) -> tensor<*xf32>
  mx.minimize %l : tensor<*xf32>
  mx.output "g", %g : tensor<*xf32>
  mx.optimizer "sgd" {lr = 0.1}
}

//--- lost_twice.mlir
// That another term gives an operand a gradient does not make the comparison one with a gradient.
// CHECK: [[#@LINE+6]]:8: error: 'mx.greater' op has no gradient, and the loss needs one on its way to parameter v
// CHECK: [[#@LINE+4]]:8: note: and so on parameter v
module @m {
  %x = mx.input "x" : tensor<4x3xf32, #mx.enc<batch = 0>>
  %w = mx.parameter "w" {init = "zeros"} : tensor<3xf32>
  %v = mx.parameter "v" {init = "zeros"} : tensor<3xf32>
  %o = mx.greater %w, %v : (tensor<3xf32>, tensor<3xf32>) -> tensor<*xf32>
  %s = mx.add %o, %w : (tensor<*xf32>, tensor<3xf32>) -> tensor<*xf32>
  %l = mx.mul %x, %s : (tensor<4x3xf32, #mx.enc<batch = 0>>, tensor<*xf32>) -> tensor<*xf32>
  mx.minimize %l : tensor<*xf32>
  mx.optimizer "sgd" {lr = 0.1}
}

//--- lost_named.mlir
// What a user calls so is no gradient.
// CHECK: 'mx.greater' op has no gradient, and the loss needs one on its way to parameter w
module @m {
  %x = mx.input "x" : tensor<4x3xf32, #mx.enc<batch = 0>>
  %w = mx.parameter "w" {init = "zeros"} : tensor<3xf32>
  %o = mx.greater %x, %w : (tensor<4x3xf32, #mx.enc<batch = 0>>, tensor<3xf32>) -> tensor<*xf32> loc("greater.gradient")
  mx.minimize %o : tensor<*xf32>
  mx.optimizer "sgd" {lr = 0.1}
}

//--- jumps.mlir
// Exact zeros, with which the parameter is trained.
// CHECK-NOT: warning
// CHECK-LABEL: func.func @train
// CHECK: %[[ZERO:.*]] = mx.constant {{.*}}0.000000e+00
// CHECK: %[[ZEROS:.*]] = mx.broadcast %[[ZERO]]
// CHECK: mx.sgd_update %{{[a-z0-9]+}}, %[[ZEROS]]
module @m {
  %x = mx.input "x" : tensor<4x3xf32, #mx.enc<batch = 0>>
  %w = mx.parameter "w" {init = "zeros"} : tensor<3xf32>
  %r = mx.OP %w : (tensor<3xf32>) -> tensor<*xf32>
  %l = mx.mul %x, %r : (tensor<4x3xf32, #mx.enc<batch = 0>>, tensor<*xf32>) -> tensor<*xf32>
  mx.minimize %l : tensor<*xf32>
  mx.optimizer "sgd" {lr = 0.1}
}

//--- two_ways.mlir
// One way with a gradient is enough, and stop_gradient says that a way is not wanted.
// CHECK-NOT: error
// CHECK-NOT: warning
// CHECK: warning: parameter v is not trained: no gradient of the loss reaches it
// CHECK-LABEL: func.func @train
// CHECK: mx.sgd_update
// CHECK-NOT: mx.sgd_update
// CHECK: return
module @m {
  %x = mx.input "x" : tensor<4x3xf32, #mx.enc<batch = 0>>
  %w = mx.parameter "w" {init = "zeros"} : tensor<3xf32>
  %v = mx.parameter "v" {init = "zeros"} : tensor<3xf32>
  %s = mx.stop_gradient %v : (tensor<3xf32>) -> tensor<*xf32>
  %o = mx.greater %w, %s : (tensor<3xf32>, tensor<*xf32>) -> tensor<*xf32>
  %p = mx.mul %o, %w : (tensor<*xf32>, tensor<3xf32>) -> tensor<*xf32>
  %l = mx.mul %x, %p : (tensor<4x3xf32, #mx.enc<batch = 0>>, tensor<*xf32>) -> tensor<*xf32>
  mx.minimize %l : tensor<*xf32>
  mx.optimizer "sgd" {lr = 0.1}
}

//--- flat.mlir
// Gradients that are constant between jumps (the mask of relu, the place of the largest) have a gradient: zero.
// CHECK-NOT: error
// CHECK-LABEL: func.func @infer
// CHECK: %[[ZERO:.*]] = mx.constant {{.*}}0.000000e+00
// CHECK: %[[ZEROS:.*]] = mx.broadcast %[[ZERO]]
// CHECK: return %[[ZEROS]], %[[ZEROS]]
module @m {
  %x = mx.input "x" : tensor<4x1x2x2xf32, #mx.enc<batch = 0>>
  %w = mx.parameter "w" {init = "zeros"} : tensor<2xf32>
  %r = mx.relu %x : (tensor<4x1x2x2xf32, #mx.enc<batch = 0>>) -> tensor<*xf32> loc("relu0")
  %dr = mx.gradient %r, %x : (tensor<*xf32>, tensor<4x1x2x2xf32, #mx.enc<batch = 0>>) -> tensor<*xf32> loc("gradient0")
  %ddr = mx.gradient %dr, %x : (tensor<*xf32>, tensor<4x1x2x2xf32, #mx.enc<batch = 0>>) -> tensor<*xf32> loc("gradient1")
  %p, %i = mx.max_pool %x {kernel = array<i64: 2, 2>, stride = array<i64: 1, 1>, pad = array<i64: 0, 0>, ceil_mode = false} : (tensor<4x1x2x2xf32, #mx.enc<batch = 0>>) -> (tensor<*xf32>, tensor<*xi8>) loc("max_pool0")
  %dp = mx.gradient %p, %x : (tensor<*xf32>, tensor<4x1x2x2xf32, #mx.enc<batch = 0>>) -> tensor<*xf32> loc("gradient2")
  %ddp = mx.gradient %dp, %x : (tensor<*xf32>, tensor<4x1x2x2xf32, #mx.enc<batch = 0>>) -> tensor<*xf32> loc("gradient3")
  %l = mx.mul %x, %w : (tensor<4x1x2x2xf32, #mx.enc<batch = 0>>, tensor<2xf32>) -> tensor<*xf32>
  mx.minimize %l : tensor<*xf32>
  mx.output "ddr", %ddr : tensor<*xf32>
  mx.output "ddp", %ddp : tensor<*xf32>
  mx.optimizer "sgd" {lr = 0.1}
}

//--- outputs.mlir
// A main's model without a loss: nobody has asked for parameters' gradients, which are zero; of an input somebody has.
// CHECK-NOT: error
// CHECK-LABEL: func.func @forward_backward
// CHECK: mx.constant {{.*}}0.000000e+00
// CHECK: return
// ASKED: error: 'mx.greater' op has no gradient, and an output needs one on its way to input x
module @m {
  %x = mx.input "x" {mx.wanted} : tensor<4x3xf32, #mx.enc<batch = 0>>
  %w = mx.parameter "w" {init = "zeros"} : tensor<3xf32>
  %o = mx.greater %x, %w : (tensor<4x3xf32, #mx.enc<batch = 0>>, tensor<3xf32>) -> tensor<*xf32>
  mx.output "o", %o : tensor<*xf32>
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

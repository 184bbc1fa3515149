// RUN: split-file %s %t
// RUN: mxc-opt --own-main --pass=infer-shapes,build-graphs %t/loss.mlir | FileCheck %t/loss.mlir
// RUN: mxc-opt --pass=infer-shapes,build-graphs %t/loss.mlir | FileCheck %t/loss.mlir --check-prefix=WITHOUT
// RUN: mxc-opt --own-main --pass=infer-shapes,build-graphs %t/heads.mlir | FileCheck %t/heads.mlir
// RUN: mxc-opt --own-main --pass=all %t/heads.mlir | FileCheck %t/heads.mlir --check-prefix=PLAN
// RUN: mxc-opt --own-main --pass=infer-shapes,build-graphs %t/forward.mlir | FileCheck %t/forward.mlir
// RUN: not mxc-opt --own-main --pass=infer-shapes,build-graphs %t/nothing.mlir 2>&1 | FileCheck %t/nothing.mlir
// RUN: not mxc-opt --own-main --pass=infer-shapes,build-graphs %t/taken.mlir 2>&1 | FileCheck %t/taken.mlir
// RUN: mxc-opt --pass=layout %t/layout.mlir | FileCheck %t/layout.mlir
// RUN: mxc-opt --pass=schedule,plan-memory %t/parts.mlir | FileCheck %t/parts.mlir

//--- loss.mlir
// Everything of training but the update, what inference returns, and gradients of the parameters and of the input that asks for one: zeros for
// a parameter that nothing reaches. A root of a mean is a metric of the run.
// CHECK-LABEL: func.func @train
// CHECK-LABEL: func.func @forward_backward
// CHECK-SAME: -> (tensor<f32> {mx.name = "loss", mx.role = "loss"}, tensor<f32> {mx.name = "rmse", mx.role = "metric"}
// CHECK-SAME: {mx.name = "y", mx.role = "output"}
// CHECK-SAME: tensor<3x3xf32> {mx.name = "w", mx.role = "gradient"}, tensor<3xf32> {mx.name = "v", mx.role = "gradient"}, tensor<4x3xf32, #mx.enc<batch = 0>> {mx.name = "x", mx.role = "gradient"})
// CHECK-NOT: mx.sgd_update
// CHECK: mx.matmul {{.*}}transpose_a = true
// CHECK-NOT: mx.sgd_update
// CHECK: return
// WITHOUT: func.func @infer
// WITHOUT-NOT: forward_backward
module @m {
  %x = mx.input "x" {mx.gradient} : tensor<4x3xf32, #mx.enc<batch = 0>>
  %w = mx.parameter "w" {init = "xavier"} : tensor<*xf32>
  %v = mx.parameter "v" {init = "zeros"} : tensor<3xf32>
  %0 = mx.dense %x, %w {units = 3 : i64} : (tensor<4x3xf32, #mx.enc<batch = 0>>, tensor<*xf32>) -> tensor<*xf32>
  %1 = mx.add %0, %v : (tensor<*xf32>, tensor<3xf32>) -> tensor<*xf32>
  %2 = mx.rmse %0, %x : (tensor<*xf32>, tensor<4x3xf32, #mx.enc<batch = 0>>) -> tensor<*xf32>
  mx.minimize %0 : tensor<*xf32>
  mx.report "rmse", %2 : tensor<*xf32>
  mx.output "y", %1 : tensor<*xf32>
  mx.optimizer "sgd" {lr = 0.1}
}

//--- heads.mlir
// CHECK-NOT: func.func @train
// CHECK-NOT: func.func @eval
// CHECK-LABEL: func.func @infer
// CHECK-LABEL: func.func @forward_backward
// CHECK-SAME: mx.head_gradient, mx.name = "y.head_gradient", mx.role = "input"
// CHECK-NOT: i.head_gradient
// CHECK-SAME: mx.name = "w", mx.role = "gradient"
// Forward makes both outputs; all that waits for the head gradient comes behind.
// PLAN-LABEL: func.func @forward_backward
// PLAN-SAME: %[[HEAD:[a-z0-9]+]]: tensor<4x3xf32, #mx.enc<batch = 0>> {mx.head_gradient
// PLAN-SAME: mx.forward_kernels = 2
// PLAN-COUNT-2: mx.kernel
// PLAN: mx.kernel(%{{.*}}%[[HEAD]]
module @m {
  %x = mx.input "x" : tensor<4x3xf32, #mx.enc<batch = 0>>
  %w = mx.parameter "w" {init = "xavier"} : tensor<*xf32>
  %0 = mx.dense %x, %w {units = 3 : i64} : (tensor<4x3xf32, #mx.enc<batch = 0>>, tensor<*xf32>) -> tensor<*xf32>
  %1 = mx.tanh %0 : (tensor<*xf32>) -> tensor<*xf32>
  %2 = mx.argmax %1 {axis = 1 : i64} : (tensor<*xf32>) -> tensor<*xi32>
  mx.output "y", %1 : tensor<*xf32>
  mx.output "i", %2 : tensor<*xi32>
  mx.optimizer "sgd" {lr = 0.1}
}

//--- forward.mlir
// Nothing asks for a gradient.
// CHECK-LABEL: func.func @forward_backward
// CHECK-NOT: gradient
// CHECK: return
module @m {
  %x = mx.input "x" : tensor<4x3xf32, #mx.enc<batch = 0>>
  %1 = mx.tanh %x : (tensor<4x3xf32, #mx.enc<batch = 0>>) -> tensor<*xf32>
  mx.output "y", %1 : tensor<*xf32>
  mx.optimizer "sgd" {lr = 0.1}
}

//--- nothing.mlir
// CHECK: the model has neither minimize(loss) nor output(name, value): there is nothing to compute
module @m {
  %x = mx.input "x" : tensor<4x3xf32, #mx.enc<batch = 0>>
  mx.optimizer "sgd" {lr = 0.1}
}

//--- taken.mlir
// CHECK: [[#@LINE+5]]:8: error: the name y.head_gradient is taken by the head gradient of an output
// CHECK: [[#@LINE+6]]:3: note: of this one
module @m {
  %w = mx.parameter "w" {init = "zeros"} : tensor<3xf32>
  %x = mx.input "x" : tensor<4x3xf32, #mx.enc<batch = 0>>
  %h = mx.input "y.head_gradient" : tensor<4x3xf32, #mx.enc<batch = 0>>
  %1 = mx.mul %w, %h : (tensor<3xf32>, tensor<4x3xf32, #mx.enc<batch = 0>>) -> tensor<*xf32>
  mx.output "y", %1 : tensor<*xf32>
  mx.optimizer "sgd" {lr = 0.1}
}

//--- layout.mlir
// A gradient lies as its parameter does, which does not look at the function with gradients: here the other one wants it row-major, as it is.
// CHECK-LABEL: func.func @infer(%{{.*}}: tensor<16x16xf32> {
// CHECK-LABEL: func.func @forward_backward(%{{.*}}: tensor<16x16xf32> {
// CHECK-SAME: -> (tensor<16x16xf32> {mx.name = "w", mx.role = "gradient"})
func.func @infer(%w: tensor<16x16xf32> {mx.name = "w", mx.role = "parameter"}) -> (tensor<16x16xf32> {mx.name = "y", mx.role = "output"}) {
  %0 = mx.tanh %w : (tensor<16x16xf32>) -> tensor<16x16xf32>
  return %0 : tensor<16x16xf32>
}
func.func @forward_backward(%x: tensor<4x16xf32, #mx.enc<batch = 0>> {mx.name = "x", mx.role = "input"},
    %w: tensor<16x16xf32> {mx.name = "w", mx.role = "parameter"}) -> (tensor<16x16xf32> {mx.name = "w", mx.role = "gradient"}) {
  %0 = mx.dense %x, %w {units = 16 : i64} : (tensor<4x16xf32, #mx.enc<batch = 0>>, tensor<16x16xf32>) -> tensor<4x16xf32, #mx.enc<batch = 0>>
  %1 = mx.reduce_sum %0 : (tensor<4x16xf32, #mx.enc<batch = 0>>) -> tensor<f32>
  %2 = mx.mul %w, %1 : (tensor<16x16xf32>, tensor<f32>) -> tensor<16x16xf32>
  return %2 : tensor<16x16xf32>
}

//--- parts.mlir
// The kernel that only the gradient needs comes last, though it could run first; a second result of one value is copied at the end of forward.
// CHECK-LABEL: func.func @f
// CHECK-SAME: mx.forward_kernels = 2
// CHECK: mx.kernel
// CHECK: mx.tanh
// CHECK: mx.kernel
// CHECK: mx.relayout
// CHECK: mx.kernel
// CHECK: mx.exp
func.func @f(%x: tensor<16xf32> {mx.name = "x", mx.role = "input"})
    -> (tensor<16xf32> {mx.name = "g", mx.role = "gradient"}, tensor<16xf32> {mx.name = "y", mx.role = "output"}, tensor<16xf32> {mx.name = "z", mx.role = "output"}) {
  %0 = mx.kernel(%x) : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%a: tensor<16xf32>):
    %1 = mx.exp %a : (tensor<16xf32>) -> tensor<16xf32>
    mx.yield %1 : tensor<16xf32>
  }
  %2 = mx.kernel(%x) : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%a: tensor<16xf32>):
    %1 = mx.tanh %a : (tensor<16xf32>) -> tensor<16xf32>
    mx.yield %1 : tensor<16xf32>
  }
  return %0, %2, %2 : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>
}

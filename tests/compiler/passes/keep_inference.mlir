// RUN: split-file %s %t
// RUN: mxc-opt --library --pass=keep-inference %t/functions.mlir | FileCheck %t/functions.mlir
// RUN: mxc-opt --pass=keep-inference %t/functions.mlir | FileCheck %t/functions.mlir --check-prefix=PROGRAM
// RUN: mxc-opt --library --pass=all %t/model.mlir | FileCheck %t/model.mlir
// RUN: mxc-opt --library --train --pass=all %t/two.mlir | FileCheck %t/two.mlir --check-prefix=WHOLE
// RUN: mxc-opt --library --train=b --pass=all %t/two.mlir | FileCheck %t/two.mlir --check-prefix=LAST
// RUN: mxc-opt --library --train=a --pass=all %t/two.mlir | FileCheck %t/two.mlir --check-prefix=FIRST
// RUN: not mxc-opt --library --train=a,c --pass=all %t/two.mlir 2>&1 | FileCheck %t/two.mlir --check-prefix=UNREACHED
// RUN: not mxc-opt --library --train --pass=infer-shapes,build-graphs %t/no_loss.mlir 2>&1 | FileCheck %t/no_loss.mlir --check-prefix=TRAIN
// RUN: mxc-opt --library --pass=infer-shapes,find-unused,build-graphs %t/no_loss.mlir 2>&1 | FileCheck %t/no_loss.mlir
// RUN: not mxc-opt --library --pass=infer-shapes,build-graphs %t/no_output.mlir 2>&1 | FileCheck %t/no_output.mlir

//--- functions.mlir
// CHECK-NOT: func.func @train
// CHECK: func.func @infer
// CHECK-NOT: func.func
// PROGRAM: func.func @train
// PROGRAM: func.func @infer
// PROGRAM: func.func @init
func.func @train(%x: tensor<2xf32>) -> tensor<2xf32> { return %x : tensor<2xf32> }
func.func @infer(%x: tensor<2xf32>) -> tensor<2xf32> { return %x : tensor<2xf32> }
func.func @init(%x: tensor<2xf32>) -> tensor<2xf32> { return %x : tensor<2xf32> }

//--- model.mlir
// CHECK-NOT: func.func
// CHECK: func.func @infer(%{{.*}}mx.name = "x", mx.role = "input"}, %{{.*}}mx.name = "w", mx.role = "parameter"})
// CHECK-NOT: func.func
module @m {
  %x = mx.input "x" : tensor<4x3xf32, #mx.enc<batch = 0>>
  %w = mx.parameter "w" {init = "xavier"} : tensor<*xf32>
  %0 = mx.dense %x, %w {units = 3 : i64} : (tensor<4x3xf32, #mx.enc<batch = 0>>, tensor<*xf32>) -> tensor<*xf32>
  mx.minimize %0 : tensor<*xf32>
  mx.output "y", %0 : tensor<*xf32>
  mx.optimizer "sgd" {lr = 0.1}
}

//--- two.mlir
// Inference first. What only the other layer's new values need is not computed: with the last alone no gradient goes through the tanh.
// WHOLE: module @m attributes {{.*}}mx.library_trains
// WHOLE: func.func @infer
// WHOLE: func.func @train(
// WHOLE-SAME: -> ({{.*}}"loss"{{.*}}mx.donates = 1 : i64, mx.name = "a"{{.*}}mx.name = "a/momentum"{{.*}}mx.donates = 2 : i64, mx.name = "b"{{.*}}mx.name = "b/momentum"
// WHOLE-COUNT-3: mx.matmul
// WHOLE-NOT: mx.matmul
// WHOLE-NOT: func.func
// LAST: func.func @infer
// LAST: func.func @train(
// LAST-NOT: "a/momentum"
// LAST-SAME: mx.name = "b/momentum", mx.role = "state", mx.slot}) -> ({{.*}}"loss"{{.*}}mx.donates = 2 : i64, mx.name = "b"{{.*}}mx.donates = 9 : i64, mx.name = "b/momentum"
// LAST-NOT: mx.sub
// LAST: mx.matmul
// LAST-NOT: mx.matmul
// LAST-NOT: func.func
// FIRST: func.func @train(
// FIRST-NOT: "b/momentum"
// FIRST-SAME: -> ({{.*}}"loss"{{.*}}mx.donates = 1 : i64, mx.name = "a"{{.*}}mx.donates = 3 : i64, mx.name = "a/momentum"
// FIRST-COUNT-2: mx.matmul
// FIRST-NOT: mx.matmul
// UNREACHED: error: parameter c is to be trained, but no gradient of the loss reaches it
module @m {
  %x = mx.input "x" : tensor<4x3xf32, #mx.enc<batch = 0>>
  %a = mx.parameter "a" {init = "xavier"} : tensor<*xf32>
  %b = mx.parameter "b" {init = "xavier"} : tensor<*xf32>
  %0 = mx.dense %x, %a {units = 3 : i64} : (tensor<4x3xf32, #mx.enc<batch = 0>>, tensor<*xf32>) -> tensor<*xf32>
  %1 = mx.tanh %0 : (tensor<*xf32>) -> tensor<*xf32>
  %2 = mx.dense %1, %b {units = 2 : i64} : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  mx.minimize %2 : tensor<*xf32>
  mx.output "y", %2 : tensor<*xf32>
  mx.optimizer "momentum" {lr = 0.1}
}

//--- no_loss.mlir
// TRAIN: error: the model has no minimize(loss): there is nothing to train
// What the trainer could not read is no matter to a library.
// CHECK-NOT: warning
// CHECK: func.func @infer
// CHECK-NOT: func.func @train
module @m {
  %x = mx.input "x" : tensor<4x3xf32>
  %0 = mx.tanh %x : (tensor<4x3xf32>) -> tensor<4x3xf32>
  mx.output "y", %0 : tensor<4x3xf32>
}

//--- no_output.mlir
// CHECK: error: the model has no output(name, value): a library would have nothing to compute
module @m {
  %x = mx.input "x" : tensor<4x3xf32, #mx.enc<batch = 0>>
  %w = mx.parameter "w" {init = "xavier"} : tensor<*xf32>
  %0 = mx.dense %x, %w {units = 3 : i64} : (tensor<4x3xf32, #mx.enc<batch = 0>>, tensor<*xf32>) -> tensor<*xf32>
  mx.minimize %0 : tensor<*xf32>
  mx.optimizer "sgd" {lr = 0.1}
}

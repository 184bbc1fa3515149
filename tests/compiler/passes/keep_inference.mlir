// RUN: split-file %s %t
// RUN: mxc-opt --library --pass=keep-inference %t/functions.mlir | FileCheck %t/functions.mlir
// RUN: mxc-opt --pass=keep-inference %t/functions.mlir | FileCheck %t/functions.mlir --check-prefix=PROGRAM
// RUN: mxc-opt --library --pass=all %t/model.mlir | FileCheck %t/model.mlir
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

//--- no_loss.mlir
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

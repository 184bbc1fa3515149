// RUN: split-file %s %t
// RUN: mxc-opt --pass=infer-shapes,find-unused %t/unused.mlir 2>&1 | FileCheck %t/unused.mlir
// RUN: mxc-opt --pass=infer-shapes,find-unused %t/untrained.mlir 2>&1 | FileCheck %t/untrained.mlir
// RUN: mxc-opt --pass=infer-shapes,find-unused %t/frozen.mlir 2>&1 | FileCheck %t/frozen.mlir
// RUN: mxc-opt --pass=infer-shapes,find-unused %t/optimised_input.mlir 2>&1 | FileCheck %t/optimised_input.mlir
// RUN: mxc-opt --pass=infer-shapes,find-unused --own-main %t/optimised_input.mlir 2>&1 | FileCheck %t/optimised_input.mlir --check-prefix=MAIN
// RUN: not mxc-opt --pass=infer-shapes,find-unused %t/integers.mlir 2>&1 | FileCheck %t/integers.mlir

//--- unused.mlir
// An input, a chain with its parameter, a parameter alone: told once each, then gone. The parameter that both chains read stays.
// CHECK: warning: input 'z' is not used
// CHECK: warning: parameter alone is not used and left out
// CHECK: warning: the result of this tanh is not used: it is left out, and so are its parameters v
// CHECK-NOT: warning
// CHECK: mx.input "x"
// CHECK-NEXT: mx.parameter "w"
// CHECK-NEXT: mx.dense
// CHECK-NEXT: mx.minimize
// CHECK-NEXT: mx.optimizer
module @m {
  %x = mx.input "x" : tensor<4x3xf32, #mx.enc<batch = 0>>
  %z = mx.input "z" : tensor<4x3xf32, #mx.enc<batch = 0>>
  %a = mx.parameter "alone" {init = "zeros"} : tensor<3xf32>
  %w = mx.parameter "w" {init = "zeros"} : tensor<*xf32>
  %v = mx.parameter "v" {init = "zeros"} : tensor<*xf32>
  %0 = mx.dense %x, %w {units = 3 : i64} : (tensor<4x3xf32, #mx.enc<batch = 0>>, tensor<*xf32>) -> tensor<*xf32>
  %1 = mx.dense %0, %v {units = 3 : i64} : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  %2 = mx.tanh %1 : (tensor<*xf32>) -> tensor<*xf32>
  mx.minimize %0 : tensor<*xf32>
  mx.optimizer "sgd" {lr = 0.1}
}

//--- untrained.mlir
// An output and a report whose parameters no loss reaches; they stay.
// CHECK: warning: report 'size' depends on parameters that no loss trains: a
// CHECK: note: a is made here
// CHECK: warning: output 'y' depends on parameters that no loss trains: a, b, c, d and 1 more
// CHECK: note: a is made here
// CHECK: mx.parameter "e"
module @m {
  %x = mx.input "x" : tensor<4x3xf32, #mx.enc<batch = 0>>
  %w = mx.parameter "w" {init = "zeros"} : tensor<3xf32>
  %a = mx.parameter "a" {init = "zeros"} : tensor<3xf32>
  %b = mx.parameter "b" {init = "zeros"} : tensor<3xf32>
  %c = mx.parameter "c" {init = "zeros"} : tensor<3xf32>
  %d = mx.parameter "d" {init = "zeros"} : tensor<3xf32>
  %e = mx.parameter "e" {init = "zeros"} : tensor<3xf32>
  %0 = mx.mul %x, %w : (tensor<4x3xf32, #mx.enc<batch = 0>>, tensor<3xf32>) -> tensor<*xf32>
  %1 = mx.mul %0, %a : (tensor<*xf32>, tensor<3xf32>) -> tensor<*xf32>
  %2 = mx.mul %1, %b : (tensor<*xf32>, tensor<3xf32>) -> tensor<*xf32>
  %3 = mx.mul %2, %c : (tensor<*xf32>, tensor<3xf32>) -> tensor<*xf32>
  %4 = mx.mul %3, %d : (tensor<*xf32>, tensor<3xf32>) -> tensor<*xf32>
  %5 = mx.mul %4, %e : (tensor<*xf32>, tensor<3xf32>) -> tensor<*xf32>
  mx.minimize %0 : tensor<*xf32>
  mx.report "size", %1 : tensor<*xf32>
  mx.output "y", %5 : tensor<*xf32>
  mx.optimizer "sgd" {lr = 0.1}
}

//--- frozen.mlir
// What the user froze is not reported as untrained; a loss without anything to train is.
// CHECK: warning: the loss depends on no parameter that could be trained
// CHECK-NOT: warning
module @m {
  %x = mx.input "x" : tensor<4x3xf32, #mx.enc<batch = 0>>
  %w = mx.parameter "w" {init = "zeros", trainable = false} : tensor<3xf32>
  %0 = mx.mul %x, %w : (tensor<4x3xf32, #mx.enc<batch = 0>>, tensor<3xf32>) -> tensor<*xf32>
  mx.minimize %0 : tensor<*xf32>
  mx.output "y", %0 : tensor<*xf32>
  mx.optimizer "sgd" {lr = 0.1}
}

//--- optimised_input.mlir
// A main has a use for the gradient of an input; a trainer has none.
// CHECK: warning: the loss depends on no parameter that could be trained
// CHECK-NOT: warning
// MAIN-NOT: warning
module @m {
  %x = mx.input "x" {mx.gradient} : tensor<4x3xf32, #mx.enc<batch = 0>>
  %0 = mx.square %x : (tensor<4x3xf32, #mx.enc<batch = 0>>) -> tensor<*xf32>
  mx.minimize %0 : tensor<*xf32>
  mx.optimizer "sgd" {lr = 0.1}
}

//--- integers.mlir
// CHECK: 'mx.minimize' op expects a floating-point loss, got 'i32'
// CHECK: note: the loss comes from here
module @m {
  %x = mx.input "x" : tensor<4x3xi32, #mx.enc<batch = 0>>
  mx.minimize %x : tensor<4x3xi32, #mx.enc<batch = 0>>
  mx.optimizer "sgd" {lr = 0.1}
}

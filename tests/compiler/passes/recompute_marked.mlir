// RUN: split-file %s %t
// RUN: mxc-opt --pass=all %t/one.mlir | FileCheck %t/one.mlir
// RUN: mxc-opt --pass=all %t/part.mlir | FileCheck %t/part.mlir
// RUN: mxc-opt --pass=all %t/two.mlir | FileCheck %t/two.mlir
// RUN: mxc-opt --pass=all --disable=recompute %t/one.mlir | FileCheck %t/part.mlir

//--- one.mlir
// The second layer is marked: it runs again in backward, before the third weight's gradient is made, from the first layer's result.
// CHECK-LABEL: func.func @train
// CHECK: %[[H1:[0-9]+]] = mx.kernel(%arg0, %arg1) {{.*}}{
// CHECK: mx.tanh
// CHECK: mx.kernel(%[[H1]], %arg2) {{.*}}{
// CHECK: mx.tanh
// CHECK: mx.tanh
// CHECK: %[[AGAIN:[0-9]+]] = mx.kernel(%[[H1]], %arg2) {{.*}}{
// CHECK: mx.tanh
// CHECK: mx.kernel({{.*}}%[[AGAIN]]
// CHECK-NOT: mx.tanh
// CHECK-LABEL: func.func @eval
// CHECK-COUNT-3: mx.tanh
// CHECK-NOT: mx.tanh
!t = tensor<64x16xf32, #mx.enc<batch = 0>>
!w = tensor<16x16xf32>
module @m {
  %h0 = mx.input "x" : !t
  %w0 = mx.parameter "w0" {init = "xavier"} : !w
  %d0 = mx.dense %h0, %w0 {units = 16 : i64} : (!t, !w) -> !t
  %h1 = mx.tanh %d0 : (!t) -> !t
  %w1 = mx.parameter "w1" {init = "xavier"} : !w
  %d1 = mx.dense %h1, %w1 {units = 16 : i64} : (!t, !w) -> !t loc("d1"(fused<0 : i64>["m.cpp":1:1]))
  %h2 = mx.tanh %d1 : (!t) -> !t loc("h1"(fused<0 : i64>["m.cpp":1:1]))
  %w2 = mx.parameter "w2" {init = "xavier"} : !w
  %d2 = mx.dense %h2, %w2 {units = 16 : i64} : (!t, !w) -> !t
  %h3 = mx.tanh %d2 : (!t) -> !t
  mx.minimize %h3 : !t
  mx.optimizer "sgd" {lr = 0.1}
}

//--- part.mlir
// tanh is marked, but it shares a kernel with a product that is not: nothing runs again.
// CHECK-LABEL: func.func @train
// CHECK-COUNT-3: mx.tanh
// CHECK-NOT: mx.tanh
// CHECK-LABEL: func.func @eval
!t = tensor<64x16xf32, #mx.enc<batch = 0>>
!w = tensor<16x16xf32>
module @m {
  %h0 = mx.input "x" : !t
  %w0 = mx.parameter "w0" {init = "xavier"} : !w
  %d0 = mx.dense %h0, %w0 {units = 16 : i64} : (!t, !w) -> !t
  %h1 = mx.tanh %d0 : (!t) -> !t
  %w1 = mx.parameter "w1" {init = "xavier"} : !w
  %d1 = mx.dense %h1, %w1 {units = 16 : i64} : (!t, !w) -> !t
  %h2 = mx.tanh %d1 : (!t) -> !t loc("h1"(fused<0 : i64>["m.cpp":1:1]))
  %w2 = mx.parameter "w2" {init = "xavier"} : !w
  %d2 = mx.dense %h2, %w2 {units = 16 : i64} : (!t, !w) -> !t
  %h3 = mx.tanh %d2 : (!t) -> !t
  mx.minimize %h3 : !t
  mx.optimizer "sgd" {lr = 0.1}
}

//--- two.mlir
// What one scope hands to another is kept: of the two layers only the second runs again.
// CHECK-LABEL: func.func @train
// CHECK: %[[H1:[0-9]+]] = mx.kernel(%arg0, %arg1) {{.*}}{
// CHECK-COUNT-3: mx.tanh
// CHECK: mx.kernel(%[[H1]], %arg2) {{.*}}{
// CHECK: mx.tanh
// CHECK-NOT: mx.tanh
// CHECK-LABEL: func.func @eval
!t = tensor<64x16xf32, #mx.enc<batch = 0>>
!w = tensor<16x16xf32>
module @m {
  %h0 = mx.input "x" : !t
  %w0 = mx.parameter "w0" {init = "xavier"} : !w
  %d0 = mx.dense %h0, %w0 {units = 16 : i64} : (!t, !w) -> !t loc("d0"(fused<0 : i64>["m.cpp":1:1]))
  %h1 = mx.tanh %d0 : (!t) -> !t loc("h0"(fused<0 : i64>["m.cpp":1:1]))
  %w1 = mx.parameter "w1" {init = "xavier"} : !w
  %d1 = mx.dense %h1, %w1 {units = 16 : i64} : (!t, !w) -> !t loc("d1"(fused<1 : i64>["m.cpp":1:1]))
  %h2 = mx.tanh %d1 : (!t) -> !t loc("h1"(fused<1 : i64>["m.cpp":1:1]))
  %w2 = mx.parameter "w2" {init = "xavier"} : !w
  %d2 = mx.dense %h2, %w2 {units = 16 : i64} : (!t, !w) -> !t
  %h3 = mx.tanh %d2 : (!t) -> !t
  mx.minimize %h3 : !t
  mx.optimizer "sgd" {lr = 0.1}
}

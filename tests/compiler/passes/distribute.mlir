// RUN: split-file %s %t
// RUN: mxc-opt --by-shards --pass=all %t/parts.mlir | FileCheck %t/parts.mlir
// RUN: mxc-opt --by-shards --pass=all %t/whole.mlir | FileCheck %t/whole.mlir
// RUN: mxc-opt --pass=all %t/parts.mlir | FileCheck %t/parts.mlir --check-prefix=ALONE

//--- parts.mlir
// Keys go in the order in which forward reads them, which is not that of the model's declarations: "late" comes first there, and last here. Backward makes
// their gradients the other way round. State of a layer comes behind all of them. Training without shards exchanges nothing, and so do updates.
// CHECK-LABEL: func.func @gradients
// CHECK-SAME: %[[LATE:arg[0-9]+]]: tensor<8x8xf64{{[^{]*}}{mx.name = "late", mx.role = "parameter"}
// CHECK: mx.pull "early", %{{.*}} {bytes = 96 : i64, priority = 0 : i64} : tensor<8x3xf32
// CHECK-NEXT: mx.kernel
// CHECK: mx.pull "gamma"{{.*}}bytes = 32 : i64, priority = -1 : i64
// CHECK: mx.pull "late", %[[LATE]] {bytes = 512 : i64, priority = -3 : i64} : tensor<8x8xf64
// CHECK-NEXT: mx.kernel
// CHECK: mx.push "late", %{{.*}} {bytes = 512 : i64, priority = -3 : i64} : tensor<8x8xf64
// CHECK: mx.push "early", %{{.*}} {bytes = 96 : i64, priority = 0 : i64}
// CHECK: return
// CHECK-LABEL: func.func @update(
// CHECK-NOT: mx.pull
// CHECK-NOT: mx.push
// ALONE-NOT: mx.pull
// ALONE-NOT: mx.push
module @m {
  %x = mx.input "x" : tensor<4x3xf32, #mx.enc<batch = 0>>
  %late = mx.parameter "late" {init = "xavier"} : tensor<*xf64>
  %early = mx.parameter "early" {init = "xavier"} : tensor<*xf32>
  %gamma = mx.parameter "gamma" {init = "ones"} : tensor<*xf32>
  %beta = mx.parameter "beta" {init = "zeros"} : tensor<*xf32>
  %mean = mx.parameter "mean" {init = "zeros", trainable = false} : tensor<*xf32>
  %variance = mx.parameter "variance" {init = "ones", trainable = false} : tensor<*xf32>
  %0 = mx.dense %x, %early {units = 8 : i64} : (tensor<4x3xf32, #mx.enc<batch = 0>>, tensor<*xf32>) -> tensor<*xf32>
  %1 = mx.batch_norm %0, %gamma, %beta, %mean, %variance : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  %2 = mx.cast %1 {to = f64} : (tensor<*xf32>) -> tensor<*xf64>
  %3 = mx.dense %2, %late {units = 8 : i64} : (tensor<*xf64>, tensor<*xf64>) -> tensor<*xf64>
  mx.minimize %3 : tensor<*xf64>
  mx.optimizer "sgd" {lr = 0.1}
}

//--- whole.mlir
// An update of whole parameters reads sums of gradients: it is those that come back.
// CHECK-LABEL: func.func @gradients
// CHECK-NOT: mx.pull
// CHECK: mx.push "w", %{{.*}} {bytes = 36 : i64, priority = 0 : i64}
// CHECK-LABEL: func.func @update_whole(
// CHECK: mx.pull "w", %{{.*}} {bytes = 36 : i64, priority = 0 : i64}
// CHECK-NEXT: mx.kernel
module @m {
  %x = mx.input "x" : tensor<4x3xf32, #mx.enc<batch = 0>>
  %w = mx.parameter "w" {init = "xavier"} : tensor<*xf32>
  %0 = mx.dense %x, %w {units = 3 : i64} : (tensor<4x3xf32, #mx.enc<batch = 0>>, tensor<*xf32>) -> tensor<*xf32>
  mx.minimize %0 : tensor<*xf32>
  mx.optimizer "lamb" {lr = 0.1}
}

// What a model becomes in the mx dialect, with locations; --dtype and --optimizer.
// RUN: mxc compile %s --emit=mlir | FileCheck %s
// RUN: mxc compile %s --emit=mlir --dtype=f64 --optimizer=adam | FileCheck %s --check-prefix=F64
// RUN: mxc compile %s --emit=mlir --optimizer=lamb:lr=0.5,clip_norm=2 | FileCheck %s --check-prefix=LAMB
// RUN: mxc compile %s --emit=graph -o %t.json && mxc compile %t.json --emit=mlir | FileCheck %s
#include <mxc/mxc.h>
using namespace mxc;

// CHECK: module @net
MXC_MODEL(net) {
  // CHECK: %[[X:.*]] = mx.input "x" : tensor<8x3xf32, #mx.enc<batch = 0>>
  // F64: %[[X:.*]] = mx.input "x" : tensor<8x3xf64, #mx.enc<batch = 0>>
  Symbol x = input("x", {batch(8), 3});
  // CHECK: %[[L:.*]] = mx.input "label" : tensor<8xi32, #mx.enc<batch = 0>>
  // F64: mx.input "label" : tensor<8xi32, #mx.enc<batch = 0>>
  Symbol label = input("label", {batch(8)}, i32);
  // CHECK: %[[W:.*]] = mx.parameter "w" {init = "uniform", init_args = array<f64: -1.0{{.*}}, 1.0{{.*}}>, lr_mult = 2.0{{.*}}} : tensor<4x3xf32>
  Symbol w = parameter("w", {4, 3}, {.init = uniform(-1, 1), .lr_mult = 2});
  // CHECK: %[[B:.*]] = mx.parameter "fc.bias" {init = "zeros", {{.*}}trainable = false} : tensor<*xf32>
  // CHECK: %[[Y:.*]] = mx.dense %[[X]], %[[W]], %[[B]] {units = 4 : i64} : ({{.*}}) -> tensor<*xf32>
  Symbol y = dense(x, {.units = 4, .weight = w, .bias = Param{.gradient = GradientRequest::none}, .name = "fc"});
  // CHECK: %[[C:.*]] = mx.constant {{.*}}{element = f32, value = 5.0{{.*}}} : () -> tensor<f32>
  // F64: mx.constant {{.*}}element = f64
  // CHECK: mx.mul %[[C]], %[[Y]]
  y = 0.5 * y;
  // CHECK: mx.minimize
  minimize(softmax_cross_entropy(y, label));
  // CHECK: mx.report "accuracy"
  report("accuracy", accuracy(y, label));
  // CHECK: mx.output "y"
  output("y", y);
  // CHECK: mx.optimizer "sgd" {{.*}}lr = 1.0{{.*}}e-01 : f64, momentum = 9.0{{.*}}e-01 : f64, nesterov = 1.0{{.*}}
  // F64: mx.optimizer "adam" {}
  // LAMB: mx.optimizer "lamb" {clip_norm = 2.0{{.*}} : f64, lr = 5.0{{.*}}e-01 : f64}
  optimizer(sgd{.lr = 0.1, .momentum = 0.9, .nesterov = true});
}

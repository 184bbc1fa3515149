// RUN: split-file %s %t
// RUN: mxc-opt --pass=infer-shapes %t/good.mlir | FileCheck %t/good.mlir
// RUN: not mxc-opt --pass=infer-shapes %t/rank.mlir 2>&1 | FileCheck %t/rank.mlir
// RUN: not mxc-opt --pass=infer-shapes %t/shared.mlir 2>&1 | FileCheck %t/shared.mlir
// RUN: not mxc-opt --pass=infer-shapes %t/kernel.mlir 2>&1 | FileCheck %t/kernel.mlir
// RUN: not mxc-opt --pass=infer-shapes %t/huge_input.mlir 2>&1 | FileCheck %t/huge_input.mlir
// RUN: not mxc-opt --pass=infer-shapes %t/huge_result.mlir 2>&1 | FileCheck %t/huge_result.mlir
// RUN: not mxc-opt --pass=infer-shapes %t/huge_attribute.mlir 2>&1 | FileCheck %t/huge_attribute.mlir
// RUN: not mxc-opt --pass=infer-shapes %t/axes.mlir 2>&1 | FileCheck %t/axes.mlir

//--- good.mlir
// Shapes flow from the input, parameters get theirs from their user, the batch axis stays typed.
// CHECK: mx.parameter "w" {{.*}} : tensor<10x6xf32>
// CHECK: mx.flatten {{.*}} -> tensor<4x6xf32, #mx.enc<batch = 0>>
// CHECK: mx.dense {{.*}} -> tensor<4x10xf32, #mx.enc<batch = 0>>
module @m {
  %x = mx.input "x" : tensor<4x2x3xf32, #mx.enc<batch = 0>>
  %w = mx.parameter "w" {init = "zeros"} : tensor<*xf32>
  %0 = mx.flatten %x : (tensor<4x2x3xf32, #mx.enc<batch = 0>>) -> tensor<*xf32>
  %1 = mx.dense %0, %w {units = 10 : i64} : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
}

//--- rank.mlir
// CHECK: dense' op expects a 2-D input, got 4x2x3
module @m {
  %x = mx.input "x" : tensor<4x2x3xf32, #mx.enc<batch = 0>>
  %w = mx.parameter "w" {init = "zeros"} : tensor<*xf32>
  %1 = mx.dense %x, %w {units = 10 : i64} : (tensor<4x2x3xf32, #mx.enc<batch = 0>>, tensor<*xf32>) -> tensor<*xf32>
}

//--- shared.mlir
// CHECK: needs a parameter of shape 10x10, but parameter w is 10x6
module @m {
  %x = mx.input "x" : tensor<4x6xf32, #mx.enc<batch = 0>>
  %w = mx.parameter "w" {init = "zeros"} : tensor<*xf32>
  %0 = mx.dense %x, %w {units = 10 : i64} : (tensor<4x6xf32, #mx.enc<batch = 0>>, tensor<*xf32>) -> tensor<*xf32>
  %1 = mx.dense %0, %w {units = 10 : i64} : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
}

//--- kernel.mlir
// CHECK: kernel of 5 (dilated) is larger than the padded input of 4
// CHECK: the height 4 of 4x1x4x4 comes from here
module @m {
  %x = mx.input "x" : tensor<4x1x4x4xf32, #mx.enc<batch = 0>>
  %w = mx.parameter "w" {init = "zeros"} : tensor<*xf32>
  %0 = mx.conv2d %x, %w {filters = 2 : i64, kernel = array<i64: 5, 5>} : (tensor<4x1x4x4xf32, #mx.enc<batch = 0>>, tensor<*xf32>) -> tensor<*xf32>
}

//--- huge_input.mlir
// CHECK: input' op is a tensor of 4294967296x4294967296: at most 2^40 elements are possible
module @m {
  %x = mx.input "x" : tensor<4294967296x4294967296xf32>
}

//--- huge_result.mlir
// CHECK: add' op makes a tensor of 2000000x2000000: at most 2^40 elements are possible
module @m {
  %x = mx.input "x" : tensor<2000000x1xf32>
  %y = mx.input "y" : tensor<1x2000000xf32>
  %0 = mx.add %x, %y : (tensor<2000000x1xf32>, tensor<1x2000000xf32>) -> tensor<*xf32>
}

//--- huge_attribute.mlir
// CHECK: dense' op units is out of range: 9223372036854775807
module @m {
  %x = mx.input "x" : tensor<4x6xf32, #mx.enc<batch = 0>>
  %w = mx.parameter "w" {init = "zeros"} : tensor<*xf32>
  %0 = mx.dense %x, %w {units = 9223372036854775807 : i64} : (tensor<4x6xf32, #mx.enc<batch = 0>>, tensor<*xf32>) -> tensor<*xf32>
}

//--- axes.mlir
// CHECK: expand_dims' op makes a tensor of 9 axes: at most 8 are possible
module @m {
  %x = mx.input "x" : tensor<1x1x1x1x1x1x1x1xf32>
  %0 = mx.expand_dims %x {axis = 0 : i64} : (tensor<1x1x1x1x1x1x1x1xf32>) -> tensor<*xf32>
}

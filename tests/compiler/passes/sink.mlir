// RUN: mxc-opt --pass=sink %s | FileCheck %s
!x = tensor<4x16x8x8xf32, #mx.enc<batch = 0>>
!p = tensor<4x16x4x4xf32, #mx.enc<batch = 0>>
!i = tensor<4x16x4x4xi8, #mx.enc<batch = 0>>
!c = tensor<4x32x8x8xf32, #mx.enc<batch = 0>>
!d = tensor<4x32x4x4xf32, #mx.enc<batch = 0>>
!j = tensor<4x32x4x4xi8, #mx.enc<batch = 0>>

// CHECK: [[X:%.*]] = mx.input "x"
// CHECK: [[Y:%.*]] = mx.input "y"
%x = mx.input "x" : !x
%y = mx.input "y" : !x

// Behind a pool.
// CHECK-NEXT: [[P:%.*]], %{{.*}} = mx.max_pool [[X]]
// CHECK-NEXT: [[R:%.*]] = mx.relu [[P]]
// CHECK-NEXT: mx.output "pool", [[R]]
%0 = mx.relu %x : (!x) -> !x
%1, %2 = mx.max_pool %0 {kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>} : (!x) -> (!p, !i)
mx.output "pool", %1 : !p

// Behind a concat, and then behind a pool.
// CHECK-NEXT: [[C:%.*]] = mx.concat [[X]], [[Y]]
// CHECK-NEXT: [[P:%.*]], %{{.*}} = mx.max_pool [[C]]
// CHECK-NEXT: [[R:%.*]] = mx.relu [[P]]
// CHECK-NEXT: mx.output "concat", [[R]]
%10 = mx.relu %x : (!x) -> !x
%11 = mx.relu %y : (!x) -> !x
%12 = mx.concat %10, %11 : (!x, !x) -> !c
%13, %14 = mx.max_pool %12 {kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>} : (!c) -> (!d, !j)
mx.output "concat", %13 : !d

// tanh may round two numbers to one, and then the pool would take another: not behind the pool. A concat takes all.
// CHECK-NEXT: [[T:%.*]] = mx.tanh [[X]]
// CHECK-NEXT: [[P:%.*]], %{{.*}} = mx.max_pool [[T]]
// CHECK-NEXT: mx.output "tanh", [[P]]
// CHECK-NEXT: [[C:%.*]] = mx.concat [[X]], [[Y]]
// CHECK-NEXT: [[T:%.*]] = mx.tanh [[C]]
// CHECK-NEXT: mx.output "both", [[T]]
%20 = mx.tanh %x : (!x) -> !x
%21, %22 = mx.max_pool %20 {kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>} : (!x) -> (!p, !i)
mx.output "tanh", %21 : !p
%23 = mx.tanh %x : (!x) -> !x
%24 = mx.tanh %y : (!x) -> !x
%25 = mx.concat %23, %24 : (!x, !x) -> !c
mx.output "both", %25 : !c

// Somebody else reads it.
// CHECK-NEXT: [[R:%.*]] = mx.relu [[X]]
// CHECK-NEXT: mx.max_pool [[R]]
// CHECK-NEXT: mx.output "pooled"
// CHECK-NEXT: mx.output "read", [[R]]
%30 = mx.relu %x : (!x) -> !x
%31, %32 = mx.max_pool %30 {kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>} : (!x) -> (!p, !i)
mx.output "pooled", %31 : !p
mx.output "read", %30 : !x

// Other attributes on the other operand; nothing done to the other operand.
// CHECK-NEXT: mx.leaky_relu
// CHECK-NEXT: mx.leaky_relu
// CHECK-NEXT: mx.concat
// CHECK-NEXT: mx.output "slopes"
// CHECK-NEXT: mx.relu
// CHECK-NEXT: mx.concat
// CHECK-NEXT: mx.output "one"
%40 = mx.leaky_relu %x {slope = 1.0e-01 : f64} : (!x) -> !x
%41 = mx.leaky_relu %y {slope = 2.0e-01 : f64} : (!x) -> !x
%42 = mx.concat %40, %41 : (!x, !x) -> !c
mx.output "slopes", %42 : !c
%43 = mx.relu %x : (!x) -> !x
%44 = mx.concat %43, %y : (!x, !x) -> !c
mx.output "one", %44 : !c

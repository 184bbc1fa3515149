// Plans that are wrong in one way each.
// RUN: split-file %s %t
// RUN: mxc-opt --pass=verify-memory %t/right.mlir
// RUN: not mxc-opt --pass=verify-memory %t/overwritten.mlir 2>&1 | FileCheck %s --check-prefix=OVERWRITTEN
// RUN: not mxc-opt --pass=verify-memory %t/siblings.mlir 2>&1 | FileCheck %s --check-prefix=SIBLINGS
// RUN: not mxc-opt --pass=verify-memory %t/partly.mlir 2>&1 | FileCheck %s --check-prefix=PARTLY
// RUN: not mxc-opt --pass=verify-memory %t/while_read.mlir 2>&1 | FileCheck %s --check-prefix=WHILE
// RUN: not mxc-opt --pass=verify-memory %t/outside.mlir 2>&1 | FileCheck %s --check-prefix=OUTSIDE
// RUN: not mxc-opt --pass=verify-memory %t/elsewhere.mlir 2>&1 | FileCheck %s --check-prefix=ELSEWHERE
// RUN: not mxc-opt --pass=verify-memory %t/lost.mlir 2>&1 | FileCheck %s --check-prefix=LOST
// RUN: not mxc-opt --pass=verify-memory %t/unplanned.mlir 2>&1 | FileCheck %s --check-prefix=UNPLANNED

// relu is in place.
//--- right.mlir
func.func @right(%x: tensor<16xf32>) -> tensor<16xf32> attributes {mx.arena_bytes = 128 : i64} {
  %0 = mx.kernel(%x) attributes {mx.places = [#mx.place<"arena", 0>]} : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%a: tensor<16xf32>):
    %1 = mx.neg %a : (tensor<16xf32>) -> tensor<16xf32>
    mx.yield %1 : tensor<16xf32>
  }
  %2 = mx.kernel(%0) attributes {mx.places = [#mx.place<"arena", 0>]} : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%a: tensor<16xf32>):
    %1 = mx.relu %a : (tensor<16xf32>) -> tensor<16xf32>
    mx.yield %1 : tensor<16xf32>
  }
  %3 = mx.kernel(%2) attributes {mx.places = [#mx.place<"result", 0>]} : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%a: tensor<16xf32>):
    %1 = mx.neg %a : (tensor<16xf32>) -> tensor<16xf32>
    mx.yield %1 : tensor<16xf32>
  }
  return %3 : tensor<16xf32>
}

// OVERWRITTEN: error: reads an operand that has been overwritten
//--- overwritten.mlir
func.func @overwritten(%x: tensor<16xf32>) -> tensor<4x4xf32> attributes {mx.arena_bytes = 128 : i64} {
  %0 = mx.kernel(%x) attributes {mx.places = [#mx.place<"arena", 0>]} : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%a: tensor<16xf32>):
    %1 = mx.neg %a : (tensor<16xf32>) -> tensor<16xf32>
    mx.yield %1 : tensor<16xf32>
  }
  %2 = mx.kernel(%x) attributes {mx.places = [#mx.place<"arena", 32>]} : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%a: tensor<16xf32>):
    %1 = mx.relu %a : (tensor<16xf32>) -> tensor<16xf32>
    mx.yield %1 : tensor<16xf32>
  }
  %v = mx.reshape %0 {shape = array<i64: 4, 4>} : (tensor<16xf32>) -> tensor<4x4xf32>
  %3 = mx.kernel(%v) attributes {mx.places = [#mx.place<"result", 0>]} : (tensor<4x4xf32>) -> tensor<4x4xf32> {
  ^bb0(%a: tensor<4x4xf32>):
    %1 = mx.reduce_sum %a {axes = array<i64: 0>} : (tensor<4x4xf32>) -> tensor<4xf32>
    %b = mx.broadcast %1 {to = tensor<4x4xf32>} : (tensor<4xf32>) -> tensor<4x4xf32>
    mx.yield %b : tensor<4x4xf32>
  }
  return %3 : tensor<4x4xf32>
}

// SIBLINGS: error: result 1 overlaps another result
//--- siblings.mlir
func.func @siblings(%x: tensor<16xf32>) attributes {mx.arena_bytes = 128 : i64} {
  %0:2 = mx.kernel(%x) attributes {mx.places = [#mx.place<"arena", 0>, #mx.place<"arena", 32>]} : (tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>) {
  ^bb0(%a: tensor<16xf32>):
    %1 = mx.neg %a : (tensor<16xf32>) -> tensor<16xf32>
    %2 = mx.exp %a : (tensor<16xf32>) -> tensor<16xf32>
    mx.yield %1, %2 : tensor<16xf32>, tensor<16xf32>
  }
  return
}

// PARTLY: error: result 0 overlaps part of operand 0
//--- partly.mlir
func.func @partly(%x: tensor<16xf32>) attributes {mx.arena_bytes = 128 : i64} {
  %0 = mx.kernel(%x) attributes {mx.places = [#mx.place<"arena", 0>]} : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%a: tensor<16xf32>):
    %1 = mx.neg %a : (tensor<16xf32>) -> tensor<16xf32>
    mx.yield %1 : tensor<16xf32>
  }
  %2 = mx.kernel(%0) attributes {mx.places = [#mx.place<"arena", 32>]} : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%a: tensor<16xf32>):
    %1 = mx.relu %a : (tensor<16xf32>) -> tensor<16xf32>
    mx.yield %1 : tensor<16xf32>
  }
  return
}

// A product reads whole rows.
// WHILE: error: result 0 overwrites operand 0 while it is read
//--- while_read.mlir
func.func @while_read(%x: tensor<4x4xf32>) attributes {mx.arena_bytes = 128 : i64} {
  %0 = mx.kernel(%x) attributes {mx.places = [#mx.place<"arena", 0>]} : (tensor<4x4xf32>) -> tensor<4x4xf32> {
  ^bb0(%a: tensor<4x4xf32>):
    %1 = mx.neg %a : (tensor<4x4xf32>) -> tensor<4x4xf32>
    mx.yield %1 : tensor<4x4xf32>
  }
  %2 = mx.kernel(%0, %x) attributes {mx.places = [#mx.place<"arena", 0>]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> {
  ^bb0(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>):
    %3 = mx.matmul %a, %b : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    mx.yield %3 : tensor<4x4xf32>
  }
  return
}

// OUTSIDE: error: result 0 lies outside the arena
//--- outside.mlir
func.func @outside(%x: tensor<16xf32>) attributes {mx.arena_bytes = 64 : i64} {
  %0 = mx.kernel(%x) attributes {mx.places = [#mx.place<"arena", 64>]} : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%a: tensor<16xf32>):
    %1 = mx.neg %a : (tensor<16xf32>) -> tensor<16xf32>
    mx.yield %1 : tensor<16xf32>
  }
  return
}

// ELSEWHERE: error: result 0 does not lie in its memory
//--- elsewhere.mlir
func.func @elsewhere(%x: tensor<16xf32>) -> (tensor<16xf32> {mx.donates = 0 : i64}) attributes {mx.arena_bytes = 64 : i64} {
  %0 = mx.kernel(%x) attributes {mx.places = [#mx.place<"result", 0>]} : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%a: tensor<16xf32>):
    %1 = mx.neg %a : (tensor<16xf32>) -> tensor<16xf32>
    mx.yield %1 : tensor<16xf32>
  }
  return %0 : tensor<16xf32>
}

// The old value of an argument is read after the new one has been written.
// LOST: error: reads an operand that has been overwritten
//--- lost.mlir
func.func @lost(%x: tensor<16xf32>) -> (tensor<16xf32> {mx.donates = 0 : i64}, tensor<16xf32>) attributes {mx.arena_bytes = 64 : i64} {
  %0 = mx.kernel(%x) attributes {mx.places = [#mx.place<"argument", 0>]} : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%a: tensor<16xf32>):
    %1 = mx.neg %a : (tensor<16xf32>) -> tensor<16xf32>
    mx.yield %1 : tensor<16xf32>
  }
  %2 = mx.kernel(%x) attributes {mx.places = [#mx.place<"result", 1>]} : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%a: tensor<16xf32>):
    %1 = mx.exp %a : (tensor<16xf32>) -> tensor<16xf32>
    mx.yield %1 : tensor<16xf32>
  }
  return %0, %2 : tensor<16xf32>, tensor<16xf32>
}

// UNPLANNED: error: has no memory plan
//--- unplanned.mlir
func.func @unplanned(%x: tensor<16xf32>) {
  return
}

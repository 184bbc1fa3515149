// Tensors of places: tables that are looked up.
#ifndef MXC_IR_OPS_INDEX_TD
#define MXC_IR_OPS_INDEX_TD
include "ir/mx.td"

def Mx_EmbeddingOp : Mx_ComputeOp<"embedding", [DeclareOpInterfaceMethods<Mx_IndexRules>]> {
  let extraClassDeclaration = "::mxc::Reading reading(unsigned operand) { return operand == 0 ? ::mxc::Reading::once : ::mxc::Reading::often; }";
  let summary = "rows of weight [vocabulary, units] at the places that index names; result [index..., units]";
  let description = [{index: integers in [0, vocabulary). The gradient adds the rows up in the order of the index.}];
  let arguments = (ins Mx_Tensor:$index, Mx_Param:$weight, I64Attr:$vocabulary, I64Attr:$units);
  let results = (outs Mx_Tensor:$output);
  let dsl = 1;
  let dslInits = ["weight=uniform(-0.07, 0.07)"];
}
def Mx_OneHotOp : Mx_ComputeOp<"one_hot"> {
  let extraClassDeclaration = "::mxc::Reading reading(unsigned) { return ::mxc::Reading::often; }";
  let summary = "a new last axis of size depth: 1 at the place that index names, else 0; all 0 for a place outside [0, depth)";
  let arguments = (ins Mx_Tensor:$index, I64Attr:$depth, TypeAttr:$dtype);
  let results = (outs Mx_Tensor:$output);
  let dsl = 1;
}

// ---- Not in the DSL ---------------------------------------------------------------------------------------------------------
def Mx_EmbeddingGradOp : Mx_ComputeOp<"embedding_grad", [DeclareOpInterfaceMethods<Mx_IndexRules>]> {
  // Sums are scattered over the result: nothing is final before the kernel ends.
  let extraClassDeclaration = [{
    ::mxc::Reading reading(unsigned operand) { return operand == 0 ? ::mxc::Reading::once : ::mxc::Reading::often; }
    bool storesFinal(unsigned) { return false; }
  }];
  let summary = "rows of dy [index..., units] added up at the places that index names; result [vocabulary, units]";
  let arguments = (ins Mx_Tensor:$dy, Mx_Tensor:$index, I64Attr:$vocabulary);
  let results = (outs Mx_Tensor:$output);
}
#endif

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
def Mx_TakeOp : Mx_ComputeOp<"take", [DeclareOpInterfaceMethods<Mx_IndexRules>]> {
  let extraClassDeclaration = "::mxc::Reading reading(unsigned operand) { return ::mxc::Reading::often; }";
  let summary = "slices of the input along an axis, at the places that index names: index's axes stand for that axis";
  let description = [{input [a..., size, b...], index [i...]: result [a..., i..., b...]. A place outside [0, size) counts as the nearest
    inside. The gradient adds up what came from one place, in the order of the index.
    Errors: an index that is no integer; the batch as axis; the batch in both operands.}];
  let arguments = (ins Mx_Tensor:$input, Mx_Tensor:$index, DefaultValuedAttr<I64Attr, "0">:$axis);
  let results = (outs Mx_Tensor:$output);
  let dsl = 1;
}
def Mx_GatherOp : Mx_ComputeOp<"gather", [DeclareOpInterfaceMethods<Mx_IndexRules>]> {
  let extraClassDeclaration = "::mxc::Reading reading(unsigned operand) { return operand == 1 ? ::mxc::Reading::once : ::mxc::Reading::often; }";
  let summary = "one element of the input for each element of index: along an axis at the place that index names, elsewhere at its own";
  let description = [{index has input's axes and sizes but on `axis`. A place outside the axis counts as the nearest inside. The gradient
    adds up what came from one place. Errors: an index that is no integer; other sizes; the batch as axis.}];
  let arguments = (ins Mx_Tensor:$input, Mx_Tensor:$index, DefaultValuedAttr<I64Attr, "-1">:$axis);
  let results = (outs Mx_Tensor:$output);
  let dsl = 1;
}
class Mx_ArgExtreme<string mnemonic, string text> : Mx_ComputeOp<mnemonic> {
  let extraClassDeclaration = "::mxc::Reading reading(unsigned) { return ::mxc::Reading::often; }";
  let summary = text;
  let description = [{The axis disappears, or stays with size 1 if keep_dims; the result is i32. A NaN is taken before all numbers.
    No gradient. Errors: the batch as axis.}];
  let arguments = (ins Mx_Tensor:$input, DefaultValuedAttr<I64Attr, "-1">:$axis, DefaultValuedAttr<BoolAttr, "false">:$keep_dims);
  let results = (outs Mx_Tensor:$output);
  let dsl = 1;
}
def Mx_ArgMaxOp : Mx_ArgExtreme<"argmax", "the place of the largest element along an axis, the first of equals">;
def Mx_ArgMinOp : Mx_ArgExtreme<"argmin", "the place of the smallest element along an axis, the first of equals">;
def Mx_TopKOp : Mx_ComputeOp<"topk"> {
  let extraClassDeclaration = "::mxc::Reading reading(unsigned) { return ::mxc::Reading::often; }";
  let summary = "the k largest elements along an axis, the largest first, and their places (i32); of equals the first";
  let description = [{The gradient of the values goes to their places. A NaN is never among them: where there are fewer than k numbers,
    -infinity and the last place stand. Errors: k outside [1, size]; the batch as axis.}];
  let arguments = (ins Mx_Tensor:$input, I64Attr:$k, DefaultValuedAttr<I64Attr, "-1">:$axis);
  let results = (outs Mx_Tensor:$values, Mx_Tensor:$places);
  let dsl = 1;
  let dslResults = 2;
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
def Mx_TakeGradOp : Mx_ComputeOp<"take_grad", [DeclareOpInterfaceMethods<Mx_IndexRules>]> {
  // Sums are scattered over the result: nothing is final before the kernel ends.
  let extraClassDeclaration = [{
    ::mxc::Reading reading(unsigned) { return ::mxc::Reading::often; }
    bool storesFinal(unsigned) { return false; }
  }];
  let summary = "the slices of dy added up where `take` took them: axis `axis` of the result has `size` places";
  let arguments = (ins Mx_Tensor:$dy, Mx_Tensor:$index, I64Attr:$axis, I64Attr:$size);
  let results = (outs Mx_Tensor:$output);
}
def Mx_GatherGradOp : Mx_ComputeOp<"gather_grad", [DeclareOpInterfaceMethods<Mx_IndexRules>]> {
  let extraClassDeclaration = [{
    ::mxc::Reading reading(unsigned) { return ::mxc::Reading::once; }
    bool storesFinal(unsigned) { return false; }
  }];
  let summary = "the elements of dy added up where `gather` took them: axis `axis` of the result has `size` places";
  let arguments = (ins Mx_Tensor:$dy, Mx_Tensor:$index, I64Attr:$axis, I64Attr:$size);
  let results = (outs Mx_Tensor:$output);
}
#endif

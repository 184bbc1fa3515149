// Ops that give elements another place, or the same under another name.
#ifndef MXC_IR_OPS_SHAPE_TD
#define MXC_IR_OPS_SHAPE_TD
include "ir/mx.td"

class Mx_ViewOp<string mnemonic> : Mx_ComputeOp<mnemonic, [DeclareOpInterfaceMethods<Mx_ViewRules>]> {
  let extraClassDeclaration = [{
    ::mxc::PaperFacts paperFacts(::mxc::BackwardReads) { return ::mxc::PaperFacts::view((*this)->getResults()); }
  }];
}
def Mx_ReshapeOp : Mx_ViewOp<"reshape"> {
  let summary = "the same elements in row-major order under another shape; 0 keeps a size, -1 infers one";
  let arguments = (ins Mx_Tensor:$input, DenseI64ArrayAttr:$shape);
  let results = (outs Mx_Tensor:$output);
  let dsl = 1;
  let hasFolder = 1;
}
def Mx_FlattenOp : Mx_ViewOp<"flatten"> {
  let summary = "[n, a, b, ...] as [n, a*b*...]";
  let arguments = (ins Mx_Tensor:$input);
  let results = (outs Mx_Tensor:$output);
  let dsl = 1;
  let hasFolder = 1;
}
def Mx_SqueezeOp : Mx_ViewOp<"squeeze"> {
  let summary = "the input without axes of size 1; without `axes`: without all of them but the batch";
  let description = [{Errors: an axis of another size, the batch among the axes.}];
  let arguments = (ins Mx_Tensor:$input, DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$axes);
  let results = (outs Mx_Tensor:$output);
  let dsl = 1;
}
def Mx_ExpandDimsOp : Mx_ViewOp<"expand_dims"> {
  let summary = "the input with a new axis of size 1 at place `axis` of the result; negative from its end";
  let arguments = (ins Mx_Tensor:$input, I64Attr:$axis);
  let results = (outs Mx_Tensor:$output);
  let dsl = 1;
}
def Mx_TransposeOp : Mx_ComputeOp<"transpose"> {
  let extraClassDeclaration = "::mxc::Reading reading(unsigned) { return ::mxc::Reading::once; }";
  let summary = "axis i of the result is axis axes[i] of the input; without `axes`: reversed";
  let description = [{Errors: `axes` is no permutation.}];
  let arguments = (ins Mx_Tensor:$input, DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$axes);
  let results = (outs Mx_Tensor:$output);
  let dsl = 1;
  let hasFolder = 1;
}

// ---- Not in the DSL ---------------------------------------------------------------------------------------------------------
def Mx_RelayoutOp : Mx_TypedElementwiseOp<"relayout"> {
  let summary = "the same tensor in another memory layout";
  let extraClassDeclaration = "int64_t cost() { return 0; }";
  let arguments = (ins Mx_Tensor:$input, TypeAttr:$to);
  let results = (outs Mx_Tensor:$output);
  let hasFolder = 1;
}
#endif

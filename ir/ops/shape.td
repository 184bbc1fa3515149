// Ops that move or rename elements.
#ifndef MXC_IR_OPS_SHAPE_TD
#define MXC_IR_OPS_SHAPE_TD
include "ir/mx.td"

def Mx_ReshapeOp : Mx_ComputeOp<"reshape", [DeclareOpInterfaceMethods<Mx_ViewRules>]> {
  let summary = "the same elements in row-major order under another shape; 0 keeps a size, -1 infers one";
  let arguments = (ins Mx_Tensor:$input, DenseI64ArrayAttr:$shape);
  let results = (outs Mx_Tensor:$output);
  let dsl = 1;
}
def Mx_FlattenOp : Mx_ComputeOp<"flatten", [DeclareOpInterfaceMethods<Mx_ViewRules>]> {
  let summary = "[n, a, b, ...] as [n, a*b*...]";
  let arguments = (ins Mx_Tensor:$input);
  let results = (outs Mx_Tensor:$output);
  let dsl = 1;
}
def Mx_RelayoutOp : Mx_TypedElementwiseOp<"relayout"> {
  let summary = "the same tensor in another memory layout";
  let extraClassDeclaration = "int64_t cost() { return 0; }";
  let arguments = (ins Mx_Tensor:$input, TypeAttr:$to);
  let results = (outs Mx_Tensor:$output);
}
#endif

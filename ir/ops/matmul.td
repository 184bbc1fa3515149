// Matrix products: dense layers and (batched) matmul.
#ifndef MXC_IR_OPS_MATMUL_TD
#define MXC_IR_OPS_MATMUL_TD
include "ir/mx.td"

def Mx_DenseOp : Mx_ComputeOp<"dense", [DeclareOpInterfaceMethods<Mx_LayoutRules>]> {
  let summary = "a fully connected layer: input [n, k] times weight [units, k] transposed, plus bias [units]";
  let arguments = (ins Mx_Tensor:$input, Mx_Param:$weight, Optional<Mx_Param>:$bias, I64Attr:$units);
  let results = (outs Mx_Tensor:$output);
  let extraClassDeclaration = "::mxc::PaperFacts paperFacts(::mxc::BackwardReads reads);";
  let dsl = 1;
  let dslInits = ["weight=xavier", "bias=zeros"];
  let dslOptional = ["bias=true"];
}

def Mx_MatmulOp : Mx_ComputeOp<"matmul", [DeclareOpInterfaceMethods<Mx_LayoutRules>]> {
  let summary = "a [.., m, k] times b [.., k, n]; leading axes are equal or 1; either may be given transposed";
  let arguments = (ins Mx_Tensor:$a, Mx_Tensor:$b, DefaultValuedAttr<BoolAttr, "false">:$transpose_a,
    DefaultValuedAttr<BoolAttr, "false">:$transpose_b);
  let results = (outs Mx_Tensor:$output);
  let dsl = 1;
}
#endif

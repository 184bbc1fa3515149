// Running sums and products along an axis, out of one linear recurrence, whose gradient is another one.
#ifndef MXC_IR_OPS_SCAN_TD
#define MXC_IR_OPS_SCAN_TD
include "ir/mx.td"

def Mx_LinearScanOp : Mx_ComputeOp<"linear_scan"> {
  let extraClassDeclaration = "::mxc::Reading reading(unsigned) { return ::mxc::Reading::once; }";
  let summary = "s[i] = factor[i] * s[i - 1] + term[i] along an axis, from s[-1] = 0; backwards if reverse";
  let description = [{factor and term have one shape. Errors: shapes differ; the batch as axis.}];
  let arguments = (ins Mx_Tensor:$factor, Mx_Tensor:$term, DefaultValuedAttr<I64Attr, "1">:$axis,
    DefaultValuedAttr<BoolAttr, "false">:$reverse);
  let results = (outs Mx_Tensor:$output);
  let dsl = 1;
}
class Mx_Running<string mnemonic, string text> : Mx_CompositeOp<mnemonic> {
  let summary = text;
  let description = [{reverse: from the end of the axis. exclusive: without the element itself. Errors: the batch as axis.}];
  let arguments = (ins Mx_Tensor:$input, DefaultValuedAttr<I64Attr, "1">:$axis, DefaultValuedAttr<BoolAttr, "false">:$reverse,
    DefaultValuedAttr<BoolAttr, "false">:$exclusive);
  let results = (outs Mx_Tensor:$output);
  let dsl = 1;
}
def Mx_CumsumOp : Mx_Running<"cumsum", "the sum of the elements up to each one along an axis">;
def Mx_CumprodOp : Mx_Running<"cumprod", "the product of the elements up to each one along an axis; its gradient is exact at zeros too">;
#endif

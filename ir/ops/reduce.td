// Reductions over axes.
#ifndef MXC_IR_OPS_REDUCE_TD
#define MXC_IR_OPS_REDUCE_TD
include "ir/mx.td"

class Mx_Reduce<string mnemonic, string text> : Mx_ComputeOp<mnemonic> {
  let summary = text;
  let description = [{`axes`: the axes to reduce, negative from the end; empty: all. They disappear, or stay with size 1 if
    keep_dims. A batch axis is reduced over the n samples of the run.}];
  let arguments = (ins Mx_Tensor:$input, DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$axes,
    DefaultValuedAttr<BoolAttr, "false">:$keep_dims);
  let results = (outs Mx_Tensor:$output);
  let extraClassDeclaration = "::mxc::Reading reading(unsigned) { return ::mxc::Reading::once; }";
  let dsl = 1;
}
def Mx_ReduceSumOp : Mx_Reduce<"reduce_sum", "the sum over axes"> { let dslName = "sum"; }
def Mx_ReduceMeanOp : Mx_Reduce<"reduce_mean", "the mean over axes"> { let dslName = "mean"; }
def Mx_ReduceMaxOp : Mx_Reduce<"reduce_max", "the largest element over axes; its gradient is spread evenly over ties"> { let dslName = "reduce_max"; }
def Mx_ReduceMinOp : Mx_Reduce<"reduce_min", "the smallest element over axes; its gradient is spread evenly over ties"> { let dslName = "reduce_min"; }

def Mx_ReduceProdOp : Mx_Reduce<"reduce_prod", "the product over axes; its gradient is exact at zeros too"> {
  let dslName = "prod";
  let description = [{As for `sum`. Errors: the batch among the axes.}];
}
def Mx_NormOp : Mx_Reduce<"norm", "the Euclidean length over axes, the root of the sum of squares; gradient 0 where it is 0">;
#endif

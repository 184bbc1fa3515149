// Random numbers (ir/philox.h) and dropout.
#ifndef MXC_IR_OPS_RANDOM_TD
#define MXC_IR_OPS_RANDOM_TD
include "ir/mx.td"

// `seed`, `step`: rank-0 i64; without a step: initial values. `stream` tells the users of one seed apart. `to`: the result's type.
def Mx_RandomUniformOp : Mx_ComputeOp<"random_uniform"> {
  let extraClassDeclaration = "::mxc::Reading reading(unsigned) { return ::mxc::Reading::once; }";
  let summary = "uniform in [low, high)";
  let arguments = (ins Mx_Tensor:$seed, Optional<Mx_Tensor>:$step, I64Attr:$stream, F64Attr:$low, F64Attr:$high, TypeAttr:$to);
  let results = (outs Mx_Tensor:$output);
}
def Mx_RandomNormalOp : Mx_ComputeOp<"random_normal"> {
  let extraClassDeclaration = "::mxc::Reading reading(unsigned) { return ::mxc::Reading::once; }";
  let summary = "normal with mean and standard deviation";
  let arguments = (ins Mx_Tensor:$seed, Optional<Mx_Tensor>:$step, I64Attr:$stream, F64Attr:$mean, F64Attr:$deviation, TypeAttr:$to);
  let results = (outs Mx_Tensor:$output);
}
// The imperative counterpart of both: `key`: the two i32 words of a key (philox_key of runtime/core/philox.h), `first`: rank-0 i64.
def Mx_RandomDrawOp : Mx_ComputeOp<"random_draw"> {
  let extraClassDeclaration = "::mxc::Reading reading(unsigned) { return ::mxc::Reading::once; }";
  let summary = "uniform in [0, 1) or standard normal, by a given key; element i is the draw of element first + i";
  let arguments = (ins Mx_Tensor:$key, Mx_Tensor:$first, BoolAttr:$normal, TypeAttr:$to);
  let results = (outs Mx_Tensor:$output);
}

def Mx_DropoutOp : Mx_ComputeOp<"dropout", [DeclareOpInterfaceMethods<Mx_ModeRules>]> {
  let summary = "in training each element is zero with probability `rate`, else divided by 1 - rate; in evaluation the input (Srivastava et al. 2014)";
  let description = [{Errors: rate outside [0, 1).}];
  let extraClassDeclaration = "::mxc::PaperFacts paperFacts(::mxc::BackwardReads reads);";
  let arguments = (ins Mx_Tensor:$input, DefaultValuedAttr<F64Attr, "0.5">:$rate);
  let results = (outs Mx_Tensor:$output);
  let dsl = 1;
}
def Mx_DropoutApplyOp : Mx_ComputeOp<"dropout_apply"> {
  let extraClassDeclaration = "::mxc::Reading reading(unsigned) { return ::mxc::Reading::once; }";
  let summary = "dropout in training: the mask is a function of (seed, step, stream, element), so that the gradient makes it again";
  let arguments = (ins Mx_Tensor:$input, Mx_Tensor:$seed, Mx_Tensor:$step, F64Attr:$rate, I64Attr:$stream);
  let results = (outs Mx_Tensor:$output);
}
#endif

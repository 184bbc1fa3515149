// Softmax over one axis.
#ifndef MXC_IR_OPS_SOFTMAX_TD
#define MXC_IR_OPS_SOFTMAX_TD
include "ir/mx.td"

class Mx_Softmax<string mnemonic, string text> : Mx_ComputeOp<mnemonic> {
  let extraClassDeclaration = "::mxc::Reading reading(unsigned) { return ::mxc::Reading::often; }";
  let summary = text;
  let description = [{`axis` may count from the end. Errors: the batch as axis.}];
  let arguments = (ins Mx_Tensor:$input, DefaultValuedAttr<I64Attr, "-1">:$axis);
  let results = (outs Mx_Tensor:$output);
  let dsl = 1;
}
def Mx_SoftmaxOp : Mx_Softmax<"softmax", "exp(x) over the sum of exp(x) along an axis"> {
  let extraClassDeclaration = [{
    ::mxc::Reading reading(unsigned) { return ::mxc::Reading::often; }
    ::mxc::PaperFacts paperFacts(::mxc::BackwardReads reads);
  }];
}
def Mx_LogSoftmaxOp : Mx_Softmax<"log_softmax", "x less the logarithm of the sum of exp(x) along an axis">;

def Mx_SoftmaxGradOp : Mx_ComputeOp<"softmax_grad"> {
  let extraClassDeclaration = "::mxc::Reading reading(unsigned) { return ::mxc::Reading::often; }";
  let summary = "y (dy - sum(y dy)), y the result of softmax: symmetric, so that it is its own gradient in dy";
  let arguments = (ins Mx_Tensor:$dy, Mx_Tensor:$y, I64Attr:$axis);
  let results = (outs Mx_Tensor:$output);
}
def Mx_LogSoftmaxGradOp : Mx_ComputeOp<"log_softmax_grad"> {
  let extraClassDeclaration = "::mxc::Reading reading(unsigned) { return ::mxc::Reading::often; }";
  let summary = "dy - exp(y) sum(dy), y the result of log_softmax";
  let arguments = (ins Mx_Tensor:$dy, Mx_Tensor:$y, I64Attr:$axis);
  let results = (outs Mx_Tensor:$output);
}
#endif

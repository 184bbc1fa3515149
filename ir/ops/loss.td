// Losses and metrics: one number a sample.
#ifndef MXC_IR_OPS_LOSS_TD
#define MXC_IR_OPS_LOSS_TD
include "ir/mx.td"

def Mx_SoftmaxCrossEntropyOp : Mx_ComputeOp<"softmax_cross_entropy", [DeclareOpInterfaceMethods<Mx_IndexRules>]> {
  let summary = "-log softmax(logits)[label]: logits [n, c], label [n] integers in [0, c); result [n]";
  let arguments = (ins Mx_Tensor:$logits, Mx_Tensor:$label);
  let results = (outs Mx_Tensor:$loss);
  let extraClassDeclaration = [{
    ::mxc::Reading reading(unsigned) { return ::mxc::Reading::often; }
    ::mxc::PaperFacts paperFacts(::mxc::BackwardReads reads);
  }];
  let dsl = 1;
}
def Mx_SoftmaxCrossEntropyGradOp : Mx_ComputeOp<"softmax_cross_entropy_grad", [DeclareOpInterfaceMethods<Mx_IndexRules>]> {
  let summary = "(softmax(logits) - onehot(label)) * dloss";
  let arguments = (ins Mx_Tensor:$logits, Mx_Tensor:$label, Mx_Tensor:$dloss);
  let results = (outs Mx_Tensor:$output);
  let extraClassDeclaration = [{
    ::mxc::Reading reading(unsigned operand) { return operand == 2 ? ::mxc::Reading::once : ::mxc::Reading::often; }
  }];
}
def Mx_AccuracyOp : Mx_ComputeOp<"accuracy", [DeclareOpInterfaceMethods<Mx_IndexRules>]> {
  let summary = "1 where the largest of logits [n, c] is at label [n], else 0; the first of equals counts; result [n]";
  let arguments = (ins Mx_Tensor:$logits, Mx_Tensor:$label);
  let results = (outs Mx_Tensor:$correct);
  let extraClassDeclaration = "::mxc::Reading reading(unsigned) { return ::mxc::Reading::often; }";
  let dsl = 1;
}
def Mx_TopKAccuracyOp : Mx_ComputeOp<"top_k_accuracy", [DeclareOpInterfaceMethods<Mx_IndexRules>]> {
  let extraClassDeclaration = "::mxc::Reading reading(unsigned) { return ::mxc::Reading::often; }";
  let summary = "1 where logits [n, c] at label [n] is among the k largest, the first of equals before the others, else 0; result [n]";
  let description = [{Errors: k outside [1, c].}];
  let arguments = (ins Mx_Tensor:$logits, Mx_Tensor:$label, DefaultValuedAttr<I64Attr, "5">:$k);
  let results = (outs Mx_Tensor:$correct);
  let dsl = 1;
}

class Mx_PairLoss<string mnemonic, string text> : Mx_ComputeOp<mnemonic> {
  let extraClassDeclaration = "::mxc::Reading reading(unsigned) { return ::mxc::Reading::once; }";
  let summary = text;
  let description = [{prediction and target: two tensors [n, ...] of one shape; result [n], the mean over the other axes.}];
  let arguments = (ins Mx_Tensor:$prediction, Mx_Tensor:$target);
  let results = (outs Mx_Tensor:$loss);
  let dsl = 1;
}
def Mx_MseLossOp : Mx_PairLoss<"mse_loss", "the squared difference">;
def Mx_L1LossOp : Mx_PairLoss<"l1_loss", "the absolute difference; gradient 0 where it is 0">;
def Mx_SigmoidCrossEntropyOp : Mx_PairLoss<"sigmoid_cross_entropy",
  "-t log(sigmoid(x)) - (1 - t) log(1 - sigmoid(x)) of predictions x and targets t in [0, 1], stable">;
#endif

// Losses and metrics: one number a sample.
#ifndef MXC_IR_OPS_LOSS_TD
#define MXC_IR_OPS_LOSS_TD
include "ir/mx.td"

def Mx_SoftmaxCrossEntropyOp : Mx_ComputeOp<"softmax_cross_entropy",
    [DeclareOpInterfaceMethods<Mx_IndexRules>, DeclareOpInterfaceMethods<Mx_CompositeRules>]> {
  let summary = "-log softmax(logits)[label]: logits [n, c], label [n] integers in [0, c); result [n]";
  let description = [{ignore_label: rows of this label have loss and gradient 0; if it lies outside [0, c), so have all labels outside.
    normalise says what the mean of the result, which training descends, is: "batch": the sum of the losses over n, "valid": over
    the number of rows that are not ignored (at least 1), "none": the sum itself.}];
  let arguments = (ins Mx_Tensor:$logits, Mx_Tensor:$label, OptionalAttr<I64Attr>:$ignore_label,
    DefaultValuedAttr<Mx_Choice<["batch", "valid", "none"]>, "\"batch\"">:$normalise);
  let results = (outs Mx_Tensor:$loss);
  let extraClassDeclaration = [{
    ::mxc::Reading reading(unsigned) { return ::mxc::Reading::often; }
    ::mxc::PaperFacts paperFacts(::mxc::BackwardReads reads);
  }];
  let dsl = 1;
}
def Mx_SoftmaxCrossEntropyGradOp : Mx_ComputeOp<"softmax_cross_entropy_grad", [DeclareOpInterfaceMethods<Mx_IndexRules>]> {
  let summary = "(softmax(logits) - onehot(label)) * dloss";
  let arguments = (ins Mx_Tensor:$logits, Mx_Tensor:$label, Mx_Tensor:$dloss, OptionalAttr<I64Attr>:$ignore_label);
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

class Mx_CompositePairLoss<string mnemonic, string text, dag attributes> : Mx_CompositeOp<mnemonic> {
  let summary = text;
  let description = [{prediction and target: two tensors [n, ...] of one shape; result [n], the mean over the other axes.}];
  let arguments = !con((ins Mx_Tensor:$prediction, Mx_Tensor:$target), attributes);
  let results = (outs Mx_Tensor:$loss);
  let dsl = 1;
}
def Mx_HingeLossOp : Mx_CompositePairLoss<"hinge_loss",
  "max(0, margin - x t) of predictions x and targets t of -1 or 1, or its square; gradient 0 at the margin",
  (ins DefaultValuedAttr<F64Attr, "1.0">:$margin, DefaultValuedAttr<BoolAttr, "false">:$squared)>;
def Mx_HuberLossOp : Mx_CompositePairLoss<"huber_loss",
  "d^2 / 2 of the difference d where |d| <= delta, else delta (|d| - delta / 2) (Huber 1964)",
  (ins DefaultValuedAttr<F64Attr, "1.0">:$delta)>;
def Mx_KlDivergenceOp : Mx_CompositePairLoss<"kl_divergence",
  "the divergence of softmax(prediction) from the probabilities target: the sum over the last axis of t (log t - log_softmax(x)), 0 log 0 being 0",
  (ins DefaultValuedAttr<BoolAttr, "false">:$log_probabilities)> {
  let description = [{prediction and target: [n, ..., c]; result [n], the mean over the axes between. log_probabilities: the prediction
    is the logarithm of probabilities already. Errors: fewer than two axes.}];
}
#endif

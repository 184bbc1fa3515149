// Losses and metrics of classification: one number a sample.
#ifndef MXC_IR_OPS_LOSS_TD
#define MXC_IR_OPS_LOSS_TD
include "ir/mx.td"

def Mx_SoftmaxCrossEntropyOp : Mx_ComputeOp<"softmax_cross_entropy"> {
  let summary = "-log softmax(logits)[label]: logits [n, c], label [n] integers in [0, c); result [n]";
  let arguments = (ins Mx_Tensor:$logits, Mx_Tensor:$label);
  let results = (outs Mx_Tensor:$loss);
  let dsl = 1;
}
def Mx_SoftmaxCrossEntropyGradOp : Mx_ComputeOp<"softmax_cross_entropy_grad"> {
  let summary = "(softmax(logits) - onehot(label)) * dloss";
  let arguments = (ins Mx_Tensor:$logits, Mx_Tensor:$label, Mx_Tensor:$dloss);
  let results = (outs Mx_Tensor:$output);
}
def Mx_AccuracyOp : Mx_ComputeOp<"accuracy"> {
  let summary = "1 where the largest of logits [n, c] is at label [n], else 0; the first of equals counts; result [n]";
  let arguments = (ins Mx_Tensor:$logits, Mx_Tensor:$label);
  let results = (outs Mx_Tensor:$correct);
  let dsl = 1;
}
#endif

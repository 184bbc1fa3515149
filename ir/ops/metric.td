// Metrics of a whole batch: functions of means over its samples. A report of one is that function of the means over all samples
// (passes/build_graphs.cc).
#ifndef MXC_IR_OPS_METRIC_TD
#define MXC_IR_OPS_METRIC_TD
include "ir/mx.td"

class Mx_BatchMetric<string mnemonic, string text, dag operands> : Mx_CompositeOp<mnemonic> {
  let summary = text;
  let arguments = operands;
  let results = (outs Mx_Tensor:$metric);
  let dsl = 1;
}
def Mx_RmseOp : Mx_BatchMetric<"rmse", "the root of the mean squared difference of prediction and target; rank 0",
    (ins Mx_Tensor:$prediction, Mx_Tensor:$target)> {
  let description = [{prediction and target: two tensors [n, ...] of one shape. The mean runs over all elements of the batch; in a report over
    those of all samples.}];
}
def Mx_PerplexityOp : Mx_BatchMetric<"perplexity", "e to the mean of softmax_cross_entropy(logits, label); rank 0",
    (ins Mx_Tensor:$logits, Mx_Tensor:$label, OptionalAttr<I64Attr>:$ignore_label)> {
  let description = [{logits [n, c], label [n]. Rows of ignore_label count neither in the sum nor in the number of rows. Of the batch; in a report of
    all samples.}];
}
class Mx_BinaryMetric<string mnemonic, string text> : Mx_BatchMetric<mnemonic, text,
    (ins Mx_Tensor:$logits, Mx_Tensor:$label, DefaultValuedAttr<I64Attr, "1">:$positive)> {
  let description = [{logits [n, c], label [n] integers in [0, c). A row is predicted positive if the largest of its logits is at `positive`.
    0 where the quotient is 0 / 0. Of the batch; in a report of all samples. Errors: positive outside [0, c).}];
}
def Mx_F1ScoreOp : Mx_BinaryMetric<"f1_score", "2 tp / (2 tp + fp + fn) of class `positive` against the others; rank 0">;
def Mx_MccOp : Mx_BinaryMetric<"mcc",
    "(tp tn - fp fn) / sqrt((tp + fp) (tp + fn) (tn + fp) (tn + fn)) of class `positive` against the others (Matthews 1975); rank 0">;
#endif

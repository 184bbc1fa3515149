// Normalisation. Statistics are reductions; what is done with them is elementwise, so that it fuses.
#ifndef MXC_IR_OPS_NORM_TD
#define MXC_IR_OPS_NORM_TD
include "ir/mx.td"

def Mx_BatchNormOp : Mx_ComputeOp<"batch_norm", [DeclareOpInterfaceMethods<Mx_ModeRules>]> {
  let summary = "each channel (axis 1) less its mean, over its deviation, times gamma, plus beta (Ioffe and Szegedy 2015)";
  let description = [{Training: mean and biased variance over all other axes of the n samples of the run; the running statistics become
    momentum * old + (1 - momentum) * new, the variance biased too. Evaluation: the running statistics.
    Errors: an input of fewer than two axes; the batch on axis 1; epsilon below 0; momentum outside [0, 1].}];
  let arguments = (ins Mx_Tensor:$input, Mx_Param:$gamma, Mx_Param:$beta, Mx_State:$running_mean, Mx_State:$running_variance,
    DefaultValuedAttr<F64Attr, "1e-5">:$epsilon, DefaultValuedAttr<F64Attr, "0.9">:$momentum);
  let results = (outs Mx_Tensor:$output);
  let dsl = 1;
  let dslInits = ["gamma=ones", "beta=zeros", "running_mean=zeros", "running_variance=ones"];
}

def Mx_LayerNormOp : Mx_ComputeOp<"layer_norm"> {
  let extraClassDeclaration = "::mxc::Reading reading(unsigned) { return ::mxc::Reading::often; }";
  let summary = "the elements along the last axis less their mean, over their deviation, times gamma, plus beta (Ba et al. 2016)";
  let description = [{gamma, beta: [last size]. The variance is the biased one. The second and third result, of shape [..., 1], are the
    mean and 1 / sqrt(variance + epsilon). Errors: epsilon below 0.}];
  let arguments = (ins Mx_Tensor:$input, Mx_Param:$gamma, Mx_Param:$beta, DefaultValuedAttr<F64Attr, "1e-5">:$epsilon);
  let results = (outs Mx_Tensor:$output, Mx_Tensor:$mean, Mx_Tensor:$inverse);
  let dsl = 1;
  let dslInits = ["gamma=ones", "beta=zeros"];
}
class Mx_GroupedNorm<string mnemonic, string text> : Mx_CompositeOp<mnemonic> {
  let summary = text;
  let dsl = 1;
  let dslInits = ["gamma=ones", "beta=zeros"];
  let results = (outs Mx_Tensor:$output);
}
def Mx_GroupNormOp : Mx_GroupedNorm<"group_norm",
    "`groups` groups of channels (axis 1) of each sample less their mean, over their deviation, times gamma, plus beta (Wu and He 2018)"> {
  let description = [{gamma, beta: [channels]. The variance is the biased one. Errors: an input of fewer than two axes; the batch not on
    axis 0; groups that do not divide the channels.}];
  let arguments = (ins Mx_Tensor:$input, Mx_Param:$gamma, Mx_Param:$beta, I64Attr:$groups, DefaultValuedAttr<F64Attr, "1e-5">:$epsilon);
}
def Mx_InstanceNormOp : Mx_GroupedNorm<"instance_norm",
    "each channel (axis 1) of each sample less its mean, over its deviation, times gamma, plus beta (Ulyanov et al. 2016)"> {
  let description = [{gamma, beta: [channels]. The variance is the biased one. Errors: an input of fewer than three axes; the batch not on
    axis 0; epsilon below 0.}];
  let arguments = (ins Mx_Tensor:$input, Mx_Param:$gamma, Mx_Param:$beta, DefaultValuedAttr<F64Attr, "1e-5">:$epsilon);
}

// ---- Not in the DSL ---------------------------------------------------------------------------------------------------------
def Mx_LayerNormGradOp : Mx_ComputeOp<"layer_norm_grad"> {
  let extraClassDeclaration = "::mxc::Reading reading(unsigned) { return ::mxc::Reading::often; }";
  let summary = "the gradient of layer_norm's input";
  let arguments = (ins Mx_Tensor:$dy, Mx_Tensor:$input, Mx_Tensor:$gamma, Mx_Tensor:$mean, Mx_Tensor:$inverse);
  let results = (outs Mx_Tensor:$output);
}
def Mx_MomentsOp : Mx_ComputeOp<"moments"> {
  let extraClassDeclaration = "::mxc::Reading reading(unsigned) { return ::mxc::Reading::often; }";
  let summary = "mean and biased variance over `axes`, which disappear: two passes, so that nothing cancels";
  let arguments = (ins Mx_Tensor:$input, DenseI64ArrayAttr:$axes);
  let results = (outs Mx_Tensor:$mean, Mx_Tensor:$variance);
}
def Mx_NormaliseOp : Mx_ElementwiseOp<"normalise"> {
  let extraClassDeclaration = "int64_t cost() { return 3; }";
  let summary = "(input - mean) * scale + shift, the last three of one shape that broadcasts";
  let arguments = (ins Mx_Tensor:$input, Mx_Tensor:$mean, Mx_Tensor:$scale, Mx_Tensor:$shift);
  let results = (outs Mx_Tensor:$output);
}
def Mx_NormaliseSumsOp : Mx_ComputeOp<"normalise_sums"> {
  let extraClassDeclaration = "::mxc::Reading reading(unsigned operand) { return operand == 2 ? ::mxc::Reading::often : ::mxc::Reading::once; }";
  let summary = "over `axes`, which disappear: the sum of dy and that of dy * (input - mean); mean has size 1 on them";
  let arguments = (ins Mx_Tensor:$dy, Mx_Tensor:$input, Mx_Tensor:$mean, DenseI64ArrayAttr:$axes);
  let results = (outs Mx_Tensor:$sum, Mx_Tensor:$centred);
}
#endif

// Optimizer updates, compiled into the training step. Hyper-parameters are rank-0 operands; optimizers.h lists the kinds.
#ifndef MXC_IR_OPS_UPDATE_TD
#define MXC_IR_OPS_UPDATE_TD
include "ir/mx.td"

// Common to all, in this order, for each element of a parameter:
//   1. g = gradient * rescale
//   2. g = g clipped to [-clip, clip], if clip > 0
//   3. weight decay: g = g + wd * weight, with wd = weight_decay * wd_mult (decoupled Adam: see there)
//   4. the rule, with rate = lr * lr_mult
class Mx_Update<string mnemonic, string text, dag own, dag states, dag attributes> : Mx_ElementwiseOp<mnemonic> {
  let extraClassDeclaration = "int64_t cost() { return 10; }";
  let summary = text;
  let arguments = !con((ins Mx_Tensor:$weight, Mx_Tensor:$gradient), states,
    (ins Mx_Tensor:$lr, Mx_Tensor:$weight_decay, Mx_Tensor:$rescale, Mx_Tensor:$clip), own,
    (ins DefaultValuedAttr<F64Attr, "1.0">:$lr_mult, DefaultValuedAttr<F64Attr, "1.0">:$wd_mult), attributes);
}

def Mx_SgdUpdateOp : Mx_Update<"sgd_update", "weight - rate * g", (ins), (ins), (ins)> {
  let results = (outs Mx_Tensor:$new_weight);
}
def Mx_SgdMomentumUpdateOp : Mx_Update<"sgd_momentum_update",
    "velocity' = momentum * velocity + g; weight - rate * velocity', or with Nesterov weight - rate * (g + momentum * velocity')",
    (ins Mx_Tensor:$momentum), (ins Mx_Tensor:$velocity), (ins DefaultValuedAttr<BoolAttr, "false">:$nesterov)> {
  let results = (outs Mx_Tensor:$new_weight, Mx_Tensor:$new_velocity);
}
def Mx_AdamUpdateOp : Mx_Update<"adam_update",
    "Adam (Kingma and Ba 2015); decoupled: AdamW (Loshchilov and Hutter 2019)",
    (ins Mx_Tensor:$beta1, Mx_Tensor:$beta2, Mx_Tensor:$epsilon, Mx_Tensor:$correction1, Mx_Tensor:$correction2),
    (ins Mx_Tensor:$mean, Mx_Tensor:$variance), (ins DefaultValuedAttr<BoolAttr, "false">:$decoupled)> {
  let description = [{mean' = beta1 mean + (1 - beta1) g; variance' = beta2 variance + (1 - beta2) g^2;
    weight' = weight - rate (mean' / correction1) / (sqrt(variance' / correction2) + epsilon).
    Decoupled: no wd in g; rate * wd * weight is subtracted beside it. correction1, correction2: of mx.bias_correction.}];
  let results = (outs Mx_Tensor:$new_weight, Mx_Tensor:$new_mean, Mx_Tensor:$new_variance);
}

def Mx_BiasCorrectionOp : Mx_TypedElementwiseOp<"bias_correction"> {
  let extraClassDeclaration = "int64_t cost() { return 40; }";
  let summary = "1 - decay^(step + 1), of decay's type: step counts from 0 (i64)";
  let extraClassDeclaration = "int64_t cost() { return 40; }";
  let arguments = (ins Mx_Tensor:$decay, Mx_Tensor:$step);
  let results = (outs Mx_Tensor:$output);
}
#endif

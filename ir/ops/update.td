// Optimizer updates, compiled into the training step. Hyper-parameters are rank-0 operands; optimizers.h lists the kinds.
#ifndef MXC_IR_OPS_UPDATE_TD
#define MXC_IR_OPS_UPDATE_TD
include "ir/mx.td"

// Common to all, in this order, for each element of a parameter:
//   1. g = gradient * rescale, and if the model clips by global norm: scaled so that all g together have a norm of at most clip_norm
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
def Mx_RmspropUpdateOp : Mx_Update<"rmsprop_update",
    "RMSProp (Tieleman and Hinton 2012): square' = rho square + (1 - rho) g^2; weight - rate * g / (sqrt(square') + epsilon)",
    (ins Mx_Tensor:$rho, Mx_Tensor:$epsilon), (ins Mx_Tensor:$square), (ins)> {
  let results = (outs Mx_Tensor:$new_weight, Mx_Tensor:$new_square);
}
def Mx_AdagradUpdateOp : Mx_Update<"adagrad_update",
    "AdaGrad (Duchi et al. 2011): sum' = sum + g^2; weight - rate * g / (sqrt(sum') + epsilon)",
    (ins Mx_Tensor:$epsilon), (ins Mx_Tensor:$sum), (ins)> {
  let results = (outs Mx_Tensor:$new_weight, Mx_Tensor:$new_sum);
}
def Mx_AdadeltaUpdateOp : Mx_Update<"adadelta_update", "AdaDelta (Zeiler 2012)",
    (ins Mx_Tensor:$rho, Mx_Tensor:$epsilon), (ins Mx_Tensor:$square, Mx_Tensor:$delta), (ins)> {
  let description = [{square' = rho square + (1 - rho) g^2; d = sqrt(delta + epsilon) / sqrt(square' + epsilon) g;
    delta' = rho delta + (1 - rho) d^2; weight' = weight - rate * d.}];
  let results = (outs Mx_Tensor:$new_weight, Mx_Tensor:$new_square, Mx_Tensor:$new_delta);
}
def Mx_FtrlUpdateOp : Mx_Update<"ftrl_update", "FTRL-Proximal (McMahan et al. 2013)",
    (ins Mx_Tensor:$l1, Mx_Tensor:$beta), (ins Mx_Tensor:$z, Mx_Tensor:$square), (ins)> {
  let description = [{No wd in g: it is the rule's own L2 term. square' = square + g^2;
    z' = z + g - (sqrt(square') - sqrt(square)) / rate * weight;
    weight' = 0 where |z'| <= l1, else (sign(z') l1 - z') / ((beta + sqrt(square')) / rate + wd).}];
  let results = (outs Mx_Tensor:$new_weight, Mx_Tensor:$new_z, Mx_Tensor:$new_square);
}
def Mx_LambDirectionOp : Mx_Update<"lamb_direction", "LAMB (You et al. 2020), before its trust ratio",
    (ins Mx_Tensor:$beta1, Mx_Tensor:$beta2, Mx_Tensor:$epsilon, Mx_Tensor:$correction1, Mx_Tensor:$correction2),
    (ins Mx_Tensor:$mean, Mx_Tensor:$variance), (ins)> {
  let description = [{No wd in g. mean and variance as Adam's; direction = (mean' / correction1) / (sqrt(variance' / correction2) + epsilon)
    + wd * weight. The new weight is weight - rate * trust * direction, trust of mx.trust_ratio.}];
  let results = (outs Mx_Tensor:$direction, Mx_Tensor:$new_mean, Mx_Tensor:$new_variance);
}
def Mx_LarsUpdateOp : Mx_Update<"lars_update", "LARS (You et al. 2017)",
    (ins Mx_Tensor:$momentum, Mx_Tensor:$trust), (ins Mx_Tensor:$velocity), (ins)> {
  let description = [{velocity' = momentum velocity + rate * trust * (g + wd * weight); weight' = weight - velocity'. trust of
    mx.lars_trust.}];
  let results = (outs Mx_Tensor:$new_weight, Mx_Tensor:$new_velocity);
}

// ---- Over a whole parameter or all of them ------------------------------------------------------------------------------------
// Steps 1 and 2 of an update, for norms of g.
def Mx_PrepareGradientOp : Mx_ElementwiseOp<"prepare_gradient"> {
  let summary = "gradient * rescale, clipped to [-clip, clip] if clip > 0";
  let arguments = (ins Mx_Tensor:$gradient, Mx_Tensor:$rescale, Mx_Tensor:$clip);
  let results = (outs Mx_Tensor:$output);
}
def Mx_TrustRatioOp : Mx_ElementwiseOp<"trust_ratio"> {
  let summary = "|weight| / |direction| from the squares of both; 1 where one of them is 0";
  let arguments = (ins Mx_Tensor:$weight_square, Mx_Tensor:$direction_square);
  let results = (outs Mx_Tensor:$output);
}
def Mx_LarsTrustOp : Mx_ElementwiseOp<"lars_trust"> {
  let summary = "eta |weight| / (|g| + wd |weight| + epsilon) from the squares of both; 1 where one of them is 0";
  let arguments = (ins Mx_Tensor:$weight_square, Mx_Tensor:$gradient_square, Mx_Tensor:$weight_decay, Mx_Tensor:$eta, Mx_Tensor:$epsilon,
    DefaultValuedAttr<F64Attr, "1.0">:$wd_mult);
  let results = (outs Mx_Tensor:$output);
}
def Mx_ClipNormScaleOp : Mx_ElementwiseOp<"clip_norm_scale"> {
  let summary = "what scales gradients to a norm of at most clip_norm, from the square of their norm; 1 if clip_norm is 0";
  let arguments = (ins Mx_Tensor:$square, Mx_Tensor:$clip_norm);
  let results = (outs Mx_Tensor:$output);
}

def Mx_BiasCorrectionOp : Mx_TypedElementwiseOp<"bias_correction"> {
  let summary = "1 - decay^(step + 1), of decay's type: step counts from 0 (i64)";
  let extraClassDeclaration = "int64_t cost() { return 40; }";
  let arguments = (ins Mx_Tensor:$decay, Mx_Tensor:$step);
  let results = (outs Mx_Tensor:$output);
}
#endif

// Elementwise ops: one point of the result from the same point of the operands, with NumPy broadcasting.
#ifndef MXC_IR_OPS_ELEMENTWISE_TD
#define MXC_IR_OPS_ELEMENTWISE_TD
include "ir/mx.td"

class Mx_Unary<string mnemonic, string text, int bodyCost = 1> : Mx_ElementwiseOp<mnemonic> {
  let summary = text;
  let extraClassDeclaration = "int64_t cost() { return " # bodyCost # "; }";
  let arguments = (ins Mx_Tensor:$input);
  let results = (outs Mx_Tensor:$output);
  let dsl = 1;
}
class Mx_Binary<string mnemonic, string text> : Mx_ElementwiseOp<mnemonic> {
  let summary = text;
  let arguments = (ins Mx_Tensor:$a, Mx_Tensor:$b);
  let results = (outs Mx_Tensor:$output);
  let dsl = 1;
}

def Mx_NegOp : Mx_Unary<"neg", "-x"> { let hasFolder = 1; }
def Mx_ExpOp : Mx_Unary<"exp", "e to the x", 20>;
def Mx_LogOp : Mx_Unary<"log", "natural logarithm", 20>;
def Mx_Log1pOp : Mx_Unary<"log1p", "log(1 + x), exact for small x", 20>;
def Mx_TanhOp : Mx_Unary<"tanh", "hyperbolic tangent", 20>;
def Mx_SigmoidOp : Mx_Unary<"sigmoid", "1 / (1 + exp(-x))", 20>;
def Mx_ReluOp : Mx_Unary<"relu", "max(x, 0)"> {
  let extraClassDeclaration = [{
    bool keepsLargest() { return true; }
    ::mxc::PaperFacts paperFacts(::mxc::BackwardReads reads);
  }];
}
def Mx_SoftplusOp : Mx_Unary<"softplus", "log(1 + exp(x)), stable", 40>;
def Mx_SiluOp : Mx_Unary<"silu", "x * sigmoid(x) (Elfwing et al. 2018)", 20>;
def Mx_GeluOp : Mx_Unary<"gelu", "x * Phi(x), with the error function (Hendrycks and Gimpel 2016)", 30>;
def Mx_AbsOp : Mx_Unary<"abs", "|x|; gradient 0 at 0">;
def Mx_SqrtOp : Mx_Unary<"sqrt", "square root", 5>;
def Mx_RsqrtOp : Mx_Unary<"rsqrt", "1 / sqrt(x)", 5>;
def Mx_SquareOp : Mx_Unary<"square", "x * x">;
def Mx_ErfOp : Mx_Unary<"erf", "error function", 20>;
def Mx_SinOp : Mx_Unary<"sin", "sine", 20>;
def Mx_CosOp : Mx_Unary<"cos", "cosine", 20>;
def Mx_StopGradientOp : Mx_Unary<"stop_gradient", "x, through which no gradient flows", 0> { let hasFolder = 1; }

def Mx_LeakyReluOp : Mx_ElementwiseOp<"leaky_relu"> {
  let summary = "x where x > 0, else slope * x";
  let arguments = (ins Mx_Tensor:$input, DefaultValuedAttr<F64Attr, "0.01">:$slope);
  let results = (outs Mx_Tensor:$output);
  let dsl = 1;
}
def Mx_EluOp : Mx_ElementwiseOp<"elu"> {
  let summary = "x where x > 0, else alpha * (exp(x) - 1)";
  let extraClassDeclaration = "int64_t cost() { return 20; }";
  let arguments = (ins Mx_Tensor:$input, DefaultValuedAttr<F64Attr, "1.0">:$alpha);
  let results = (outs Mx_Tensor:$output);
  let dsl = 1;
}

def Mx_AddOp : Mx_Binary<"add", "a + b"> {
  let hasFolder = 1;
  let extraClassDeclaration = "::mxc::PaperFacts paperFacts(::mxc::BackwardReads reads);";
}
def Mx_SubOp : Mx_Binary<"sub", "a - b"> { let hasFolder = 1; }
def Mx_MulOp : Mx_Binary<"mul", "a * b"> { let hasFolder = 1; }
def Mx_DivOp : Mx_Binary<"div", "a / b"> { let hasFolder = 1; }
def Mx_PowOp : Mx_Binary<"pow", "a to the b, for a > 0"> { let extraClassDeclaration = "int64_t cost() { return 40; }"; }
def Mx_MaximumOp : Mx_Binary<"maximum", "the larger; at a tie the gradient goes to a">;
def Mx_MinimumOp : Mx_Binary<"minimum", "the smaller; at a tie the gradient goes to a">;

// ---- Not in the DSL: what gradients and passes build ------------------------------------------------------------------------
def Mx_ConstantOp : Mx_TypedElementwiseOp<"constant"> {
  let summary = "a rank-0 constant";
  let extraClassDeclaration = "int64_t cost() { return 0; }";
  let arguments = (ins F64Attr:$value, TypeAttr:$element);
  let results = (outs Mx_Tensor:$output);
}
def Mx_BroadcastOp : Mx_TypedElementwiseOp<"broadcast"> {
  let summary = "the operand spread to a type";
  let extraClassDeclaration = "int64_t cost() { return 0; }";
  let arguments = (ins Mx_Tensor:$input, TypeAttr:$to);
  let results = (outs Mx_Tensor:$output);
  let hasFolder = 1;
}
def Mx_CastOp : Mx_TypedElementwiseOp<"cast"> {
  let summary = "another element type";
  let arguments = (ins Mx_Tensor:$input, TypeAttr:$to);
  let results = (outs Mx_Tensor:$output);
  let dsl = 1;
  let hasFolder = 1;
}
def Mx_PickPositiveOp : Mx_ElementwiseOp<"pick_positive"> {
  let summary = "a where x > 0, else b: the gradient of relu and its kin";
  let arguments = (ins Mx_Tensor:$x, Mx_Tensor:$a, Mx_Tensor:$b);
  let results = (outs Mx_Tensor:$output);
}
def Mx_DivByCountOp : Mx_ElementwiseOp<"div_by_count"> {
  let summary = "x / (n * per_sample), or x / per_sample if not batched: means follow the run-time batch";
  let arguments = (ins Mx_Tensor:$input, I64Attr:$per_sample, BoolAttr:$batched);
  let results = (outs Mx_Tensor:$output);
  let hasFolder = 1;
}
#endif

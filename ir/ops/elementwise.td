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
// The rules of ops for numbers with a fraction alone.
defvar mxFloatRules = [{
    ::mlir::LogicalResult $cppClass::inferTypes() { return ::mxc::mx::inferFloatElementwise(*this); }
    ::mlir::LogicalResult $cppClass::lower(::mxc::KernelBuilder& k) { return ::mxc::mx::lowerElementwise(*this, k); }
    bool $cppClass::canOverwrite(unsigned operand, unsigned result) { return ::mxc::mx::sameStorage(*this, operand, result); }
  }];
class Mx_FloatUnary<string mnemonic, string text, int bodyCost> : Mx_Unary<mnemonic, text, bodyCost> {
  let extraClassDefinition = mxFloatRules;
}
// Those of ops that take booleans too.
defvar mxAnyRules = [{
    ::mlir::LogicalResult $cppClass::inferTypes() { return ::mxc::mx::inferAnyElementwise(*this); }
    ::mlir::LogicalResult $cppClass::lower(::mxc::KernelBuilder& k) { return ::mxc::mx::lowerElementwise(*this, k); }
    bool $cppClass::canOverwrite(unsigned operand, unsigned result) { return ::mxc::mx::sameStorage(*this, operand, result); }
  }];
class Mx_Binary<string mnemonic, string text> : Mx_ElementwiseOp<mnemonic> {
  let summary = text;
  let arguments = (ins Mx_Tensor:$a, Mx_Tensor:$b);
  let results = (outs Mx_Tensor:$output);
  let dsl = 1;
}

def Mx_NegOp : Mx_Unary<"neg", "-x"> { let hasFolder = 1; }
def Mx_ExpOp : Mx_FloatUnary<"exp", "e to the x", 20>;
def Mx_LogOp : Mx_FloatUnary<"log", "natural logarithm", 20>;
def Mx_Log1pOp : Mx_FloatUnary<"log1p", "log(1 + x), exact for small x", 20>;
def Mx_TanhOp : Mx_FloatUnary<"tanh", "hyperbolic tangent", 20>;
def Mx_SigmoidOp : Mx_FloatUnary<"sigmoid", "1 / (1 + exp(-x))", 20>;
def Mx_ReluOp : Mx_Unary<"relu", "max(x, 0)"> {
  let extraClassDeclaration = [{
    bool keepsLargest() { return true; }
    ::mxc::PaperFacts paperFacts(::mxc::BackwardReads reads);
  }];
}
def Mx_SoftplusOp : Mx_FloatUnary<"softplus", "log(1 + exp(x)), stable", 40>;
def Mx_SiluOp : Mx_FloatUnary<"silu", "x * sigmoid(x) (Elfwing et al. 2018)", 20>;
def Mx_GeluOp : Mx_FloatUnary<"gelu", "x * Phi(x), with the error function (Hendrycks and Gimpel 2016)", 30>;
def Mx_AbsOp : Mx_Unary<"abs", "|x|; gradient 0 at 0">;
def Mx_SqrtOp : Mx_FloatUnary<"sqrt", "square root", 5>;
def Mx_RsqrtOp : Mx_FloatUnary<"rsqrt", "1 / sqrt(x)", 5>;
def Mx_SquareOp : Mx_Unary<"square", "x * x">;
def Mx_SignOp : Mx_Unary<"sign", "-1, 0 or 1; of NaN NaN; gradient 0", 2>;
def Mx_FloorOp : Mx_Unary<"floor", "the next whole number below or at x; gradient 0">;
def Mx_CeilOp : Mx_Unary<"ceil", "the next whole number above or at x; gradient 0">;
def Mx_RoundOp : Mx_Unary<"round", "the nearest whole number, halves to the even one; gradient 0", 5>;
def Mx_ErfOp : Mx_FloatUnary<"erf", "error function", 20>;
def Mx_SinOp : Mx_FloatUnary<"sin", "sine", 20>;
def Mx_CosOp : Mx_FloatUnary<"cos", "cosine", 20>;
def Mx_StopGradientOp : Mx_Unary<"stop_gradient", "x, through which no gradient flows", 0> {
  let extraClassDefinition = mxAnyRules;
  let hasFolder = 1;
}

def Mx_LeakyReluOp : Mx_ElementwiseOp<"leaky_relu"> {
  let summary = "x where x > 0, else slope * x";
  let extraClassDefinition = mxFloatRules;
  let arguments = (ins Mx_Tensor:$input, DefaultValuedAttr<F64Attr, "0.01">:$slope);
  let results = (outs Mx_Tensor:$output);
  let dsl = 1;
}
def Mx_EluOp : Mx_ElementwiseOp<"elu"> {
  let summary = "x where x > 0, else alpha * (exp(x) - 1)";
  let extraClassDefinition = mxFloatRules;
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
def Mx_PowOp : Mx_Binary<"pow", "a to the b; a < 0 needs a whole b, and the gradient in b a > 0"> {
  let description = [{Integers wrap around; to a negative power they are 1 / a to the -b, towards zero.}];
  let extraClassDeclaration = "int64_t cost() { return 40; }";
}
def Mx_ModuloOp : Mx_Binary<"modulo", "what division of a by b, rounded down, leaves: it has the sign of b"> {
  let description = [{Of integers 0 if b is 0.}];
  let extraClassDeclaration = "int64_t cost() { return 20; }";
}
def Mx_MaximumOp : Mx_Binary<"maximum", "the larger; at a tie the gradient goes to a">;
def Mx_MinimumOp : Mx_Binary<"minimum", "the smaller; at a tie the gradient goes to a">;

def Mx_ClipOp : Mx_ElementwiseOp<"clip"> {
  let summary = "x kept in [low, high]; the gradient passes where low <= x <= high";
  let description = [{Errors: low > high.}];
  let extraClassDefinition = [{
    ::mlir::LogicalResult $cppClass::lower(::mxc::KernelBuilder& k) { return ::mxc::mx::lowerElementwise(*this, k); }
    bool $cppClass::canOverwrite(unsigned operand, unsigned result) { return ::mxc::mx::sameStorage(*this, operand, result); }
  }];
  let arguments = (ins Mx_Tensor:$input, F64Attr:$low, F64Attr:$high);
  let results = (outs Mx_Tensor:$output);
  let dsl = 1;
}
def Mx_WhereOp : Mx_TypedElementwiseOp<"where"> {
  let summary = "a where condition is not 0, else b";
  let description = [{The three broadcast; condition may have any element type, such as the result of `less`. No gradient flows into it.}];
  let arguments = (ins Mx_Tensor:$condition, Mx_Tensor:$a, Mx_Tensor:$b);
  let results = (outs Mx_Tensor:$output);
  let dsl = 1;
}

// ---- Comparisons and logic: 1 or 0 in the operands' element type, so that they are factors and conditions alike. No gradient.
class Mx_Truth<string mnemonic, string text> : Mx_Binary<mnemonic, text> {
  let description = [{1 or 0 in the operands' element type; no gradient. What is NaN compares as unequal to all.}];
  let extraClassDeclaration = "bool givesTruth() { return true; }";
  let extraClassDefinition = mxAnyRules;
}
def Mx_EqualOp : Mx_Truth<"equal", "1 where a == b, else 0">;
def Mx_NotEqualOp : Mx_Truth<"not_equal", "1 where a != b, else 0">;
def Mx_LessOp : Mx_Truth<"less", "1 where a < b, else 0">;
def Mx_LessEqualOp : Mx_Truth<"less_equal", "1 where a <= b, else 0">;
def Mx_GreaterOp : Mx_Truth<"greater", "1 where a > b, else 0">;
def Mx_GreaterEqualOp : Mx_Truth<"greater_equal", "1 where a >= b, else 0">;
def Mx_LogicalAndOp : Mx_Truth<"logical_and", "1 where neither is 0, else 0">;
def Mx_LogicalOrOp : Mx_Truth<"logical_or", "1 where one at least is not 0, else 0">;
def Mx_LogicalXorOp : Mx_Truth<"logical_xor", "1 where exactly one is not 0, else 0">;
def Mx_LogicalNotOp : Mx_Unary<"logical_not", "1 where x is 0, else 0; no gradient"> {
  let extraClassDeclaration = "int64_t cost() { return 1; } bool givesTruth() { return true; }";
  let extraClassDefinition = mxAnyRules;
}

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

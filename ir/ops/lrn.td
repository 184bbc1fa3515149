// Local response normalisation: each element over a power of the energy of its neighbours in channels.
#ifndef MXC_IR_OPS_LRN_TD
#define MXC_IR_OPS_LRN_TD
include "ir/mx.td"

// Tensors are row-major: vectors run along a row, and the window over channels is a loop.
class Mx_LrnFamilyOp<string mnemonic> : Mx_ComputeOp<mnemonic, [DeclareOpInterfaceMethods<Mx_LayoutRules>]> {
  let extraClassDeclaration = "::mxc::Reading reading(unsigned) { return ::mxc::Reading::often; }";
  let extraClassDefinition = [{
    ::mxc::TensorType $cppClass::wantedOperandType(unsigned operand, int64_t) {
      return ::mxc::plain(::mxc::rankedType((*this)->getOperand(operand)));
    }
    ::mxc::TensorType $cppClass::wantedResultType(unsigned result, int64_t) {
      return ::mxc::plain(::mxc::rankedType((*this)->getResult(result)));
    }
    bool $cppClass::canOverwrite(unsigned, unsigned) { return false; }
  }];
}

def Mx_LrnOp : Mx_LrnFamilyOp<"lrn"> {
  let summary = "x / (k + alpha / size * sum of x^2 over `size` channels around)^beta (Krizhevsky et al. 2012)";
  let description = [{input [n, c, ...]; channels outside the tensor count as zeros. Errors: an even size; k not above 0; alpha below 0;
    an input of fewer than two axes; the batch on axis 1.}];
  let arguments = (ins Mx_Tensor:$input, DefaultValuedAttr<I64Attr, "5">:$size, DefaultValuedAttr<F64Attr, "1e-4">:$alpha,
    DefaultValuedAttr<F64Attr, "0.75">:$beta, DefaultValuedAttr<F64Attr, "2.0">:$k);
  let results = (outs Mx_Tensor:$output);
  let extraClassDeclaration = [{
    ::mxc::Reading reading(unsigned) { return ::mxc::Reading::often; }
    ::mxc::PaperFacts paperFacts(::mxc::BackwardReads reads);
  }];
  let dsl = 1;
}

// ---- Not in the DSL ---------------------------------------------------------------------------------------------------------
def Mx_LrnGradOp : Mx_LrnFamilyOp<"lrn_grad"> {
  let summary = "the gradient of lrn's input, from that input: what was divided by is computed again";
  let arguments = (ins Mx_Tensor:$dy, Mx_Tensor:$input, I64Attr:$size, F64Attr:$alpha, F64Attr:$beta, F64Attr:$k);
  let results = (outs Mx_Tensor:$output);
}
def Mx_ChannelWindowSumOp : Mx_LrnFamilyOp<"channel_window_sum"> {
  let summary = "the sum over `size` channels (axis 1) around each element, an odd number: symmetric, so that it is its own gradient";
  let arguments = (ins Mx_Tensor:$input, I64Attr:$size);
  let results = (outs Mx_Tensor:$output);
}
#endif

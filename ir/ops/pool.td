// Pooling over windows.
#ifndef MXC_IR_OPS_POOL_TD
#define MXC_IR_OPS_POOL_TD
include "ir/mx.td"

// All tensors have their channels in blocks: vectors run over channels.
class Mx_PoolOp<string mnemonic> : Mx_ComputeOp<mnemonic, [DeclareOpInterfaceMethods<Mx_LayoutRules>]> {
  let extraClassDeclaration = "::mxc::Reading reading(unsigned) { return ::mxc::Reading::often; }";
  let extraClassDefinition = [{
    ::mxc::TensorType $cppClass::wantedOperandType(unsigned operand, int64_t lanes) {
      return ::mxc::channelBlocks(::mxc::rankedType((*this)->getOperand(operand)), lanes);
    }
    ::mxc::TensorType $cppClass::wantedResultType(unsigned result, int64_t lanes) {
      return ::mxc::channelBlocks(::mxc::rankedType((*this)->getResult(result)), lanes);
    }
  }];
}

class Mx_Pool<string mnemonic, string text> : Mx_PoolOp<mnemonic> {
  let summary = text;
  let description = [{input [n, c, h, w]; output size (h + 2 pad - kernel) / stride + 1, rounded up if ceil_mode (a window then starts
    inside the padded input). Errors: kernel larger than the padded input; pad not smaller than kernel.}];
  let dsl = 1;
}
defvar readsWindows = [{
    ::mxc::Reading reading(unsigned) { return ::mxc::Reading::windows; }
    ::mxc::Window window() { return {getKernel()[0], getStride()[0], getPad()[0]}; }
}];
def Mx_MaxPoolOp : Mx_Pool<"max_pool", "the largest element of each window; the first of equals takes the gradient"> {
  let arguments = (ins Mx_Tensor:$input, Mx_Size2Attr:$kernel, DefaultValuedAttr<Mx_Size2Attr, "{1, 1}">:$stride,
    DefaultValuedAttr<Mx_Size2Attr, "{0, 0}">:$pad, DefaultValuedAttr<BoolAttr, "false">:$ceil_mode);
  let extraClassDeclaration = readsWindows # [{
    ::mxc::Origin origin() { return ::mxc::Origin::largest; }
    ::mxc::PaperFacts paperFacts(::mxc::BackwardReads reads);
  }];
  // index: the place of the maximum in its window, row-major, i8 up to 127 places, else i32.
  let results = (outs Mx_Tensor:$output, Mx_Tensor:$index);
}
def Mx_AvgPoolOp : Mx_Pool<"avg_pool", "the mean of each window; padding counts as zeros if count_pad"> {
  let arguments = (ins Mx_Tensor:$input, Mx_Size2Attr:$kernel, DefaultValuedAttr<Mx_Size2Attr, "{1, 1}">:$stride,
    DefaultValuedAttr<Mx_Size2Attr, "{0, 0}">:$pad, DefaultValuedAttr<BoolAttr, "false">:$ceil_mode,
    DefaultValuedAttr<BoolAttr, "true">:$count_pad);
  let extraClassDeclaration = readsWindows;
  let results = (outs Mx_Tensor:$output);
}
class Mx_GlobalPool<string mnemonic, string text> : Mx_ComputeOp<mnemonic, [DeclareOpInterfaceMethods<Mx_LayoutRules>]> {
  let summary = text;
  let extraClassDeclaration = "::mxc::Reading reading(unsigned) { return ::mxc::Reading::once; }";
  let description = [{input [n, c, h, w], result [n, c, 1, 1].}];
  let arguments = (ins Mx_Tensor:$input);
  let results = (outs Mx_Tensor:$output);
  let dsl = 1;
}
def Mx_GlobalAvgPoolOp : Mx_GlobalPool<"global_avg_pool", "the mean of each channel's plane">;
def Mx_GlobalMaxPoolOp : Mx_GlobalPool<"global_max_pool", "the largest element of each channel's plane; equals share the gradient">;

def Mx_MaxPoolGradOp : Mx_PoolOp<"max_pool_grad"> {
  let summary = "dy taken to the places that `index` names";
  let arguments = (ins Mx_Tensor:$dy, Mx_Tensor:$index, Mx_Size2Attr:$size, Mx_Size2Attr:$kernel, Mx_Size2Attr:$stride, Mx_Size2Attr:$pad);
  let results = (outs Mx_Tensor:$output);
}
def Mx_AvgPoolGradOp : Mx_PoolOp<"avg_pool_grad"> {
  let summary = "dy spread over its windows";
  let arguments = (ins Mx_Tensor:$dy, Mx_Size2Attr:$size, Mx_Size2Attr:$kernel, Mx_Size2Attr:$stride, Mx_Size2Attr:$pad,
    BoolAttr:$count_pad);
  let results = (outs Mx_Tensor:$output);
}
def Mx_MaxPoolPickOp : Mx_PoolOp<"max_pool_pick"> {
  let summary = "the elements of input that `index` names: the linear map whose transpose is max_pool_grad";
  let arguments = (ins Mx_Tensor:$input, Mx_Tensor:$index, Mx_Size2Attr:$kernel, Mx_Size2Attr:$stride, Mx_Size2Attr:$pad);
  let results = (outs Mx_Tensor:$output);
}
#endif

// Convolution and its two gradients.
#ifndef MXC_IR_OPS_CONV_TD
#define MXC_IR_OPS_CONV_TD
include "ir/mx.td"

def Mx_Conv2dOp : Mx_ComputeOp<"conv2d", [DeclareOpInterfaceMethods<Mx_LayoutRules>]> {
  let summary = "2-D convolution of [n, c, h, w] with `filters` kernels, plus bias";
  let description = [{weight: [filters, c / groups, kernel]; output: [n, filters, oh, ow] with
    oh = (h + 2 pad - dilation (kernel - 1) - 1) / stride + 1. Errors: kernel larger than the padded input; pad not smaller than the
    kernel, dilation included; groups that divide neither channels nor filters.}];
  let arguments = (ins Mx_Tensor:$input, Mx_Param:$weight, Optional<Mx_Param>:$bias, I64Attr:$filters, Mx_Size2Attr:$kernel,
    DefaultValuedAttr<Mx_Size2Attr, "{1, 1}">:$stride, DefaultValuedAttr<Mx_Size2Attr, "{0, 0}">:$pad,
    DefaultValuedAttr<Mx_Size2Attr, "{1, 1}">:$dilation, DefaultValuedAttr<I64Attr, "1">:$groups);
  let results = (outs Mx_Tensor:$output);
  let extraClassDeclaration = [{
    ::mxc::PaperFacts paperFacts(::mxc::BackwardReads reads);
    bool makesRows() { return getGroups() == 1; }
  }];
  let dsl = 1;
  let dslInits = ["weight=xavier", "bias=zeros"];
  let dslOptional = ["bias=true"];
}

def Mx_Conv2dTransposeOp : Mx_CompositeOp<"conv2d_transpose"> {
  let summary = "the transpose of conv2d (deconvolution): what its input's gradient computes, plus bias";
  let description = [{weight: [c, filters / groups, kernel]; output: [n, filters, oh, ow] with
    oh = (h - 1) stride - 2 pad + dilation (kernel - 1) + 1 + extra. Errors: an output of no size; extra not smaller than stride; pad not
    smaller than the kernel, dilation included; groups that divide neither channels nor filters.}];
  let arguments = (ins Mx_Tensor:$input, Mx_Param:$weight, Optional<Mx_Param>:$bias, I64Attr:$filters, Mx_Size2Attr:$kernel,
    DefaultValuedAttr<Mx_Size2Attr, "{1, 1}">:$stride, DefaultValuedAttr<Mx_Size2Attr, "{0, 0}">:$pad,
    DefaultValuedAttr<Mx_Size2Attr, "{1, 1}">:$dilation, DefaultValuedAttr<Mx_Size2Attr, "{0, 0}">:$extra,
    DefaultValuedAttr<I64Attr, "1">:$groups);
  let results = (outs Mx_Tensor:$output);
  let dsl = 1;
  let dslInits = ["weight=xavier", "bias=zeros"];
  let dslOptional = ["bias=true"];
}

def Mx_Conv2dBackwardDataOp : Mx_ComputeOp<"conv2d_backward_data", [DeclareOpInterfaceMethods<Mx_LayoutRules>]> {
  let summary = "the gradient of conv2d's input, of size [.., c, size]";
  let arguments = (ins Mx_Tensor:$dy, Mx_Tensor:$weight, Mx_Size2Attr:$size, Mx_Size2Attr:$stride, Mx_Size2Attr:$pad,
    Mx_Size2Attr:$dilation, I64Attr:$groups);
  let results = (outs Mx_Tensor:$output);
}

def Mx_Conv2dBackwardWeightOp : Mx_ComputeOp<"conv2d_backward_weight", [DeclareOpInterfaceMethods<Mx_LayoutRules>]> {
  let summary = "the gradient of conv2d's weight";
  let arguments = (ins Mx_Tensor:$input, Mx_Tensor:$dy, Mx_Size2Attr:$kernel, Mx_Size2Attr:$stride, Mx_Size2Attr:$pad,
    Mx_Size2Attr:$dilation, I64Attr:$groups);
  let results = (outs Mx_Tensor:$output);
}
#endif

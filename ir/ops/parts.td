// Ops that take tensors apart, put them together, or put something around them.
#ifndef MXC_IR_OPS_PARTS_TD
#define MXC_IR_OPS_PARTS_TD
include "ir/mx.td"

def Mx_ConcatOp : Mx_ComputeOp<"concat"> {
  let extraClassDeclaration = [{
    ::mxc::Reading reading(unsigned) { return ::mxc::Reading::once; }
    ::mxc::Origin origin() { return ::mxc::Origin::moved; }
    ::mxc::PaperFacts paperFacts(::mxc::BackwardReads) { return ::mxc::PaperFacts::linear((*this)->getResults()); }
  }];
  let summary = "the inputs one behind the other along an axis";
  let description = [{Errors: other axes differ; the batch as axis.}];
  let arguments = (ins Variadic<Mx_Tensor>:$inputs, DefaultValuedAttr<I64Attr, "1">:$axis);
  let results = (outs Mx_Tensor:$output);
  let dsl = 1;
}
def Mx_SplitOp : Mx_ComputeOp<"split"> {
  let extraClassDeclaration = "::mxc::Reading reading(unsigned) { return ::mxc::Reading::often; }";
  let summary = "`parts` equal pieces of the input along an axis";
  let description = [{Errors: parts does not divide the axis; the batch as axis.}];
  let arguments = (ins Mx_Tensor:$input, I64Attr:$parts, DefaultValuedAttr<I64Attr, "1">:$axis);
  let results = (outs Variadic<Mx_Tensor>:$outputs);
  let dsl = 1;
  let dslCount = "parts";
}
def Mx_StackOp : Mx_CompositeOp<"stack"> {
  let summary = "the inputs, all of one shape, beside each other along a new axis at place `axis` of the result";
  let description = [{Errors: shapes differ.}];
  let arguments = (ins Variadic<Mx_Tensor>:$inputs, DefaultValuedAttr<I64Attr, "1">:$axis);
  let results = (outs Mx_Tensor:$output);
  let dsl = 1;
}
def Mx_SliceOp : Mx_ComputeOp<"slice"> {
  let extraClassDeclaration = "::mxc::Reading reading(unsigned) { return ::mxc::Reading::once; }";
  let summary = "elements begin, begin + step, ... before end along some axes";
  let description = [{One number an axis in each list. axes: which; without it the first ones. begin and end may be negative: from the end of
    the axis; an end beyond the size is the size, no end is to the end. step: at least 1; without it 1.
    Errors: lists of different lengths; nothing is left of an axis; part of the batch.}];
  let arguments = (ins Mx_Tensor:$input, DenseI64ArrayAttr:$begin, DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$end,
    DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$step, DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$axes);
  let results = (outs Mx_Tensor:$output);
  let dsl = 1;
}
def Mx_PadOp : Mx_ComputeOp<"pad"> {
  let extraClassDeclaration = "::mxc::Reading reading(unsigned) { return ::mxc::Reading::once; }";
  let summary = "the input with `before` and `after` elements of `value` around it";
  let description = [{before and after: one number an axis, at least 0. Errors: another count of numbers; a pad of the batch.}];
  let arguments = (ins Mx_Tensor:$input, DenseI64ArrayAttr:$before, DenseI64ArrayAttr:$after, DefaultValuedAttr<F64Attr, "0.0">:$value);
  let results = (outs Mx_Tensor:$output);
  let dsl = 1;
}
def Mx_TileOp : Mx_CompositeOp<"tile"> {
  let summary = "the input repeated repeats[i] times along axis i";
  let description = [{Errors: another count of numbers than axes; a number below 1; a repetition of the batch.}];
  let arguments = (ins Mx_Tensor:$input, DenseI64ArrayAttr:$repeats);
  let results = (outs Mx_Tensor:$output);
  let dsl = 1;
}

// ---- Not in the DSL ---------------------------------------------------------------------------------------------------------
def Mx_SliceGradOp : Mx_ComputeOp<"slice_grad"> {
  let extraClassDeclaration = "::mxc::Reading reading(unsigned) { return ::mxc::Reading::once; }";
  let summary = "zeros of shape `size` with dy at begin, begin + step, ...";
  let arguments = (ins Mx_Tensor:$dy, DenseI64ArrayAttr:$size, DenseI64ArrayAttr:$begin, DenseI64ArrayAttr:$step);
  let results = (outs Mx_Tensor:$output);
}
#endif

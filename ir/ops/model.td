// What a model is made of beside computation: inputs, parameters, and what becomes of the results; the kernel op.
#ifndef MXC_IR_OPS_MODEL_TD
#define MXC_IR_OPS_MODEL_TD
include "ir/mx.td"

def Mx_InputOp : Mx_Op<"input"> {
  let summary = "an input of the model, one row a sample if the type has a batch axis";
  let arguments = (ins StrAttr:$name);
  let results = (outs AnyTensor:$output);
  let assemblyFormat = "$name attr-dict `:` type($output)";
}

def Mx_ParameterOp : Mx_Op<"parameter"> {
  let summary = "a tensor that lives as long as the program: trainable, or layer state";
  let description = [{The type may be unranked until its user determines it. `init` names an initialiser
    ("zeros", "ones", "constant", "uniform", "normal", "xavier", "msra"), `init_args` its numbers.}];
  let arguments = (ins StrAttr:$name, StrAttr:$init, OptionalAttr<DenseF64ArrayAttr>:$init_args, DefaultValuedAttr<BoolAttr, "true">:$trainable,
    DefaultValuedAttr<F64Attr, "1.0">:$lr_mult, DefaultValuedAttr<F64Attr, "1.0">:$wd_mult);
  let results = (outs AnyTensor:$output);
  let assemblyFormat = "$name attr-dict `:` type($output)";
}

// Replaced where graphs are built (passes/build_graphs.cc), so it has no lowering.
def Mx_GradientOp : Mx_ComputeOp<"gradient"> {
  let summary = "the gradient of the sum of `of` with respect to `wrt`, of the shape of `wrt`; zeros if `of` does not depend on it";
  let description = [{Both may be any symbols, and the result may be differentiated again (gradient penalties, products of a Hessian with
    a vector). Errors: a type other than floating point; an op between the two that has no gradient.}];
  let arguments = (ins Mx_Tensor:$of, Mx_Tensor:$wrt);
  let results = (outs Mx_Tensor:$output);
  let dsl = 1;
}

def Mx_MinimizeOp : Mx_Op<"minimize"> {
  let summary = "training descends on the mean of this value over the samples";
  let arguments = (ins AnyTensor:$loss);
  let assemblyFormat = "$loss attr-dict `:` type($loss)";
}
def Mx_ReportOp : Mx_Op<"report"> {
  let summary = "a number that progress shows: the mean of this value over the samples";
  let arguments = (ins StrAttr:$name, AnyTensor:$value);
  let assemblyFormat = "$name `,` $value attr-dict `:` type($value)";
}
def Mx_OutputOp : Mx_Op<"output"> {
  let summary = "what inference returns under this name";
  let arguments = (ins StrAttr:$name, AnyTensor:$value);
  let assemblyFormat = "$name `,` $value attr-dict `:` type($value)";
}
def Mx_OptimizerOp : Mx_Op<"optimizer"> {
  let summary = "the update rule of training: its kind, and the defaults of its hyper-parameters";
  let arguments = (ins StrAttr:$kind, DictionaryAttr:$defaults);
  let assemblyFormat = "$kind $defaults attr-dict";
}

def Mx_KernelOp : Mx_Op<"kernel", [IsolatedFromAbove, Pure, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "operations that run as one: an anchor that is not elementwise, with elementwise ones before and behind it; or two";
  let arguments = (ins Variadic<AnyTensor>:$inputs);
  let results = (outs Variadic<AnyTensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let extraClassDeclaration = [{
    // The operations that are not elementwise: one that makes rows, and the anchor, which reads them in windows; or the anchor alone, the
    // first null; or none, both null.
    std::pair<::mlir::Operation*, ::mlir::Operation*> anchors();
  }];
  let assemblyFormat = "`(` $inputs `)` attr-dict-with-keyword `:` functional-type($inputs, $outputs) $body";
}
def Mx_YieldOp : Mx_Op<"yield", [Pure, Terminator, HasParent<"KernelOp">]> {
  let summary = "the results of a kernel";
  let arguments = (ins Variadic<AnyTensor>:$values);
  let builders = [OpBuilder<(ins), [{}]>];
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}
#endif

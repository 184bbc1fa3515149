// The questions that passes and code generation may ask of an operation. An op that lacks an answer does not link.
#ifndef MXC_IR_INTERFACES_TD
#define MXC_IR_INTERFACES_TD

include "mlir/IR/OpBase.td"

def Mx_OpRules : OpInterface<"OpRules"> {
  let cppNamespace = "::mxc::mx";
  let description = [{What every computing op answers.}];
  let methods = [
    InterfaceMethod<[{Sets the types of the results from those of the operands and the attributes, and the shapes of
      parameters that are still unknown. Emits a diagnostic and fails if they do not fit.}],
      "::mlir::LogicalResult", "inferTypes", (ins)>,
    InterfaceMethod<[{Builds the gradients of the operands that are wanted from the gradients of the results.
      Fails, without a diagnostic, if the op has no gradient.}],
      "::mlir::LogicalResult", "buildGradient", (ins "::mxc::GradientBuilder&":$g)>,
    InterfaceMethod<[{Writes the computation as loops, target-neutral (ir/kernel.h).}],
      "::mlir::LogicalResult", "lower", (ins "::mxc::KernelBuilder&":$k)>,
    InterfaceMethod<[{In-place fact: result `result` may be written over operand `operand`, given that nobody needs the
      operand afterwards.}],
      "bool", "canOverwrite", (ins "unsigned":$operand, "unsigned":$result)>,
    InterfaceMethod<[{How the lowering reads an operand, which tells whether its elements may be computed there instead of
      stored. Not asked of elementwise ops.}],
      "::mxc::Reading", "reading", (ins "unsigned":$operand), "", "return ::mxc::Reading::stored;">,
    InterfaceMethod<[{Of an op that reads its operand in windows.}],
      "::mxc::Window", "window", (ins), "", "return {};">,
    InterfaceMethod<[{Whether the lowering is one `contract` whose result is [n, c, h, w], with a parallel loop for each of n, h and w
      and the vector loop for c (others have one step): it can be computed row by row.}],
      "bool", "makesRows", (ins), "", "return false;">,
    InterfaceMethod<[{Whether every `store` to the result is the last word on that element, so that elementwise work may be done
      there. False for results that are accumulated or read again.}],
      "bool", "storesFinal", (ins "unsigned":$result), "", "return true;">,
    InterfaceMethod<[{Where the elements of the first result come from.}],
      "::mxc::Origin", "origin", (ins), "", "return ::mxc::Origin::computed;">,
    InterfaceMethod<[{What the analysis by the MXNet paper's rules asks (ir/paper_facts.h); mxc's own plan does not.}],
      "::mxc::PaperFacts", "paperFacts", (ins "::mxc::BackwardReads":$reads), "",
      "return ::mxc::PaperFacts::unknown($_op->getResults());">,
  ];
}

def Mx_ElementwiseRules : OpInterface<"ElementwiseRules"> {
  let cppNamespace = "::mxc::mx";
  let methods = [
    InterfaceMethod<[{The value of each result at one point (or at a vector of points) from those of the operands.}],
      "::llvm::SmallVector<::mlir::Value>", "body", (ins "::mxc::Body&":$b, "::mlir::ValueRange":$x)>,
    InterfaceMethod<[{Arithmetic of the body, an addition being 1; 0: elements are only moved.}],
      "int64_t", "cost", (ins), "", "return 1;">,
    InterfaceMethod<[{Of one operand: the largest of several elements stays the largest, and where different elements become equal
      the gradient is 0. Then it is the same, bit for bit, before and after a choice of the largest.}],
      "bool", "keepsLargest", (ins), "", "return false;">,
    InterfaceMethod<[{Whether the result is the answer to a question: 1 or 0.}],
      "bool", "givesTruth", (ins), "", "return false;">,
  ];
}

def Mx_ModeRules : OpInterface<"ModeRules"> {
  let cppNamespace = "::mxc::mx";
  let description = [{An op that does other things in training than in evaluation (dropout, batch norm). The pass
    build-graphs replaces it.}];
  let methods = [
    InterfaceMethod<[{Builds what the op means in training or in evaluation, at the builder's place, and returns
      replacements for its results. State operands and their new values are reported through `newState(operand index, value)`.}],
      "::mlir::FailureOr<::llvm::SmallVector<::mlir::Value>>", "buildForMode",
      (ins "::mxc::ModeBuilder&":$m)>,
  ];
}

def Mx_CompositeRules : OpInterface<"CompositeRules"> {
  let cppNamespace = "::mxc::mx";
  let description = [{An op that stands for others, at least with some attributes. The pass build-graphs puts them in its place, so that
    only its types, its errors and its decomposition need to be written.}];
  let methods = [
    InterfaceMethod<[{Builds those ops at the builder's place and returns replacements for the results; the results themselves if
      the op has a kernel of its own and stays.}],
      "::llvm::SmallVector<::mlir::Value>", "decompose", (ins "::mlir::OpBuilder&":$b)>,
  ];
}

def Mx_LayoutRules : OpInterface<"LayoutRules"> {
  let cppNamespace = "::mxc::mx";
  let description = [{An op with wishes about the layout of its operands and results. Others read any layout; their results take
    that of their first operand if the shapes agree, else row-major.}];
  let methods = [
    InterfaceMethod<[{The type that operand `operand` should have, given vectors of `lanes` elements; its present type if any will
      do. Passes insert what is needed to get it.}],
      "::mxc::TensorType", "wantedOperandType", (ins "unsigned":$operand, "int64_t":$lanes)>,
    InterfaceMethod<[{The type that result `result` should have if nobody objects.}],
      "::mxc::TensorType", "wantedResultType", (ins "unsigned":$result, "int64_t":$lanes)>,
  ];
}

def Mx_IndexRules : OpInterface<"IndexRules"> {
  let cppNamespace = "::mxc::mx";
  let description = [{An op that reads an operand's integers as places: they must lie in [0, bound).}];
  let methods = [
    InterfaceMethod<[{The bound of operand `operand`; 0 if it is none that is read so.}],
      "int64_t", "upperBound", (ins "unsigned":$operand)>,
  ];
}

def Mx_ViewRules : OpInterface<"ViewRules"> {
  let cppNamespace = "::mxc::mx";
  let description = [{An op whose result is its first operand's memory read with another shape: no kernel. Operand and result
    are row-major.}];
}

#endif

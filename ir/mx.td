// The `mx` dialect: graphs of tensor operations, from what the user wrote down to fused kernels with places in memory.
#ifndef MXC_IR_MX_TD
#define MXC_IR_MX_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "ir/interfaces.td"

def Mx_Dialect : Dialect {
  let name = "mx";
  let cppNamespace = "::mxc::mx";
  let useDefaultAttributePrinterParser = 1;
  let extraClassDeclaration = [{
    // Families register their own ops (ir/ops/<family>.cc).
    template <typename... Ops> void registerOps() { addOperations<Ops...>(); }
  }];
}

// What a tensor type says beyond its shape: which axis carries the run-time batch, and how the elements lie in memory.
//   batch, unit   the extent of axis `batch` is n * unit at run time (dims hold N * unit); batch = -1: none
//   order         logical axes, outermost first; empty: row-major
//   block_axis    its place in `order` counts blocks of `block` elements, whose elements lie innermost; -1: plain
def Mx_EncodingAttr : AttrDef<Mx_Dialect, "Encoding"> {
  let mnemonic = "enc";
  let parameters = (ins
    DefaultValuedParameter<"int64_t", "-1">:$batch,
    DefaultValuedParameter<"int64_t", "1">:$unit,
    OptionalArrayRefParameter<"int64_t">:$order,
    DefaultValuedParameter<"int64_t", "-1">:$block_axis,
    DefaultValuedParameter<"int64_t", "0">:$block);
  let assemblyFormat = "`<` (`batch` `=` $batch^)? (`unit` `=` $unit^)? (`order` `=` `[` $order^ `]`)? (`block_axis` `=` $block_axis^)? (`block` `=` $block^)? `>`";
}

// Where a value lies, as the memory plan decides:
//   #mx.place<"arena", offset>     bytes from the start of the arena
//   #mx.place<"argument", i>       in the memory of function argument i (donated: parameters and state updated in place)
//   #mx.place<"result", i>         in the memory of function result i (an output of the graph)
def Mx_PlaceAttr : AttrDef<Mx_Dialect, "Place"> {
  let mnemonic = "place";
  let parameters = (ins StringRefParameter<"">:$space, "int64_t":$at);
  let assemblyFormat = "`<` $space `,` $at `>`";
}

// Operand kinds. The DSL passes a Symbol for Mx_Tensor and makes the others itself unless they are given.
def Mx_Tensor : Type<AnyTensor.predicate, "tensor", "::mlir::TensorType">;
def Mx_Param  : Type<AnyTensor.predicate, "trainable parameter", "::mlir::TensorType">;
def Mx_State  : Type<AnyTensor.predicate, "layer state", "::mlir::TensorType">;

// Attribute kinds with a meaning of their own in the DSL.
def Mx_Size2Attr : TypedArrayAttrBase<I64Attr, "two sizes: height and width"> {
  let predicate = DenseI64ArrayAttr.predicate;
  let storageType = DenseI64ArrayAttr.storageType;
  let returnType = DenseI64ArrayAttr.returnType;
  let convertFromStorage = DenseI64ArrayAttr.convertFromStorage;
  let constBuilderCall = DenseI64ArrayAttr.constBuilderCall;
}
// A string out of a list; the DSL checks it where it is written.
class Mx_Choice<list<string> values> : StringBasedAttr<CPred<"::llvm::isa<::mlir::StringAttr>($_self)">, "one of the listed strings"> {
  list<string> choices = values;
}

// Every operation. `dsl = 1` shows it in the DSL as a function of its mnemonic.
class Mx_Op<string mnemonic, list<Trait> traits = []> : Op<Mx_Dialect, mnemonic, traits> {
  bit dsl = 0;
  string dslName = mnemonic;
  list<string> dslInits = [];     // "weight=xavier": default initialisers of Mx_Param and Mx_State operands
  list<string> dslOptional = [];  // "bias=true": whether an optional operand is there by default
  int dslResults = 1;             // how many of the results the DSL shows; the others serve the gradient alone
  string dslCount = "";           // for one variadic result: the attribute that says how many there are
}

// An operation that computes tensors from tensors and follows all rules of ir/interfaces.td.
class Mx_ComputeOp<string mnemonic, list<Trait> traits = []>
    : Mx_Op<mnemonic, traits # [Pure, DeclareOpInterfaceMethods<Mx_OpRules>]> {
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

// An operation that stands for others (Mx_CompositeRules) and has no kernel; its gradient is theirs.
class Mx_CompositeOp<string mnemonic, list<Trait> traits = []>
    : Mx_ComputeOp<mnemonic, traits # [DeclareOpInterfaceMethods<Mx_CompositeRules>]> {
  let extraClassDefinition = [{
    ::mlir::LogicalResult $cppClass::buildGradient(::mxc::GradientBuilder& g) {
      return ::mxc::gradientThrough(g, *this, [&](::mlir::OpBuilder& b) { return decompose(b); });
    }
    ::mlir::LogicalResult $cppClass::lower(::mxc::KernelBuilder&) { return ::mlir::failure(); }
    bool $cppClass::canOverwrite(unsigned, unsigned) { return false; }
  }];
}

// An operation on corresponding elements, with NumPy broadcasting. It has a `body` and a gradient; the rest follows.
class Mx_ElementwiseOp<string mnemonic, list<Trait> traits = []>
    : Mx_ComputeOp<mnemonic, traits # [DeclareOpInterfaceMethods<Mx_ElementwiseRules>]> {
  let extraClassDefinition = [{
    ::mlir::LogicalResult $cppClass::inferTypes() { return ::mxc::mx::inferElementwise(*this); }
    ::mlir::LogicalResult $cppClass::lower(::mxc::KernelBuilder& k) { return ::mxc::mx::lowerElementwise(*this, k); }
    bool $cppClass::canOverwrite(unsigned operand, unsigned result) { return ::mxc::mx::sameStorage(*this, operand, result); }
  }];
}

// An elementwise op whose result type does not follow from broadcasting alone: it answers all rules itself.
class Mx_TypedElementwiseOp<string mnemonic, list<Trait> traits = []>
    : Mx_ComputeOp<mnemonic, traits # [DeclareOpInterfaceMethods<Mx_ElementwiseRules>]>;

#endif

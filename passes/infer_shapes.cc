// infer-shapes: types flow forward through the model, in the order in which the user wrote it.
//
//   before:  %w = mx.parameter "dense0.weight" : tensor<*xf32>
//            %y = mx.dense %x, %w {units = 10} : (tensor<64x784xf32, #b>, tensor<*xf32>) -> tensor<*xf32>
//   after:   %w = mx.parameter "dense0.weight" : tensor<10x784xf32>
//            %y = mx.dense %x, %w {units = 10} : (...) -> tensor<64x10xf32, #b>
//
// Each op infers its results from its operands and fixes the shapes of its own parameters. Needs: operands before users.
// After it every value of the module has a ranked type. An error that does not say where its operands come from is told so here.
#include "llvm/ADT/SetVector.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/MathExtras.h"

#include "ir/mx.h"
#include "passes/passes.h"

using namespace mlir;

namespace mxc::passes {
namespace {

// Whether the user must look at this operand to understand the message: it tells of its shape, its element type or its axes.
bool tellsOf(StringRef message, TensorType type) {
  std::string element, shape = shapeText(type);
  llvm::raw_string_ostream(element) << "'" << type.getElementType() << "'";
  return llvm::any_of(std::initializer_list<StringRef>{shape, element, "-D", "axis", "batch"},
                      [&](StringRef word) { return message.contains(word); });
}

// Adds where the operands come from to an error that does not say it.
void noteOperands(Diagnostic& error, Operation* op) {
  if (!error.getNotes().empty()) return;
  std::string message = error.str();
  bool mixed = llvm::any_of(op->getOperandTypes(), [](Type type) { return !isa<FloatType>(getElementTypeOrSelf(type)); });
  for (Value operand : llvm::SetVector<Value>(op->operand_begin(), op->operand_end())) {
    TensorType type = rankedType(operand);
    Operation* source = operand.getDefiningOp();
    bool number = source && isa<mx::OpRules>(source) && source->getNumOperands() == 0;
    if (!type || number || !tellsOf(message, type)) continue;
    Diagnostic& note = error.attachNote(operand.getLoc()) << "shape " << shapeText(type);
    if (mixed) note << " of " << type.getElementType();
    note << " comes from here";
  }
}

constexpr int64_t kMostRank = 8;                       // as many as a Plan describes
constexpr int64_t kMostElements = int64_t{1} << 40;    // of a tensor: products with sizes of elements and blocks stay exact
constexpr int64_t kMostAttribute = int64_t{1} << 31;   // sums and products of two stay exact

bool hasTooManyElements(TensorType type) {
  int64_t elements = 1;
  for (int64_t dim : type.getShape())
    if (llvm::MulOverflow(elements, std::max<int64_t>(dim, 1), elements) || elements > kMostElements) return true;
  return false;
}

LogicalResult checkSize(Operation* op, Value value, StringRef what) {
  TensorType type = rankedType(value);
  if (!type) return success();
  if (type.getRank() > kMostRank) return op->emitOpError() << what << " of " << type.getRank() << " axes: at most " << kMostRank << " are possible";
  if (hasTooManyElements(type)) return op->emitOpError() << what << " of " << shapeText(type) << ": at most 2^40 elements are possible";
  return success();
}

// Bounds and values to fill with may be infinite, other real numbers not; NaN is none.
LogicalResult checkReal(Operation* op, NamedAttribute attribute) {
  auto number = dyn_cast<FloatAttr>(attribute.getValue());
  if (!number) return success();
  StringRef name = attribute.getName();
  if (number.getValue().isNaN()) return op->emitOpError() << "needs a number as its " << name << ", got nan";
  if (number.getValue().isInfinity() && name != "low" && name != "high" && name != "value") return op->emitOpError() << "needs a finite " << name << ", got " << (number.getValue().isNegative() ? "-inf" : "inf");
  return success();
}

// Ends of slices may lie anywhere; other numbers of an operation are sizes, counts and distances.
LogicalResult checkAttributes(Operation* op) {
  for (NamedAttribute attribute : op->getAttrs()) {
    if (failed(checkReal(op, attribute))) return failure();
    if (attribute.getName() == "begin" || attribute.getName() == "end") continue;
    SmallVector<int64_t> numbers;
    if (auto list = dyn_cast<DenseI64ArrayAttr>(attribute.getValue())) numbers.assign(list.asArrayRef().begin(), list.asArrayRef().end());
    if (auto one = dyn_cast<IntegerAttr>(attribute.getValue()); one && one.getType().isInteger(64)) numbers.push_back(one.getInt());
    for (int64_t number : numbers)
      if (number > kMostAttribute || number < -kMostAttribute)
        return op->emitOpError() << attribute.getName().getValue() << " is out of range: " << number;
  }
  return success();
}

LogicalResult inferChecked(mx::OpRules op) {
  if (failed(checkAttributes(op)) || failed(op.inferTypes())) return failure();
  for (Value operand : op->getOperands())
    if (operand.getDefiningOp<mx::ParameterOp>() && failed(checkSize(op, operand, "needs a parameter"))) return failure();
  for (Value result : op->getResults())
    if (failed(checkSize(op, result, "makes a tensor"))) return failure();
  return success();
}

LogicalResult infer(mx::OpRules op) {
  std::vector<Diagnostic> said;
  LogicalResult result = failure();
  {
    ScopedDiagnosticHandler handler(op.getContext(), [&](Diagnostic& diagnostic) {
      said.push_back(std::move(diagnostic));
      return success();
    });
    result = inferChecked(op);
  }
  for (Diagnostic& diagnostic : said) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error) noteOperands(diagnostic, op);
    op.getContext()->getDiagEngine().emit(std::move(diagnostic));
  }
  return result;
}

}  // namespace

LogicalResult inferShapes(ModuleOp module, const PipelineOptions&) {
  for (Operation& op : module.getBody()->getOperations()) {
    if (isa<mx::InputOp, mx::ParameterOp>(op) && failed(checkSize(&op, op.getResult(0), "is a tensor"))) return failure();
    if (auto rules = dyn_cast<mx::OpRules>(op))
      if (failed(infer(rules))) return failure();
  }
  for (auto parameter : module.getOps<mx::ParameterOp>())
    if (!rankedType(parameter.getOutput()))
      return parameter.emitError() << "nothing determines the shape of parameter " << parameter.getName();
  return success();
}

}  // namespace mxc::passes

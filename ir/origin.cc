// No operation says how it hands sizes on, but each can infer types: the size of an operand is changed, and the operation is asked
// what becomes of its result. If a size of the result follows one size of one operand alone, it comes from there. Several (concat,
// flatten), or none, and the operation itself has decided. Where a change is refused because sizes are tied (the two operands of an
// addition), the first operand that has this size at this place is followed.
#include "ir/origin.h"

#include "ir/mx.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace mxc {
namespace {

bool isParameter(Value value) { return value.getDefiningOp<mx::ParameterOp>() != nullptr; }

// Type inference of one operation with other operands than its own.
class Experiment {
 public:
  explicit Experiment(Operation* op) : op_(op) {
    // A parameter without a shape of its own takes what the operation gives it.
    free_parameters_ = true;
    free_parameters_ = !infer(-1, {}).empty();
  }

  // The types of the results if operand `k` had the type `changed`; empty if they would not fit.
  SmallVector<Type> infer(int k, TensorType changed) const {
    Block block;
    IRMapping map;
    for (auto [i, operand] : llvm::enumerate(op_->getOperands())) {
      Type type = operand.getType();
      if (static_cast<int>(i) == k) type = changed;
      else if (isParameter(operand) && free_parameters_) type = UnrankedTensorType::get(getElementTypeOrSelf(type));
      map.map(operand, block.addArgument(type, op_->getLoc()));
    }
    Operation* copy = op_->clone(map);
    block.push_back(copy);
    ScopedDiagnosticHandler silent(op_->getContext(), [](Diagnostic&) { return success(); });
    SmallVector<Type> types;
    if (succeeded(cast<mx::OpRules>(copy).inferTypes())) llvm::append_range(types, copy->getResultTypes());
    return types;
  }

  bool freesParameters() const { return free_parameters_; }

 private:
  Operation* op_;
  bool free_parameters_;
};

TensorType doubled(TensorType type, int64_t axis) {
  SmallVector<int64_t> dims(type.getShape());
  dims[axis] *= 2;
  return withDims(plain(type), dims);
}

// The operand's size that `size` follows; a null value: the operation decides.
Size sourceOf(Size size) {
  Operation* op = size.value.getDefiningOp();
  TensorType type = rankedType(size.value);
  if (!op || !isa<mx::OpRules>(op) || !type) return {};
  unsigned result = cast<OpResult>(size.value).getResultNumber();
  Experiment experiment(op);
  Size source, tied;
  int found = 0;
  for (auto [k, operand] : llvm::enumerate(op->getOperands())) {
    TensorType own = rankedType(operand);
    if (!own || (isParameter(operand) && experiment.freesParameters())) continue;
    for (int64_t axis = 0; axis < own.getRank(); ++axis) {
      if (batchAxis(own) == axis) continue;
      SmallVector<Type> types = experiment.infer(static_cast<int>(k), doubled(own, axis));
      bool same_place = own.getRank() - axis == type.getRank() - size.axis && own.getDimSize(axis) == type.getDimSize(size.axis);
      if (types.empty() && same_place && !tied.value) tied = {operand, axis};
      if (types.empty()) continue;
      auto changed = cast<TensorType>(types[result]);
      if (changed.getRank() != type.getRank() || changed.getDimSize(size.axis) == type.getDimSize(size.axis)) continue;
      ++found;
      source = {operand, axis};
    }
  }
  return found == 1 ? source : found == 0 ? tied : Size{};
}

}  // namespace

Size originOf(Size size) {
  for (Size source = size; source.value; source = sourceOf(size)) size = source;
  return size;
}

void noteOrigin(InFlightDiagnostic& error, Value value, int64_t axis, const Twine& what, bool plural) {
  TensorType type = rankedType(value);
  if (!type || axis < 0 || axis >= type.getRank()) return;
  Size origin = originOf({value, axis});
  if (origin.value != value) error.attachNote(value.getLoc()) << "input " << shapeText(type) << " comes from here";
  error.attachNote(origin.value.getLoc()) << what << " of " << shapeText(rankedType(origin.value))
                                              << (plural ? " come" : " comes") << " from here";
}

std::string operandText(Operation* op, unsigned operand) {
  Value value = op->getOperand(operand);
  if (auto parameter = value.getDefiningOp<mx::ParameterOp>()) return "parameter " + parameter.getName().str();
  if (auto name = dyn_cast<NameLoc>(value.getLoc())) return name.getName().str();
  return "operand " + std::to_string(operand);
}

}  // namespace mxc

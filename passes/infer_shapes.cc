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

LogicalResult infer(mx::OpRules op) {
  std::vector<Diagnostic> said;
  LogicalResult result = failure();
  {
    ScopedDiagnosticHandler handler(op.getContext(), [&](Diagnostic& diagnostic) {
      said.push_back(std::move(diagnostic));
      return success();
    });
    result = op.inferTypes();
  }
  for (Diagnostic& diagnostic : said) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error) noteOperands(diagnostic, op);
    op.getContext()->getDiagEngine().emit(std::move(diagnostic));
  }
  return result;
}

}  // namespace

LogicalResult inferShapes(ModuleOp module, const PipelineOptions&) {
  for (Operation& op : module.getBody()->getOperations())
    if (auto rules = dyn_cast<mx::OpRules>(op))
      if (failed(infer(rules))) return failure();
  for (auto parameter : module.getOps<mx::ParameterOp>())
    if (!rankedType(parameter.getOutput()))
      return parameter.emitError() << "nothing determines the shape of parameter " << parameter.getName();
  return success();
}

}  // namespace mxc::passes

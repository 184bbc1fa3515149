// Model ops have no rules of their own beyond their types: passes consume them. And kernels.
#include "ir/gradient.h"
#include "ir/mx.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "ir/ops/model.cc.inc"

namespace mxc::mx {

void registerFamily_model(MxDialect& dialect) { dialect.registerOps<
#define GET_OP_LIST
#include "ir/ops/model.cc.inc"
      >(); }

LogicalResult GradientOp::inferTypes() {
  for (Value operand : getOperands())
    if (!isa<FloatType>(rankedType(operand).getElementType())) return emitOpError() << "needs floating-point operands";
  getOutput().setType(plain(rankedType(getWrt())));
  return success();
}
LogicalResult GradientOp::buildGradient(GradientBuilder&) { return failure(); }
LogicalResult GradientOp::lower(KernelBuilder&) { return emitOpError() << "is not replaced yet"; }
bool GradientOp::canOverwrite(unsigned, unsigned) { return false; }

std::pair<Operation*, Operation*> KernelOp::anchors() {
  std::pair<Operation*, Operation*> found = {nullptr, nullptr};
  for (Operation& op : getBody().front().without_terminator())
    if (!isa<ElementwiseRules>(op)) found = {found.second, &op};
  return found;
}

void YieldOp::build(OpBuilder&, OperationState&) {}

}  // namespace mxc::mx

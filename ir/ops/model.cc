// Model ops have no rules of their own beyond their types: passes consume them.
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

void YieldOp::build(OpBuilder&, OperationState&) {}

}  // namespace mxc::mx

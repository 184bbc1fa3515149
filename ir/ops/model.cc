// Model ops have no rules of their own: passes consume them.
#include "ir/mx.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "ir/ops/model.cc.inc"

namespace mxc::mx {

void registerFamily_model(MxDialect& dialect) { dialect.registerOps<
#define GET_OP_LIST
#include "ir/ops/model.cc.inc"
      >(); }

void YieldOp::build(OpBuilder&, OperationState&) {}

}  // namespace mxc::mx

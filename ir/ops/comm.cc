// Transfers have no rules: they are placed when kernels have their order, and no pass comes behind that.
#include "ir/ops/comm.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "ir/ops/comm.cc.inc"

namespace mxc::mx {

void registerFamily_comm(MxDialect& dialect) { dialect.registerOps<
#define GET_OP_LIST
#include "ir/ops/comm.cc.inc"
      >(); }

}  // namespace mxc::mx

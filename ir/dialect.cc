// Registration of the dialect's attributes, and of its operations family by family.
#include "ir/mx.h"

#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/DialectImplementation.h"

#include "ir/mx_dialect.cc.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/mx_attrs.cc.inc"
#include "ir/interfaces.cc.inc"

namespace mxc::mx {
#include "ir/families_decl.inc"

void MxDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "ir/mx_attrs.cc.inc"
      >();
#include "ir/families_call.inc"
}

}  // namespace mxc::mx

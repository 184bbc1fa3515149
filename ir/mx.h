// The mx dialect: everything of ir/ that passes, code generation and the importer include.
#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "ir/gradient.h"
#include "ir/kernel.h"
#include "ir/paper_facts.h"
#include "ir/types.h"

#include "ir/mx_dialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/mx_attrs.h.inc"
#include "ir/interfaces.h.inc"

#define GET_OP_CLASSES
#include "ir/ops/model.h.inc"

// make<Op>: builds an op and lets it infer the types of its results.
#pragma once

#include "mlir/IR/Builders.h"
#include "mlir/IR/Operation.h"

namespace mxc {

// Builds `name` with `results` results of types that the op infers. Requires: the operands' types fit (the callers are passes and
// gradients, so a misfit is a bug and asserts through the verifier).
mlir::Operation* makeOp(mlir::OpBuilder& builder, mlir::Location loc, llvm::StringRef name, mlir::ValueRange operands,
                        llvm::ArrayRef<mlir::NamedAttribute> attributes, unsigned results);

template <typename OpType>
OpType makeAs(mlir::OpBuilder& builder, mlir::Location loc, mlir::ValueRange operands,
              llvm::ArrayRef<mlir::NamedAttribute> attributes = {}, unsigned results = 1) {
  return llvm::cast<OpType>(makeOp(builder, loc, OpType::getOperationName(), operands, attributes, results));
}

template <typename OpType>
mlir::Value make(mlir::OpBuilder& builder, mlir::Location loc, mlir::ValueRange operands,
                 llvm::ArrayRef<mlir::NamedAttribute> attributes = {}) {
  return makeOp(builder, loc, OpType::getOperationName(), operands, attributes, 1)->getResult(0);
}

}  // namespace mxc

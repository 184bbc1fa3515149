// Attribute values of symbol JSON as MLIR attributes, by the kind that the operation's definition gives them.
#pragma once

#include <string>

#include "frontend/import/op_schema.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include "mlir/IR/Builders.h"

namespace mxc::frontend {

// The element type that a dtype of symbol JSON names; f32 is the model's floating type. Null if there is none of that name.
mlir::Type elementType(llvm::StringRef dtype, bool f64, mlir::Builder& builder);

// A real number: a JSON number, or one of the strings "inf", "-inf", "nan".
std::optional<double> readReal(const llvm::json::Value& json);

// Null if `json` is not of the attribute's kind; `expected` then says what is.
mlir::Attribute readAttribute(const llvm::json::Value& json, const AttributeSchema& schema, bool f64, mlir::Builder& builder,
                              std::string& expected);

}  // namespace mxc::frontend

// One case a kind of attribute; see attribute.h.
#include "frontend/import/attribute.h"

#include <cmath>
#include <limits>

namespace mxc::frontend {

namespace {

std::optional<llvm::SmallVector<int64_t>> readIntegers(const llvm::json::Value& json) {
  const llvm::json::Array* list = json.getAsArray();
  if (!list) return std::nullopt;
  llvm::SmallVector<int64_t> values;
  for (const llvm::json::Value& item : *list) {
    auto value = item.getAsInteger();
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

mlir::Attribute readChoice(const llvm::json::Value& json, const AttributeSchema& schema, mlir::Builder& builder,
                           std::string& expected) {
  auto text = json.getAsString();
  expected = "one of";
  for (std::string_view choice : schema.choices) {
    if (text && *text == llvm::StringRef(choice)) return builder.getStringAttr(*text);
    expected += " \"" + std::string(choice) + "\"";
  }
  return {};
}

}  // namespace

mlir::Type elementType(llvm::StringRef dtype, bool f64, mlir::Builder& builder) {
  if (dtype == "f32") return f64 ? mlir::Type(builder.getF64Type()) : builder.getF32Type();
  if (dtype == "f64") return builder.getF64Type();
  if (dtype == "i32") return builder.getI32Type();
  if (dtype == "i64") return builder.getI64Type();
  if (dtype == "u8") return builder.getIntegerType(8, /*isSigned=*/false);
  if (dtype == "bool") return builder.getI1Type();
  return {};
}

std::optional<double> readReal(const llvm::json::Value& json) {
  if (auto number = json.getAsNumber()) return *number;
  auto text = json.getAsString();
  if (!text) return std::nullopt;
  if (*text == "inf") return std::numeric_limits<double>::infinity();
  if (*text == "-inf") return -std::numeric_limits<double>::infinity();
  if (*text == "nan") return std::numeric_limits<double>::quiet_NaN();
  return std::nullopt;
}

mlir::Attribute readAttribute(const llvm::json::Value& json, const AttributeSchema& schema, bool f64, mlir::Builder& builder,
                              std::string& expected) {
  switch (schema.kind) {
    case AttributeKind::integer: {
      expected = "an integer";
      auto value = json.getAsInteger();
      return value ? builder.getI64IntegerAttr(*value) : mlir::Attribute();
    }
    case AttributeKind::real: {
      expected = "a number";
      auto value = readReal(json);
      return value ? builder.getF64FloatAttr(*value) : mlir::Attribute();
    }
    case AttributeKind::boolean: {
      expected = "true or false";
      auto value = json.getAsBoolean();
      return value ? builder.getBoolAttr(*value) : mlir::Attribute();
    }
    case AttributeKind::string: {
      expected = "a string";
      auto value = json.getAsString();
      return value ? builder.getStringAttr(*value) : mlir::Attribute();
    }
    case AttributeKind::dtype: {
      expected = "the name of an element type";
      mlir::Type type = elementType(json.getAsString().value_or(""), f64, builder);
      return type ? mlir::TypeAttr::get(type) : mlir::Attribute();
    }
    case AttributeKind::size2:
    case AttributeKind::ints: {
      bool two = schema.kind == AttributeKind::size2;
      expected = two ? "two integers" : "a list of integers";
      auto values = readIntegers(json);
      return values && (!two || values->size() == 2) ? builder.getDenseI64ArrayAttr(*values) : mlir::Attribute();
    }
    case AttributeKind::reals: {
      expected = "a list of numbers";
      const llvm::json::Array* list = json.getAsArray();
      if (!list) return {};
      llvm::SmallVector<double> values;
      for (const llvm::json::Value& item : *list) {
        auto value = readReal(item);
        if (!value) return {};
        values.push_back(*value);
      }
      return builder.getDenseF64ArrayAttr(values);
    }
    case AttributeKind::choice: return readChoice(json, schema, builder, expected);
  }
  return {};
}

}  // namespace mxc::frontend

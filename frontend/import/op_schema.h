// What the frontend knows of each operation of the DSL: a table made from ir/ops/*.td when building (scripts/gen_dsl.py).
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace mxc::frontend {

enum class Role { tensor, parameter, state };
enum class Arity { one, optional, variadic };

struct OperandSchema {
  std::string_view name;
  Role role;
  Arity arity;
};

enum class AttributeKind { integer, real, boolean, string, dtype, size2, ints, reals, choice };

struct AttributeSchema {
  std::string_view name;
  AttributeKind kind;
  bool required;
  std::string_view default_text;  // as the definition writes it; empty: none
  std::vector<std::string_view> choices;
};

struct OpSchema {
  std::string_view name;      // "conv2d": the operation is "mx.conv2d"
  std::string_view function;  // of the DSL
  std::string_view summary;
  std::string_view description;
  std::vector<OperandSchema> operands;
  std::vector<AttributeSchema> attributes;
  std::vector<std::string_view> results;
  bool operand_segments;  // the operation has operandSegmentSizes
  std::string_view count;  // the integer attribute that says how many results there are; empty: as many as `results`
};

// In the order of names.
std::span<const OpSchema> opSchemas();
// nullptr if there is none of that name.
const OpSchema* findOpSchema(std::string_view name);

}  // namespace mxc::frontend

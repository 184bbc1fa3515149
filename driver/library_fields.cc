// See library_fields.h.
#include "driver/library_fields.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"

namespace mxc::driver {

namespace {

// Of C99 and C++20.
constexpr const char* kKeywords[] = {
    "alignas",   "alignof",  "and",          "and_eq",    "asm",        "auto",      "bitand",   "bitor",     "bool",          "break",
    "case",      "catch",    "char",         "char16_t",  "char32_t",   "char8_t",   "class",    "co_await",  "co_return",     "co_yield",
    "compl",     "concept",  "const",        "const_cast", "consteval", "constexpr", "constinit", "continue", "decltype",      "default",
    "delete",    "do",       "double",       "dynamic_cast", "else",    "enum",      "explicit", "export",    "extern",        "false",
    "float",     "for",      "friend",       "goto",      "if",         "inline",    "int",      "long",      "mutable",       "namespace",
    "new",       "noexcept", "not",          "not_eq",    "nullptr",    "operator",  "or",       "or_eq",     "private",       "protected",
    "public",    "register", "reinterpret_cast", "requires", "restrict", "return",   "short",    "signed",    "sizeof",        "static",
    "static_assert", "static_cast", "struct", "switch",   "template",   "this",      "thread_local", "throw", "true",          "try",
    "typedef",   "typeid",   "typename",     "union",     "unsigned",   "using",     "virtual",  "void",      "volatile",      "wchar_t",
    "while",     "xor",      "xor_eq"};

const char* cType(plan::DType dtype) {
  switch (dtype) {
    case plan::DType::f32: return "float";
    case plan::DType::f64: return "double";
    case plan::DType::f16:
    case plan::DType::bf16: return "uint16_t";
    case plan::DType::i8: return "int8_t";
    case plan::DType::u8:
    case plan::DType::boolean: return "uint8_t";
    case plan::DType::i32: return "int32_t";
    case plan::DType::i64: return "int64_t";
  }
  return "void";
}

bool byTheSample(const plan::Buffer& buffer) { return buffer.batch_axis == 0; }

std::string shapeText(const plan::Buffer& buffer) {
  std::string text;
  for (int axis = 0; axis < buffer.rank; ++axis) {
    text += axis == 0 ? "" : ", ";
    if (axis != buffer.batch_axis) text += std::to_string(buffer.dims[axis]);
    else text += buffer.batch_unit == 1 ? "n" : std::to_string(buffer.batch_unit) + " n";
  }
  return "[" + text + "]";
}

std::string noteOf(const plan::Buffer& buffer) {
  std::string text = std::string(core::dtype_name(buffer.dtype)) + " " + shapeText(buffer);
  if (buffer.batch_axis > 0) text += ", where the memory is that of n = " + std::to_string(core::batch_capacity(buffer));
  if (buffer.upper_bound > 0) text += ", from 0 to " + std::to_string(buffer.upper_bound - 1);
  return text;
}

}  // namespace

std::string cIdentifier(const std::string& name) {
  std::string text;
  for (char c : name) text += llvm::isAlnum(c) ? c : '_';
  if (text.empty() || llvm::isDigit(text[0])) text = "_" + text;
  return std::find(std::begin(kKeywords), std::end(kKeywords), text) == std::end(kKeywords) ? text : text + "_";
}

std::vector<Field> fieldsOf(const core::PlanView& view, std::span<const plan::Binding> bindings, const std::string& kind) {
  std::vector<Field> fields;
  std::set<std::string> names;
  for (const plan::Binding& binding : bindings) {
    const plan::Buffer& buffer = view.buffer(binding.buffer);
    std::string name = cIdentifier(view.text(binding.name));
    while (!names.insert(name).second) name += "_";
    int64_t elements = byTheSample(buffer) ? core::elements(buffer, 1) : core::elements(buffer);
    fields.push_back({name, cType(buffer.dtype), noteOf(buffer), "{P}_" + kind + "_" + llvm::StringRef(name).upper() + "_ELEMENTS", elements,
                      byTheSample(buffer)});
  }
  return fields;
}

std::string define(const std::string& name, const std::string& value, const std::string& note) {
  std::string text = "#define {P}_" + name + " " + value;
  return text + std::string(text.size() < 50 ? 50 - text.size() : 1, ' ') + "/* " + note + " */\n";
}

std::string structOf(const std::string& name, const std::vector<Field>& fields, bool input) {
  std::string text = "typedef struct {p}_" + name + " {\n";
  for (const Field& field : fields)
    text += std::string("  ") + (input ? "const " : "") + field.type + "* " + field.name + "; /* " + field.note + " */\n";
  if (fields.empty()) text += "  const void* none; /* the model has none */\n";
  return text + "} {p}_" + name + ";\n";
}

std::string spanStructOf(const std::string& name, const std::vector<Field>& fields, bool input) {
  std::string text = "struct " + name + " {\n";
  for (const Field& field : fields)
    text += "  span<" + std::string(input ? "const " : "") + field.type + "> " + field.name + ";  // " + field.note + "\n";
  return text + "};\n";
}

std::string listedFields(const std::vector<Field>& fields, const std::string& before, const std::string& behind) {
  std::string text;
  for (const Field& field : fields) text += (text.empty() ? "" : ", ") + before + field.name + behind;
  return text;
}

std::string spanChecks(const std::vector<Field>& fields, const std::string& struct_name, bool input) {
  std::string text;
  for (const Field& field : fields) {
    std::string span = struct_name + "." + field.name, samples = field.by_sample ? "samples * " : "";
    text += "    if (" + (input ? "" : span + ".data() != nullptr && ") + span + ".size() < " + samples + field.size + ") return {P}_TOO_SHORT;\n";
  }
  return text;
}

std::vector<plan::Binding> deliveredOutputs(const core::PlanView& view, const plan::Graph& graph) {
  std::vector<plan::Binding> delivered;
  for (const plan::Binding& output : view.outputs(graph))
    if (view.buffer(output.buffer).space == plan::Space::io) delivered.push_back(output);
  return delivered;
}

std::string filled(std::string text, const HeaderFacts& facts) {
  auto replace = [&](const std::string& mark, const std::string& value) {
    for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + value.size())) text.replace(at, mark.size(), value);
  };
  replace("{p}", facts.prefix);
  replace("{P}", llvm::StringRef(facts.prefix).upper());
  replace("{file}", facts.file);
  replace("{FILE}", llvm::StringRef(cIdentifier(facts.file)).upper());
  replace("{library}", facts.library);
  return text;
}

}  // namespace mxc::driver

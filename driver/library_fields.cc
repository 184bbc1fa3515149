// See library_fields.h.
#include "driver/library_fields.h"

#include <set>
#include <span>

#include "driver/c_names.h"
#include "llvm/ADT/StringRef.h"

namespace mxc::driver {

namespace {

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

std::vector<Field> fieldsOf(const core::PlanView& view, std::span<const plan::Binding> bindings, const std::string& kind) {
  std::vector<Field> fields;
  std::set<std::string> taken;  // in capitals
  for (const plan::Binding& binding : bindings) {
    const plan::Buffer& buffer = view.buffer(binding.buffer);
    std::string name = cIdentifier(view.text(binding.name));
    while (!taken.insert(llvm::StringRef(name).upper()).second) name += "_";
    int64_t elements = byTheSample(buffer) ? core::elements(buffer, 1) : core::elements(buffer);
    fields.push_back({name, cType(buffer.dtype), noteOf(buffer), "{P}_" + kind + "_" + llvm::StringRef(name).upper() + "_ELEMENTS", elements,
                      byTheSample(buffer)});
  }
  return fields;
}

}  // namespace

Fields inferenceFields(const core::PlanView& view) {
  const plan::Graph& graph = view.graph(0);
  return {fieldsOf(view, view.inputs(graph), "INPUT"), fieldsOf(view, view.outputs(graph), "OUTPUT")};
}

Fields trainingFields(const core::PlanView& view) {
  const plan::Graph& graph = view.graph(1);
  std::vector<plan::Binding> delivered;
  for (const plan::Binding& output : view.outputs(graph))
    if (view.buffer(output.buffer).space == plan::Space::io) delivered.push_back(output);
  Fields fields = {fieldsOf(view, view.inputs(graph), "TRAIN_INPUT"), fieldsOf(view, delivered, "TRAIN_OUTPUT")};
  for (Field& number : fields.outputs) number.size = "1";
  return fields;
}

std::string setName(const SizeSet& set) {
  std::string text;
  for (const auto& [name, size] : set.dims) text += (text.empty() ? "" : "_") + llvm::StringRef(cIdentifier(name)).upper() + "_" + std::to_string(size);
  return text;
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
    text += "  ::{n}::span<" + std::string(input ? "const " : "") + field.type + "> " + field.name + ";  // " + field.note + "\n";
  return text + "};\n";
}

namespace {

// "in.x.data(), in.y.data()".
std::string pointers(const std::vector<Field>& fields, const std::string& struct_name) {
  std::string text;
  for (const Field& field : fields) text += (text.empty() ? "" : ", ") + struct_name + "." + field.name + ".data()";
  return text.empty() ? "nullptr" : text;
}

// Lines that refuse a number of samples, and spans that are too short for it (an output's may be empty). `behind`: of the constants' names.
std::string spanChecks(const Fields& fields, const std::string& behind, const std::string& indent) {
  std::string text = indent + "if (n < 1 || n > {P}_BATCH" + behind + ") return {P}_WRONG_BATCH;\n";
  auto check = [&](const Field& field, const std::string& span, const std::string& wanted) {
    std::string size = field.size == "1" ? "1" : field.size + behind;
    text += indent + "if (" + wanted + span + ".size() < " + (field.by_sample ? "samples * " : "") + size + ") return {P}_TOO_SHORT;\n";
  };
  for (const Field& field : fields.inputs) check(field, "in." + field.name, "");
  for (const Field& field : fields.outputs) check(field, "out." + field.name, "out." + field.name + ".data() != nullptr && ");
  return text;
}

// A member of the C++ class: its head, its checks, the call. `set`: "set, " or nothing.
std::string spanMember(const std::string& verb, const std::string& kind, const Fields& fields, const std::string& set, const std::string& otherwise,
                       const std::string& checks) {
  std::string text = "  int " + verb + "(" + (set.empty() ? "" : "int set, ") + "const " + kind + "inputs& in, const " + kind + "outputs& out, std::int64_t n" +
                     otherwise + ") {\n    const std::size_t samples = static_cast<std::size_t>(n);\n    (void)samples, (void)in, (void)out;\n" + checks;
  text += "    const {p}_" + kind + "inputs c_inputs = {" + pointers(fields.inputs, "in") + "};\n";
  text += "    const {p}_" + kind + "outputs c_outputs = {" + pointers(fields.outputs, "out") + "};\n";
  return text + "    return {p}_" + verb + "(context_, " + set + "&c_inputs, &c_outputs, n);\n  }\n";
}

}  // namespace

std::string spanCall(const std::string& verb, const std::string& kind, const Fields& fields, const std::string& otherwise) {
  return "\n  // See {p}_" + verb + "; {P}_TOO_SHORT if a span has fewer elements than n samples take.\n" +
         spanMember(verb, kind, fields, "", otherwise, spanChecks(fields, "", "    "));
}

std::string spanCallOfSet(const HeaderFacts& facts, const std::string& verb, const std::string& kind, Fields (*of)(const core::PlanView&)) {
  if (facts.sets.size() == 1) return "";
  std::string checks = "    switch (set) {\n";
  for (const SizeSet& set : facts.sets)
    checks += "      case {P}_SET_" + setName(set) + ":\n" + spanChecks(of(set.view), "_SET_" + setName(set), "        ") + "        break;\n";
  checks += "      default: return {P}_NO_SET;\n    }\n";
  return "\n  // See {p}_" + verb + "_set; spans have what the set takes.\n" + spanMember(verb + "_set", kind, of(facts.plan()), "set, ", "", checks);
}

std::string filled(std::string text, const HeaderFacts& facts) {
  auto replace = [&](const std::string& mark, const std::string& value) {
    for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + value.size())) text.replace(at, mark.size(), value);
  };
  replace("{p}", facts.prefix);
  replace("{P}", llvm::StringRef(facts.prefix).upper());
  replace("{n}", namespaceOf(facts.prefix));
  replace("{file}", facts.file);
  replace("{FILE}", llvm::StringRef(cIdentifier(facts.file)).upper());
  replace("{library}", facts.library);
  return text;
}

}  // namespace mxc::driver

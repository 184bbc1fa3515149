// Walks the document once, in its order: every operand is known when its user is read.
#include "frontend/import/import.h"

#include <cmath>

#include "frontend/import/attribute.h"
#include "frontend/import/op_schema.h"
#include "frontend/nearest.h"
#include "ir/mx.h"
#include "ir/optimizers.h"
#include "ir/recompute_hint.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "mlir/IR/Verifier.h"

namespace mxc::frontend {

namespace {

namespace json = llvm::json;
using llvm::StringRef;

constexpr int64_t kMaxResults = 4096;  // of one operation

class Importer {
 public:
  Importer(const ImportOptions& options, mlir::MLIRContext& context, const DiagnosticSink& sink)
      : options_(options), builder_(&context), sink_(sink) {}

  mlir::OwningOpRef<mlir::ModuleOp> import(const json::Object& document) {
    readFiles(document);
    mlir::OwningOpRef<mlir::ModuleOp> module(
        mlir::ModuleOp::create(location(document, "model"), document.getString("model").value_or("model")));
    builder_.setInsertionPointToStart(module->getBody());
    if (!checkHeader(document)) return nullptr;
    const json::Array* nodes = document.getArray("nodes");
    if (!nodes) return fail(document, "the document has no list 'nodes'"), nullptr;
    for (const json::Value& node : *nodes)
      if (!readNode(node)) return nullptr;
    bool ok = readTerminals(document, "minimize", "minimize") && readTerminals(document, "reports", "report") &&
              readTerminals(document, "outputs", "output") && readOptimizer(document);
    return ok ? std::move(module) : nullptr;
  }

 private:
  // A place, `[file, line, column]`: the file is an index into "files" in "at", a name in "callers".
  SourcePlace place(const json::Value* json) const {
    SourcePlace result{options_.path};
    const json::Array* list = json ? json->getAsArray() : nullptr;
    if (!list || list->size() != 3) return result;
    if (auto index = (*list)[0].getAsInteger(); index && *index >= 0 && *index < static_cast<int64_t>(files_.size()))
      result.file = files_[*index];
    if (auto name = (*list)[0].getAsString()) result.file = name->str();
    result.line = static_cast<uint32_t>((*list)[1].getAsInteger().value_or(0));
    result.column = static_cast<uint32_t>((*list)[2].getAsInteger().value_or(0));
    return result;
  }

  mlir::Location fileLocation(const SourcePlace& place) {
    return mlir::FileLineColLoc::get(builder_.getContext(), place.file, place.line, place.column);
  }

  mlir::Location location(const json::Object& object, StringRef name) {
    mlir::Location result = fileLocation(place(object.get("at")));
    if (const json::Array* callers = object.getArray("callers")) {
      llvm::SmallVector<mlir::Location> frames{result};
      for (const json::Value& caller : *callers) frames.push_back(fileLocation(place(&caller)));
      for (result = frames.pop_back_val(); !frames.empty(); frames.pop_back())
        result = mlir::CallSiteLoc::get(frames.back(), result);
    }
    if (auto recompute = object.getInteger("recompute")) result = hintRecompute(result, *recompute);
    return mlir::NameLoc::get(builder_.getStringAttr(name), result);
  }

  bool fail(const json::Object& object, std::string message, Fault fault = Fault::input) {
    Diagnostic diagnostic;
    diagnostic.fault = fault;
    diagnostic.place = place(object.get("at"));
    diagnostic.message = std::move(message);
    diagnostic.word = object.getString("op").value_or("").str();
    if (const json::Array* callers = object.getArray("callers"))
      for (const json::Value& caller : *callers) diagnostic.notes.push_back({place(&caller), "called from here", ""});
    sink_(diagnostic);
    return false;
  }

  void readFiles(const json::Object& document) {
    if (const json::Array* files = document.getArray("files"))
      for (const json::Value& file : *files) files_.push_back(file.getAsString().value_or("").str());
  }

  bool checkHeader(const json::Object& document) {
    if (document.getString("format") != StringRef("mxc-symbol"))
      return fail(document, "this is not symbol JSON: \"format\" is not \"mxc-symbol\"");
    if (document.getInteger("version") != 1) return fail(document, "symbol JSON of another version than 1");
    return true;
  }

  // Which of the table's entries was meant by a mistyped name.
  template <class List>
  static std::string meant(StringRef name, const List& entries) {
    std::vector<std::string> names;
    for (const auto& entry : entries) names.emplace_back(entry.name);
    return didYouMean(name, names);
  }

  // "conv2d 'conv2d0'"
  static std::string describe(const json::Object& node) {
    return (node.getString("op").value_or("node") + " '" + node.getString("name").value_or("") + "'").str();
  }

  bool readNode(const json::Value& value) {
    const json::Object* node = value.getAsObject();
    if (!node) return fail({}, "node " + std::to_string(nodes_.size()) + " is not an object");
    auto op = node->getString("op"), name = node->getString("name");
    if (!op || !name) return fail(*node, "node " + std::to_string(nodes_.size()) + " has no 'op' or no 'name'");
    if (!names_.try_emplace(*name, nodes_.size()).second) return fail(*node, "the name '" + name->str() + "' is already taken");
    if (const json::Value* recompute = node->get("recompute"); recompute && recompute->getAsInteger().value_or(-1) < 0)
      return fail(*node, describe(*node) + ": 'recompute' must be an integer of at least 0");
    if (*op == "input") return readInput(*node, *name);
    if (*op == "parameter") return readParameter(*node, *name);
    if (*op == "constant") return readConstant(*node, *name);
    const OpSchema* schema = findOpSchema({op->data(), op->size()});
    if (!schema) return fail(*node, "there is no operation '" + op->str() + "' (mxc ops lists them)" + meant(*op, opSchemas()));
    return readOperation(*node, *name, *schema);
  }

  bool readOperation(const json::Object& node, StringRef name, const OpSchema& schema) {
    mlir::OperationState state(location(node, name), "mx." + std::string(schema.name));
    if (!readOperands(node, schema, state) || !readAttributes(node, schema, state)) return false;
    auto count = static_cast<int64_t>(schema.results.size());
    if (!schema.count.empty()) count = node.getObject("attributes")->getInteger(StringRef(schema.count)).value_or(0);
    if (count < 1 || count > kMaxResults)
      return fail(node, describe(node) + ": " + std::to_string(count) + " results; at least 1 and at most " + std::to_string(kMaxResults) + " are possible");
    state.addTypes(llvm::SmallVector<mlir::Type>(count, mlir::UnrankedTensorType::get(real())));
    nodes_.push_back(builder_.create(state));
    return true;
  }

  bool readOperands(const json::Object& node, const OpSchema& schema, mlir::OperationState& state) {
    const json::Object empty, *inputs = node.getObject("inputs");
    if (!inputs) inputs = &empty;
    for (const auto& [name, value] : *inputs) {
      bool known = llvm::any_of(schema.operands, [&](const OperandSchema& o) { return StringRef(o.name) == StringRef(name); });
      if (!known)
        return fail(node, describe(node) + " has no operand '" + StringRef(name).str() + "'" + meant(name, schema.operands));
    }
    llvm::SmallVector<int32_t> segments;
    for (const OperandSchema& operand : schema.operands) {
      size_t before = state.operands.size();
      const json::Value* value = inputs->get(StringRef(operand.name));
      if (!readOperand(node, operand, value, state)) return false;
      segments.push_back(static_cast<int32_t>(state.operands.size() - before));
    }
    if (schema.operand_segments) state.addAttribute("operandSegmentSizes", builder_.getDenseI32ArrayAttr(segments));
    return true;
  }

  bool readOperand(const json::Object& node, const OperandSchema& operand, const json::Value* value, mlir::OperationState& state) {
    std::string what = describe(node) + ": operand '" + std::string(operand.name) + "'";
    const json::Array* list = value ? value->getAsArray() : nullptr;
    if (operand.arity == Arity::variadic) {
      if (!list || list->empty()) return fail(node, what + " needs at least one value");
      for (const json::Value& item : *list)
        if (!readEdge(node, what, item, state.operands)) return false;
      return true;
    }
    if (!list && operand.arity == Arity::optional) return true;
    if (!list) return fail(node, what + " is missing");
    return readEdge(node, what, *value, state.operands);
  }

  // `[node, result]` of a node before this one.
  bool readEdge(const json::Object& node, const std::string& what, const json::Value& value,
                llvm::SmallVectorImpl<mlir::Value>& values) {
    const json::Array* list = value.getAsArray();
    auto index = list && list->size() == 2 ? (*list)[0].getAsInteger() : std::nullopt;
    auto result = list && list->size() == 2 ? (*list)[1].getAsInteger() : std::nullopt;
    if (!index || !result) return fail(node, what + " is not [node, result]");
    if (*index < 0 || *index >= static_cast<int64_t>(nodes_.size()))
      return fail(node, what + " names node " + std::to_string(*index) + ", which does not come before");
    if (*result < 0 || *result >= static_cast<int64_t>(nodes_[*index]->getNumResults()))
      return fail(node, what + " names result " + std::to_string(*result) + " of node " + std::to_string(*index) +
                            ", which it does not have");
    values.push_back(nodes_[*index]->getResult(*result));
    return true;
  }

  bool readAttributes(const json::Object& node, const OpSchema& schema, mlir::OperationState& state) {
    const json::Object empty, *attributes = node.getObject("attributes");
    if (!attributes) attributes = &empty;
    for (const auto& [name, value] : *attributes) {
      bool known = llvm::any_of(schema.attributes, [&](const AttributeSchema& a) { return StringRef(a.name) == StringRef(name); });
      if (!known)
        return fail(node, describe(node) + " has no attribute '" + StringRef(name).str() + "'" + meant(name, schema.attributes));
    }
    for (const AttributeSchema& attribute : schema.attributes) {
      const json::Value* value = attributes->get(StringRef(attribute.name));
      if (!value && !attribute.required) continue;
      if (!value) return fail(node, describe(node) + " needs the attribute '" + std::string(attribute.name) + "'");
      std::string expected;
      mlir::Attribute converted = readAttribute(*value, attribute, options_.f64, builder_, expected);
      if (!converted)
        return fail(node, describe(node) + ": the attribute '" + std::string(attribute.name) + "' must be " + expected);
      state.addAttribute(StringRef(attribute.name), converted);
    }
    return true;
  }

  mlir::Type real() { return options_.f64 ? mlir::Type(builder_.getF64Type()) : builder_.getF32Type(); }

  // The attribute "shape"; false after an error.
  bool readShape(const json::Object& node, const json::Object& attributes, llvm::SmallVectorImpl<int64_t>& shape) {
    for (const json::Value& size : *attributes.getArray("shape")) {
      auto value = size.getAsInteger();
      if (!value || *value <= 0) return fail(node, describe(node) + ": sizes are positive integers");
      shape.push_back(*value);
    }
    return true;
  }

  bool readInput(const json::Object& node, StringRef name) {
    const json::Object* attributes = node.getObject("attributes");
    llvm::SmallVector<int64_t> shape;
    if (!attributes || !attributes->getArray("shape")) return fail(node, describe(node) + " needs the attribute 'shape'");
    if (!readShape(node, *attributes, shape)) return false;
    mlir::Type element = elementType(attributes->getString("dtype").value_or("f32"), options_.f64, builder_);
    if (!element)
      return fail(node, describe(node) + ": there is no element type '" + attributes->getString("dtype").value_or("").str() + "'");
    int64_t axis = attributes->getInteger("batch_axis").value_or(-1);
    if (axis < -1 || axis >= static_cast<int64_t>(shape.size()))
      return fail(node, describe(node) + ": there is no axis " + std::to_string(axis));
    mlir::Attribute encoding;
    if (axis >= 0) encoding = mx::EncodingAttr::get(builder_.getContext(), axis, 1, {}, -1, 0);
    mlir::OperationState state(location(node, name), "mx.input");
    state.addAttribute("name", builder_.getStringAttr(name));
    if (attributes->getBoolean("gradient").value_or(false)) {
      if (!llvm::isa<mlir::FloatType>(element)) return fail(node, describe(node) + ": only floating-point inputs have gradients");
      state.addAttribute("mx.gradient", builder_.getUnitAttr());
    }
    state.addTypes(mlir::RankedTensorType::get(shape, element, encoding));
    nodes_.push_back(builder_.create(state));
    return true;
  }

  bool readParameter(const json::Object& node, StringRef name) {
    const json::Object empty, *attributes = node.getObject("attributes");
    if (!attributes) attributes = &empty;
    mlir::Type type = mlir::UnrankedTensorType::get(real());
    if (attributes->getArray("shape")) {
      llvm::SmallVector<int64_t> shape;
      if (!readShape(node, *attributes, shape)) return false;
      type = mlir::RankedTensorType::get(shape, real());
    }
    mlir::OperationState state(location(node, name), "mx.parameter");
    if (!readInitialFile(node, *attributes, state)) return false;
    llvm::SmallVector<double> arguments;
    if (const json::Array* list = attributes->getArray("init_args"))
      for (const json::Value& argument : *list) arguments.push_back(readReal(argument).value_or(0));
    StringRef gradient = attributes->getString("gradient").value_or("write");
    if (gradient == "add")
      return fail(node,
                  describe(node) + ": gradients that add up over steps (GradientRequest::add) are not supported in compiled training",
                  Fault::unsupported);
    bool trainable = attributes->getBoolean("trainable").value_or(true) && gradient != "none";
    state.addAttribute("name", builder_.getStringAttr(name));
    state.addAttribute("init", builder_.getStringAttr(attributes->getString("init").value_or("xavier")));
    state.addAttribute("init_args", builder_.getDenseF64ArrayAttr(arguments));
    state.addAttribute("trainable", builder_.getBoolAttr(trainable));
    for (StringRef multiplier : {"lr_mult", "wd_mult"}) {
      const json::Value* given = attributes->get(multiplier);
      auto value = given ? readReal(*given) : 1;
      if (!value || !std::isfinite(*value)) return fail(node, describe(node) + ": '" + multiplier.str() + "' must be a finite number");
      state.addAttribute(multiplier, builder_.getF64FloatAttr(*value));
    }
    state.addTypes(type);
    nodes_.push_back(builder_.create(state));
    return true;
  }

  // The file of a parameter that begins with what a file holds.
  bool readInitialFile(const json::Object& node, const json::Object& attributes, mlir::OperationState& state) {
    StringRef file = attributes.getString("init_file").value_or(""), tensor = attributes.getString("init_tensor").value_or("");
    bool fromFile = attributes.getString("init") == StringRef("file");
    if (fromFile != !file.empty() || (!fromFile && !tensor.empty()))
      return fail(node, describe(node) + (fromFile ? ": the initialiser 'file' needs the attribute 'init_file'"
                                                   : ": 'init_file' and 'init_tensor' belong to the initialiser 'file'"));
    if (!fromFile) return true;
    StringRef kind = llvm::sys::path::extension(file);
    if (kind != ".npy" && kind != ".npz" && kind != ".safetensors")
      return fail(node, describe(node) + ": '" + file.str() + "' is no .npy, .npz or .safetensors");
    if (kind == ".npy" && !tensor.empty())
      return fail(node, describe(node) + ": '" + file.str() + "' holds one array, which has no name: '" + tensor.str() + "' is too much");
    state.addAttribute("mx.init_file", builder_.getStringAttr(file));
    if (!tensor.empty()) state.addAttribute("mx.init_tensor", builder_.getStringAttr(tensor));
    return true;
  }

  bool readConstant(const json::Object& node, StringRef name) {
    const json::Object* attributes = node.getObject("attributes");
    const json::Value* json = attributes ? attributes->get("value") : nullptr;
    auto value = json ? readReal(*json) : std::nullopt;
    if (!value) return fail(node, describe(node) + " needs a number as its attribute 'value'");
    mlir::OperationState state(location(node, name), "mx.constant");
    state.addAttribute("value", builder_.getF64FloatAttr(*value));
    state.addAttribute("element", mlir::TypeAttr::get(real()));
    state.addTypes(mlir::RankedTensorType::get({}, real()));
    nodes_.push_back(builder_.create(state));
    return true;
  }

  // The entries of `list` as operations mx.<verb>.
  bool readTerminals(const json::Object& document, StringRef list, const std::string& verb) {
    const json::Array none, *terminals = document.getArray(list);
    llvm::StringMap<bool> taken;
    for (const json::Value& value : terminals ? *terminals : none) {
      const json::Object* terminal = value.getAsObject();
      if (!terminal || !terminal->get("value")) return fail(document, "an entry of '" + verb + "' has no 'value'");
      std::string name = terminal->getString("name").value_or("").str();
      if (verb != "minimize" && (name.empty() || llvm::any_of(name, [](unsigned char c) { return c < 0x20 || c == 0x7f; })))
        return fail(*terminal, "the name of an entry of '" + verb + "' is missing or holds a control character");
      if (verb != "minimize" && !taken.try_emplace(name).second)
        return fail(*terminal, "there are two " + verb + "s of the name '" + name + "'");
      mlir::OperationState state(location(*terminal, verb), "mx." + verb);
      if (!readEdge(*terminal, verb, *terminal->get("value"), state.operands)) return false;
      if (verb != "minimize") state.addAttribute("name", builder_.getStringAttr(name));
      builder_.create(state);
    }
    return true;
  }

  // The optimizer of the command line with its defaults, else the model's, else sgd.
  bool readOptimizer(const json::Object& document) {
    const json::Object empty, *own = document.getObject("optimizer");
    const json::Object& given = own ? *own : empty;
    std::string kind = given.getString("kind").value_or("sgd").str(), message;
    bool overridden = !options_.optimizer.empty() && options_.optimizer != kind;
    std::optional<OptimizerText> chosen = parseOptimizer(overridden ? options_.optimizer : kind, message);
    if (!chosen) return fail(overridden ? document : given, message);
    kind = chosen->kind;
    const json::Object* numbers = overridden ? nullptr : given.getObject("defaults");
    llvm::SmallVector<mlir::NamedAttribute> defaults;
    for (const auto& [name, value] : chosen->defaults)
      defaults.push_back(builder_.getNamedAttr(name, builder_.getF64FloatAttr(value)));
    for (const auto& [name, json] : numbers ? *numbers : empty) {
      auto value = readReal(json);
      if (!value) return fail(given, "the optimizer's '" + StringRef(name).str() + "' must be a number");
      defaults.push_back(builder_.getNamedAttr(StringRef(name), builder_.getF64FloatAttr(*value)));
    }
    mlir::OperationState state(location(own ? *own : document, "optimizer"), "mx.optimizer");
    state.addAttribute("kind", builder_.getStringAttr(kind));
    state.addAttribute("defaults", builder_.getDictionaryAttr(defaults));
    builder_.create(state);
    return true;
  }

  const ImportOptions& options_;
  mlir::OpBuilder builder_;
  const DiagnosticSink& sink_;
  std::vector<std::string> files_;
  std::vector<mlir::Operation*> nodes_;
  llvm::StringMap<size_t> names_;
};

}  // namespace

mlir::OwningOpRef<mlir::ModuleOp> importModel(StringRef text, const ImportOptions& options, mlir::MLIRContext& context,
                                              const DiagnosticSink& sink) {
  Diagnostic diagnostic;
  diagnostic.place.file = options.path;
  auto document = json::parse(text);
  if (!document) {
    diagnostic.message = "this is not JSON: " + llvm::toString(document.takeError());
  } else if (!document->getAsObject()) {
    diagnostic.message = "this is not symbol JSON: an object is expected";
  } else {
    return Importer(options, context, sink).import(*document->getAsObject());
  }
  sink(diagnostic);
  return nullptr;
}

}  // namespace mxc::frontend

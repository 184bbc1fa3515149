// See inner_tensors.h. The model is staged to symbol JSON, whose list of outputs is then made longer; docs/symbol-json.md describes it.
#include "driver/inner_tensors.h"

#include <algorithm>
#include <set>

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace mxc::driver {

namespace json = llvm::json;
using frontend::Fault;
using frontend::SourcePlace;

namespace {

// A result of an operation.
struct Edge {
  int64_t node = 0, result = 0;
  auto operator<=>(const Edge&) const = default;
};

Edge readEdge(const json::Object& output) {
  const json::Array* edge = output.getArray("value");
  if (!edge || edge->size() != 2) return {};
  return {(*edge)[0].getAsInteger().value_or(0), (*edge)[1].getAsInteger().value_or(0)};
}

std::string textOf(const json::Object& object, llvm::StringRef key) { return object.getString(key).value_or("").str(); }

// A document that staging or a file gave; what it lacks, the importer tells.
class Graph {
 public:
  explicit Graph(json::Object& document) : document_(document) {
    if (const json::Array* nodes = document.getArray("nodes"))
      for (const json::Value& node : *nodes) nodes_.push_back(node.getAsObject());
    if (!document.getArray("outputs")) document["outputs"] = json::Array();
    outputs_ = document.getArray("outputs");
  }

  // The tensors of the reference in the order of computation; those within become outputs.
  std::vector<ReferencedTensor> expose(const Arrays& reference, std::vector<std::string>& inner) {
    std::vector<std::pair<Edge, ReferencedTensor>> found;
    for (const json::Value& value : *outputs_) {
      const json::Object* output = value.getAsObject();
      if (!output || !known_.insert(textOf(*output, "name")).second) continue;
      if (reference.count(textOf(*output, "name")))
        found.push_back({readEdge(*output), describe(readEdge(*output), textOf(*output, "name"), true)});
    }
    for (int64_t i = 0; i < static_cast<int64_t>(nodes_.size()); ++i)
      for (const auto& [edge, name] : resultsOf(i)) {
        if (!known_.insert(name).second || !computed(i)) continue;
        if (edge.result == 0) inner.push_back(name);
        if (!reference.count(name)) continue;
        found.push_back({edge, describe(edge, name, false)});
        json::Object output{{"name", name}, {"value", json::Array{edge.node, edge.result}}};
        if (const json::Value* at = nodes_[i]->get("at")) output["at"] = *at;
        outputs_->push_back(std::move(output));
      }
    std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<ReferencedTensor> tensors;
    for (auto& [edge, tensor] : found) tensors.push_back(std::move(tensor));
    return tensors;
  }

  // After `expose`: whether a name is that of a tensor of the model, be it an input or a parameter.
  bool knows(const std::string& name) const { return known_.count(name) > 0; }

 private:
  bool computed(int64_t node) const {
    std::string op = textOf(*nodes_[node], "op");
    return op != "input" && op != "parameter" && op != "constant";
  }

  std::vector<std::pair<Edge, std::string>> resultsOf(int64_t node) const {
    if (!nodes_[node]) return {};
    const int64_t count = nodes_[node]->getInteger("results").value_or(1);
    std::string name = textOf(*nodes_[node], "name");
    std::vector<std::pair<Edge, std::string>> results;
    for (int64_t k = 0; k < count; ++k) results.push_back({{node, k}, k == 0 ? name : name + "." + std::to_string(k)});
    return results;
  }

  ReferencedTensor describe(const Edge& edge, const std::string& name, bool output) const {
    ReferencedTensor tensor{name, output, {}, ""};
    if (edge.node < 0 || edge.node >= static_cast<int64_t>(nodes_.size()) || !nodes_[edge.node]) return tensor;
    const json::Object& node = *nodes_[edge.node];
    tensor.op = textOf(node, "op");
    const json::Array *at = node.getArray("at"), *files = document_.getArray("files");
    if (!at || at->size() != 3 || !files) return tensor;
    auto number = [&](size_t i) { return static_cast<uint32_t>((*at)[i].getAsInteger().value_or(0)); };
    if (number(0) >= files->size()) return tensor;
    tensor.place = SourcePlace{(*files)[number(0)].getAsString().value_or("").str(), number(1), number(2)};
    return tensor;
  }

  json::Object& document_;
  std::vector<const json::Object*> nodes_;
  json::Array* outputs_ = nullptr;
  std::set<std::string> known_;
};

}  // namespace

std::optional<std::vector<ReferencedTensor>> exposeTensors(CompileOptions& options, const Arrays& reference,
                                                           const WorkDirectory& work, std::vector<std::string>& inner,
                                                           DiagnosticPrinter& printer) {
  CompileOptions staging = options;
  staging.emit = Emit::graph;
  staging.output = work.file("staged.json");
  compile(staging, printer);
  if (printer.failed()) return std::nullopt;
  auto text = readWholeFile(staging.output);
  if (!text) return printer.error(Fault::internal, llvm::toString(text.takeError())), std::nullopt;
  auto document = json::parse(*text);
  if (!document || !document->getAsObject()) {  // a file of the user's: the importer says what is wrong with it
    if (!document) llvm::consumeError(document.takeError());
    return std::vector<ReferencedTensor>();
  }
  Graph graph(*document->getAsObject());
  std::vector<ReferencedTensor> tensors = graph.expose(reference, inner);
  for (const auto& [name, array] : reference) {
    if (graph.knows(name)) continue;
    frontend::Diagnostic warning;
    warning.severity = frontend::Diagnostic::Severity::warning;
    warning.message = "the array '" + name + "' is no tensor of the model, and is not compared";
    printer.print(warning);
  }
  std::string exposed;
  llvm::raw_string_ostream(exposed) << *document;
  options.source = work.file("exposed.json");
  writeIntermediate(options.source, exposed, printer);
  if (printer.failed()) return std::nullopt;
  return tensors;
}

}  // namespace mxc::driver

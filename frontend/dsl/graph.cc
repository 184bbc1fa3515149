// Nodes, names and the session: see graph.h.
#include "frontend/dsl/graph.h"

#include <execinfo.h>

#include <algorithm>

namespace mxc::detail {

namespace {

thread_local Session* current = nullptr;

bool isName(const std::string& name) {
  auto ok = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-' ||
           c == '/';
  };
  return !name.empty() && name.size() <= 200 && std::all_of(name.begin(), name.end(), ok);
}

std::string quoted(const std::string& text) { return "'" + text + "'"; }

// Return addresses in the model's code, relative to where it is loaded, outermost last. The innermost is the line of the operation itself.
std::vector<uintptr_t> callersIn(std::pair<uintptr_t, uintptr_t> code) {
  std::vector<uintptr_t> callers;
  if (code.first == code.second) return callers;
  constexpr int kDepth = 128;
  void* frames[kDepth];
  int count = backtrace(frames, kDepth);
  for (int i = 0; i < count; ++i) {
    uintptr_t address = reinterpret_cast<uintptr_t>(frames[i]);
    if (address > code.first && address <= code.second) callers.push_back(address - code.first);
  }
  if (!callers.empty()) callers.erase(callers.begin());
  return callers;
}

const char* gradientName(GradientRequest gradient) {
  switch (gradient) {
    case GradientRequest::write: return "write";
    case GradientRequest::add: return "add";
    case GradientRequest::none: return "none";
  }
  return "";
}

}  // namespace

SessionScope::SessionScope(Session& session) : outer_(current) { current = &session; }
SessionScope::~SessionScope() { current = outer_; }

Session& session(Here where) {
  if (!current) throw ModelError("no model is being described: this belongs inside MXC_MODEL(name) { ... }", where);
  return *current;
}

void checkName(const Graph& graph, const std::string& name, Here where) {
  if (!isName(name)) throw ModelError(quoted(name) + " is not a name: letters, digits and _ . - / are allowed", where);
  if (name == "__metadata__") throw ModelError(quoted(name) + " is a name that checkpoints need for themselves", where);
  auto taken = graph.names.find(name);
  if (taken == graph.names.end()) return;
  const Node& first = graph.nodes[taken->second];
  throw ModelError("the name " + quoted(name) + " is already taken", where, "first used by this " + first.op, first.where);
}

void claimName(Graph& graph, const std::string& name, Here where) {
  checkName(graph, name, where);
  graph.names.emplace(name, static_cast<int32_t>(graph.nodes.size()));
}

void begin(Session& session, Node& node, const std::string& op, Here where) {
  if (session.watcher) session.watcher->at(op, where);
  session.callers = callersIn(session.code);
  node.op = op;
  node.where = where;
  node.place = where;
  node.callers = session.callers;
  node.recompute = session.recompute;
}

void addInitial(Node& parameter, const Init& init) {
  parameter.attributes.emplace_back("init", init.kind);
  parameter.attributes.emplace_back("init_args", init.args);
  if (!init.file.empty()) parameter.attributes.emplace_back("init_file", init.file);
  if (!init.tensor.empty()) parameter.attributes.emplace_back("init_tensor", init.tensor);
}

int32_t append(Session& session, Node node) {
  session.graph->nodes.push_back(std::move(node));
  return static_cast<int32_t>(session.graph->nodes.size()) - 1;
}

NodeBuilder::NodeBuilder(const char* op, const std::string& name, Here where) : session_(detail::session(where)) {
  begin(session_, node_, op, where);
  if (!name.empty()) {
    node_.name = session_.scope + name;
    checkName(*session_.graph, node_.name, where);
    return;
  }
  std::string stem = session_.scope + op;
  int64_t& counter = session_.counters[stem];
  do node_.name = stem + std::to_string(counter++);
  while (session_.graph->names.contains(node_.name));
}

void NodeBuilder::fail(const std::string& what) const { throw ModelError(node_.op + " " + what, node_.where); }

void NodeBuilder::missing(const char* name) const {
  fail("needs the attribute '" + std::string(name) + "': write {." + name + " = ...}");
}

Edge NodeBuilder::edge(const char* operand, const Symbol& symbol) const {
  if (!symbol) fail("is given an empty symbol as " + quoted(operand));
  if (symbol.graph() != session_.graph) fail("is given a symbol of another model as " + quoted(operand));
  return {symbol.node(), symbol.result()};
}

void NodeBuilder::operand(const char* operand, const Operand& value) {
  if (!value.is_number) {
    node_.inputs.push_back({operand, false, {edge(operand, value.symbol)}});
    return;
  }
  NodeBuilder constant("constant", "", value.where);
  constant.attribute("value", Value(value.number));
  constant.finish(1);
  node_.inputs.push_back({operand, false, {{constant.index_, 0}}});
}

void NodeBuilder::operands(const char* operand, const std::vector<Symbol>& values) {
  NodeInput input{operand, true, {}};
  for (const Symbol& value : values) input.edges.push_back(edge(operand, value));
  node_.inputs.push_back(std::move(input));
}

void NodeBuilder::optionalOperand(const char* operand, const Symbol& value) {
  NodeInput input{operand, false, {}};
  if (value) input.edges.push_back(edge(operand, value));
  node_.inputs.push_back(std::move(input));
}

void NodeBuilder::parameterNode(const char* operand, const Param& param, const Init& init, bool trainable) {
  if (param.symbol) {
    node_.inputs.push_back({operand, false, {edge(operand, param.symbol)}});
    return;
  }
  const Init& chosen = param.init.kind.empty() ? init : param.init;
  Node parameter;
  parameter.op = "parameter";
  parameter.name = node_.name + "." + operand;
  parameter.place = node_.place;
  parameter.where = node_.where;
  parameter.callers = node_.callers;
  addInitial(parameter, chosen);
  parameter.attributes.emplace_back("trainable", trainable);
  if (trainable) {
    parameter.attributes.emplace_back("lr_mult", param.lr_mult);
    parameter.attributes.emplace_back("wd_mult", param.wd_mult);
    parameter.attributes.emplace_back("gradient", std::string(gradientName(param.gradient)));
  }
  claimName(*session_.graph, parameter.name, node_.where);
  node_.inputs.push_back({operand, false, {{append(session_, std::move(parameter)), 0}}});
}

void NodeBuilder::parameter(const char* operand, const Param& param, const Init& init) {
  parameterNode(operand, param, init, true);
}

void NodeBuilder::parameter(const char* operand, const OptionalParam& param, const Init& init) {
  if (param.present()) {
    parameterNode(operand, param.param(), init, true);
  } else {
    node_.inputs.push_back({operand, false, {}});
  }
}

void NodeBuilder::state(const char* operand, const Param& param, const Init& init) { parameterNode(operand, param, init, false); }

void NodeBuilder::attribute(const char* name, const Value& value) { node_.attributes.emplace_back(name, value); }

void NodeBuilder::attribute(const char* name, const Size2& value) {
  if (!value.is_set()) missing(name);
  attribute(name, Value(std::vector<int64_t>{value.height(), value.width()}));
}

void NodeBuilder::attribute(const char* name, const Ints& value) {
  if (!value.is_set()) missing(name);
  attribute(name, Value(value.values()));
}

void NodeBuilder::choice(const char* name, const std::string& value, const std::vector<const char*>& choices) {
  if (value.empty()) missing(name);
  std::string list;
  for (const char* choice : choices) {
    if (value == choice) return attribute(name, Value(value));
    list += (list.empty() ? "\"" : ", \"") + std::string(choice) + "\"";
  }
  fail("has no " + std::string(name) + " \"" + value + "\": one of " + list);
}

void NodeBuilder::finish(int32_t results) {
  node_.results = results;
  claimName(*session_.graph, node_.name, node_.where);
  index_ = append(session_, std::move(node_));
}

std::vector<Symbol> NodeBuilder::finishSeveral(const char* name, int64_t count) {
  constexpr int64_t kMost = 4096;
  if (count < 1 || count > kMost)
    fail("has " + std::string(name) + " = " + std::to_string(count) + ": at least 1 and at most " + std::to_string(kMost) + " are possible");
  finish(static_cast<int32_t>(count));
  std::vector<Symbol> results;
  for (int32_t i = 0; i < count; ++i) results.push_back(result(i));
  return results;
}

}  // namespace mxc::detail

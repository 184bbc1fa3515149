// The functions of the DSL that are not operations: inputs, parameters, terminals, optimizers, scopes, groups.
#include "mxc/model.h"

#include <algorithm>
#include <set>

#include "frontend/dsl/json.h"
#include "mxc/ops.h"

namespace mxc {

using detail::Node;
using detail::Session;

namespace {

// Sizes and batch axis (-1: none) of a shape. Throws if a size is not positive or there are two batch axes.
std::pair<std::vector<int64_t>, int64_t> checkShape(const std::string& name, const Shape& shape, Here where) {
  std::vector<int64_t> sizes;
  int64_t batch_axis = -1;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    const Dim& dim = shape[axis];
    if (dim.size <= 0)
      throw ModelError(
          "'" + name + "' has size " + std::to_string(dim.size) + " on axis " + std::to_string(axis) + ": sizes are positive",
          where);
    if (dim.is_batch && batch_axis >= 0) throw ModelError("'" + name + "' has two batch axes", where);
    if (dim.is_batch) batch_axis = static_cast<int64_t>(axis);
    sizes.push_back(dim.size);
  }
  if (shape.size() > 8) throw ModelError("'" + name + "' has " + std::to_string(shape.size()) + " axes: at most 8", where);
  return {sizes, batch_axis};
}

// All inputs share one batch: a run takes n samples of each.
void checkBatch(const Session& session, const std::string& name, int64_t size, Here where) {
  for (const Node& node : session.graph->nodes) {
    if (node.op != "input") continue;
    const auto& attributes = node.attributes;
    int64_t axis = std::get<int64_t>(attributes[1].second);
    if (axis < 0) continue;
    int64_t other = std::get<std::vector<int64_t>>(attributes[0].second)[axis];
    if (other != size)
      throw ModelError(
          "'" + name + "' has batch " + std::to_string(size) + ", but '" + node.name + "' has " + std::to_string(other), where,
          "'" + node.name + "' is made here", node.where);
  }
}

Symbol add(Session& session, Node node, const std::string& name, Here where) {
  detail::begin(session, node, node.op, where);
  node.name = session.scope + name;
  detail::claimName(*session.graph, node.name, where);
  return {session.graph, detail::append(session, std::move(node)), 0};
}

// What reports and outputs are called: it becomes a column's head, an array's name, a word of progress.
void checkResultName(const char* verb, const std::string& name, Here where) {
  if (name.empty()) throw ModelError(std::string(verb) + " needs a name", where);
  if (std::any_of(name.begin(), name.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }))
    throw ModelError(detail::jsonString(name) + " is not a name: it holds a control character", where);
}

// Records a minimize, report or output call.
void terminal(std::vector<detail::Terminal> Session::*list, const char* verb, const std::string& name, const Operand& value,
              Here where) {
  Session& session = detail::session(where);
  if (session.watcher) session.watcher->at(verb, where);
  if (list != &Session::minimize) checkResultName(verb, name, where);
  if (!value.symbol) throw ModelError(std::string(verb) + " is given " + (value.is_number ? "a number" : "an empty symbol"), where);
  if (value.symbol.graph() != session.graph) throw ModelError(std::string(verb) + " is given a symbol of another model", where);
  for (const detail::Terminal& other : session.*list)
    if (!name.empty() && other.name == name)
      throw ModelError("there are two " + std::string(verb) + "s of the name '" + name + "'", where, "the first is here",
                       other.where);
  (session.*list).push_back({name, {value.symbol.node(), value.symbol.result()}, where, where});
}

void setOptimizer(const char* kind, std::vector<std::pair<std::string, double>> defaults, Here where) {
  Session& session = detail::session(where);
  if (session.watcher) session.watcher->at("optimizer", where);
  if (session.optimizer) throw ModelError("the model has two optimizers", where, "the first is here", session.optimizer->where);
  session.optimizer = detail::Optimizer{kind, std::move(defaults), where, where};
}

// What all kinds have, after `own`.
template <class Kind>
std::vector<std::pair<std::string, double>> withCommon(const Kind& kind, std::vector<std::pair<std::string, double>> own) {
  std::vector<std::pair<std::string, double>> all = {{"lr", kind.lr}};
  all.insert(all.end(), own.begin(), own.end());
  all.insert(all.end(), {{"weight_decay", kind.weight_decay}, {"rescale", kind.rescale}, {"clip", kind.clip}});
  if (kind.clip_norm > 0) all.emplace_back("clip_norm", kind.clip_norm);
  if (kind.loss_scale != 1) all.emplace_back("loss_scale", kind.loss_scale);
  return all;
}

// adam, adamw and lamb have the same members.
template <class Kind>
std::vector<std::pair<std::string, double>> adamDefaults(const Kind& kind) {
  return withCommon(kind, {{"beta1", kind.beta1}, {"beta2", kind.beta2}, {"epsilon", kind.epsilon}});
}

}  // namespace

Dim batch(int64_t size) { return {dim("batch", size), true}; }

int64_t dim(const std::string& name, int64_t size) {
  Session& session = detail::session(Here::current());
  auto chosen = session.dims.find(name);
  if (chosen != session.dims.end()) size = chosen->second;
  session.used_dims[name] = size;
  return size;
}

const std::string& Symbol::name() const { return graph_->nodes[node_].name; }
const std::string& Symbol::op() const { return graph_->nodes[node_].op; }

Symbol input(const std::string& name, const Shape& shape, DType dtype, const InputOptions& options, Here where) {
  Session& session = detail::session(where);
  auto [sizes, batch_axis] = checkShape(name, shape, where);
  if (batch_axis >= 0) checkBatch(session, name, sizes[batch_axis], where);
  Node node;
  node.op = "input";
  node.attributes = {{"shape", sizes}, {"batch_axis", batch_axis}, {"dtype", dtype}};
  if (options.gradient && dtype != f32 && dtype != f64)
    throw ModelError("'" + name + "' of " + to_string(dtype) + " has no gradient: only floating-point inputs have one", where);
  if (options.gradient) node.attributes.emplace_back("gradient", true);
  return add(session, std::move(node), name, where);
}

Symbol parameter(const std::string& name, const Shape& shape, const Param& param, Here where) {
  Session& session = detail::session(where);
  auto [sizes, batch_axis] = checkShape(name, shape, where);
  if (batch_axis >= 0) throw ModelError("parameter '" + name + "' has a batch axis", where);
  Init init = param.init.kind.empty() ? xavier() : param.init;
  static constexpr const char* kGradients[] = {"write", "add", "none"};
  Node node;
  node.op = "parameter";
  node.attributes = {{"shape", sizes}};
  detail::addInitial(node, init);
  node.attributes.insert(node.attributes.end(), {{"trainable", true},
                                                 {"lr_mult", param.lr_mult},
                                                 {"wd_mult", param.wd_mult},
                                                 {"gradient", std::string(kGradients[static_cast<int>(param.gradient)])}});
  return add(session, std::move(node), name, where);
}

void minimize(const Operand& loss, Here where) { terminal(&Session::minimize, "minimize", "", loss, where); }
void report(const std::string& name, const Operand& value, Here where) {
  terminal(&Session::reports, "report", name, value, where);
}
void output(const std::string& name, const Operand& value, Here where) {
  terminal(&Session::outputs, "output", name, value, where);
}

void optimizer(const sgd& kind, Here where) {
  setOptimizer("sgd", withCommon(kind, {{"momentum", kind.momentum}, {"nesterov", kind.nesterov}}), where);
}
void optimizer(const adam& kind, Here where) { setOptimizer("adam", adamDefaults(kind), where); }
void optimizer(const adamw& kind, Here where) { setOptimizer("adamw", adamDefaults(kind), where); }
void optimizer(const rmsprop& kind, Here where) {
  setOptimizer("rmsprop", withCommon(kind, {{"rho", kind.rho}, {"epsilon", kind.epsilon}}), where);
}
void optimizer(const adagrad& kind, Here where) { setOptimizer("adagrad", withCommon(kind, {{"epsilon", kind.epsilon}}), where); }
void optimizer(const adadelta& kind, Here where) {
  setOptimizer("adadelta", withCommon(kind, {{"rho", kind.rho}, {"epsilon", kind.epsilon}}), where);
}
void optimizer(const ftrl& kind, Here where) { setOptimizer("ftrl", withCommon(kind, {{"l1", kind.l1}, {"beta", kind.beta}}), where); }
void optimizer(const lamb& kind, Here where) { setOptimizer("lamb", adamDefaults(kind), where); }
void optimizer(const lars& kind, Here where) {
  setOptimizer("lars", withCommon(kind, {{"momentum", kind.momentum}, {"eta", kind.eta}, {"epsilon", kind.epsilon}}), where);
}

Scope::Scope(const std::string& name, Here where) {
  Session& session = detail::session(where);
  outer_length_ = session.scope.size();
  session.scope += name + ".";
}
Scope::~Scope() { detail::session(Here::current()).scope.resize(outer_length_); }

Recompute::Recompute(Here where) {
  Session& session = detail::session(where);
  outer_ = session.recompute;
  session.recompute = session.recomputes++;
}
Recompute::~Recompute() { detail::session(Here::current()).recompute = outer_; }

std::vector<std::string> Group::names() const {
  std::vector<std::string> names;
  for (const Symbol& symbol : symbols_) {
    bool several = symbol && symbol.graph()->nodes[symbol.node()].results > 1;
    names.push_back(!symbol ? "" : symbol.name() + (several ? "#" + std::to_string(symbol.result()) : ""));
  }
  return names;
}

const Symbol& Group::operator[](const NameHere& name) const {
  std::vector<std::string> all = names();
  auto found = std::find(all.begin(), all.end(), name.name);
  if (found == all.end()) throw ModelError("the group has no member '" + name.name + "'", name.where);
  return symbols_[found - all.begin()];
}

Group internals(const Group& group) {
  if (group.empty()) return {};
  const auto& graph = group[0].graph();
  std::set<int32_t> needed;
  for (const Symbol& symbol : group) needed.insert(symbol.node());
  std::vector<Symbol> result;
  for (int32_t i = static_cast<int32_t>(graph->nodes.size()) - 1; i >= 0; --i) {
    if (!needed.contains(i)) continue;
    const Node& node = graph->nodes[i];
    for (const detail::NodeInput& input : node.inputs)
      for (detail::Edge edge : input.edges) needed.insert(edge.node);
    for (int32_t r = node.results - 1; r >= 0; --r) result.push_back({graph, i, r});
  }
  std::reverse(result.begin(), result.end());
  return result;
}

Symbol operator+(Operand left, Operand right) { return mxc::add(left, right, {}, left.where); }
Symbol operator-(Operand left, Operand right) { return sub(left, right, {}, left.where); }
Symbol operator*(Operand left, Operand right) { return mul(left, right, {}, left.where); }
Symbol operator/(Operand left, Operand right) { return div(left, right, {}, left.where); }
Symbol operator-(Operand operand) { return neg(operand, {}, operand.where); }

}  // namespace mxc

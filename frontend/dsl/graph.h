// The graph behind symbols, and the session that collects a model while its file describes it.
//
// Nodes are in order of creation, so operands come before users. The session is what one call of mxc_stage_<name> works in: one a
// thread, installed by SessionScope. It also tells a watcher where the model's code has got to, so that a crash or an endless
// loop can be reported with the line of the last operation.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "mxc/model.h"

namespace mxc::detail {

using Value = std::variant<int64_t, double, bool, std::string, DType, std::vector<int64_t>, std::vector<double>>;

struct Edge {
  int32_t node, result;
};

// The symbols given for one declared operand of an operation: one, several (variadic), or none (optional and absent).
struct NodeInput {
  std::string operand;
  bool variadic = false;
  std::vector<Edge> edges;
};

// A place with its file's name copied, so that it outlives the shared object that it came from.
struct Place {
  std::string file;
  uint32_t line = 0, column = 0;
  Place() = default;
  Place(Here here) : file(here.file_name()), line(here.line()), column(here.column()) {}
};

struct Node {
  std::string op, name;
  std::vector<std::pair<std::string, Value>> attributes;
  std::vector<NodeInput> inputs;
  int32_t results = 1;
  Place place;
  Here where;                      // the same, for messages while staging
  std::vector<uintptr_t> callers;  // return addresses in the model's code, relative to its load address; innermost
                                   // first, the operation's own line left out
  std::optional<int64_t> recompute;  // the number of the Recompute that it was made in
};

struct Graph {
  std::vector<Node> nodes;
  std::map<std::string, int32_t> names;
};

// minimize, report and output calls.
struct Terminal {
  std::string name;  // empty for minimize
  Edge value;
  Place place;
  Here where;
};

struct Optimizer {
  std::string kind;
  std::vector<std::pair<std::string, double>> defaults;
  Place place;
  Here where;
};

// Told before each operation what is about to be made and where.
class Watcher {
 public:
  virtual ~Watcher() = default;
  virtual void at(const std::string& op, Here where) = 0;
};

struct Session {
  std::string model;
  Place place;                          // of MXC_MODEL
  std::map<std::string, int64_t> dims;  // --dim overrides
  std::map<std::string, int64_t> used_dims;
  Watcher* watcher = nullptr;
  std::pair<uintptr_t, uintptr_t> code{0, 0};  // load address and end of the model's code; empty: callers are not recorded

  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  std::vector<Terminal> minimize, reports, outputs;
  std::optional<Optimizer> optimizer;
  std::vector<std::string> loaded;          // paths that load() has read
  std::vector<uintptr_t> callers;           // of the operation that is being made, as in Node
  std::string scope;                        // "encoder." or empty
  std::optional<int64_t> recompute;         // the number of the innermost Recompute
  int64_t recomputes = 0;                   // how many there have been
  std::map<std::string, int64_t> counters;  // of automatic names
};

// Makes `session` the one that the DSL's functions work in on this thread. Scopes nest.
class SessionScope {
 public:
  explicit SessionScope(Session& session);
  ~SessionScope();

 private:
  Session* outer_;
};

// The session of this thread. Throws ModelError if there is none.
Session& session(Here where);

// Makes one node; what generated operation functions are written with. All members throw ModelError.
class NodeBuilder {
 public:
  // `name` empty: "<op><k>", with the smallest k that is free.
  NodeBuilder(const char* op, const std::string& name, Here where);

  void operand(const char* operand, const Operand& value);
  void operands(const char* operand, const std::vector<Symbol>& values);
  void optionalOperand(const char* operand, const Symbol& value);
  void parameter(const char* operand, const Param& param, const Init& init);
  void parameter(const char* operand, const OptionalParam& param, const Init& init);
  // Layer state: not trained; changed by the operation itself in training.
  void state(const char* operand, const Param& param, const Init& init);

  void attribute(const char* name, const Value& value);
  void attribute(const char* name, const char* value) { attribute(name, Value(std::string(value))); }
  void attribute(const char* name, const Size2& value);
  void attribute(const char* name, const Ints& value);
  void choice(const char* name, const std::string& value, const std::vector<const char*>& choices);
  template <class T>
  void attribute(const char* name, const Attribute<T>& value) {
    if (!value.is_set()) missing(name);
    attribute(name, Value(value.value()));
  }
  template <class T>
  void optionalAttribute(const char* name, const T& value) {
    if (value.is_set()) attribute(name, value);
  }

  // Adds the node to the graph. Called once, last.
  void finish(int32_t results);
  // The same with as many results as the attribute `name` says, which it returns.
  std::vector<Symbol> finishSeveral(const char* name, int64_t count);
  Symbol result(int32_t index) const { return {session_.graph, index_, index}; }

 private:
  [[noreturn]] void fail(const std::string& what) const;
  [[noreturn]] void missing(const char* name) const;
  Edge edge(const char* operand, const Symbol& symbol) const;
  void parameterNode(const char* operand, const Param& param, const Init& init, bool trainable);

  Session& session_;
  Node node_;
  int32_t index_ = -1;
};

// Throws ModelError if `name` is taken or not a name.
void checkName(const Graph& graph, const std::string& name, Here where);
// Takes `name`, checked so, for the node that is appended next.
void claimName(Graph& graph, const std::string& name, Here where);
// Starts a node: tells the watcher, records its place and callers.
void begin(Session& session, Node& node, const std::string& op, Here where);
// Adds what says how a parameter begins to its attributes.
void addInitial(Node& parameter, const Init& init);
// Appends a node whose name is claimed.
int32_t append(Session& session, Node node);

}  // namespace mxc::detail

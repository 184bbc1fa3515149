// Symbols: what a model is written with.
//
// A symbol stands for one result of one node of a graph that is being described; nothing is computed. It is a handle, cheap to
// copy. Operations are functions of symbols (mxc/ops.h, made from the operations' definitions) and the usual operators.
#pragma once

#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "mxc/types.h"

namespace mxc {

namespace detail {
struct Graph;
}
struct Param;

// What is thrown where a model is described wrongly. `mxc` shows it at `where`, with the note at its own place.
class ModelError : public std::runtime_error {
 public:
  ModelError(const std::string& what, Here where) : std::runtime_error(what), where(where) {}
  ModelError(const std::string& what, Here where, std::string note, Here note_where)
      : std::runtime_error(what), where(where), note(std::move(note)), note_where(note_where) {}
  Here where;
  std::string note;  // empty: none
  Here note_where;
};

class Symbol {
 public:
  // An empty symbol; to use it as an operand is an error.
  Symbol() = default;
  Symbol(std::shared_ptr<detail::Graph> graph, int32_t node, int32_t result)
      : graph_(std::move(graph)), node_(node), result_(result) {}

  explicit operator bool() const { return graph_ != nullptr; }
  // A parameter symbol given for an operation's parameter shares it: `.weight = w`.
  operator Param() const;

  // The name of the node that computes it: "conv2d0", "conv2d0.weight", "image". Requires: not empty.
  const std::string& name() const;
  // The operation of that node: "conv2d", "parameter", "input". Requires: not empty.
  const std::string& op() const;

  const std::shared_ptr<detail::Graph>& graph() const { return graph_; }
  int32_t node() const { return node_; }
  int32_t result() const { return result_; }

 private:
  std::shared_ptr<detail::Graph> graph_;
  int32_t node_ = 0;
  int32_t result_ = 0;
};

// An operand of an operation: a symbol, or a number; and the place where it was written.
class Operand {
 public:
  Operand(Symbol symbol, Here where = Here::current()) : symbol(std::move(symbol)), where(where) {}
  template <class Number>
  requires std::is_arithmetic_v<Number> Operand(Number number, Here where = Here::current())
      : number(static_cast<double>(number)), is_number(true), where(where) {}

  Symbol symbol;
  double number = 0;
  bool is_number = false;  // the operand is `number`, not `symbol`
  Here where;
};

// A name and the place where it was written.
struct NameHere {
  NameHere(const char* name, Here where = Here::current()) : name(name), where(where) {}
  NameHere(std::string name, Here where = Here::current()) : name(std::move(name)), where(where) {}
  std::string name;
  Here where;
};

// Several symbols as one: several outputs to save, to print, or to look into. One symbol is a group too.
class Group {
 public:
  Group() = default;
  Group(Symbol symbol) : symbols_{std::move(symbol)} {}
  Group(std::initializer_list<Symbol> symbols) : symbols_(symbols) {}
  Group(std::vector<Symbol> symbols) : symbols_(std::move(symbols)) {}

  size_t size() const { return symbols_.size(); }
  bool empty() const { return symbols_.empty(); }
  auto begin() const { return symbols_.begin(); }
  auto end() const { return symbols_.end(); }
  void push_back(Symbol symbol) { symbols_.push_back(std::move(symbol)); }
  // What takes several symbols takes a group: concat(group, {.axis = 1}).
  operator const std::vector<Symbol>&() const { return symbols_; }

  const Symbol& operator[](size_t index) const { return symbols_[index]; }
  // The member of this name, as `names` lists them. Throws ModelError if there is none.
  const Symbol& operator[](const NameHere& name) const;
  // "conv2d0"; of an operation with several results "max_pool0#0", "max_pool0#1".
  std::vector<std::string> names() const;

 private:
  std::vector<Symbol> symbols_;
};

// All nodes that the group depends on, itself included, operands before users; one symbol for each result:
// internals(net)["conv2d0"] is the value in the middle of a network that another one goes on from.
Group internals(const Group& group);
// One line a node, operands before users: "conv2d0 = conv2d(image, conv2d0.weight, conv2d0.bias) {filters = 20, ...}".
std::string to_string(const Group& group);
std::ostream& operator<<(std::ostream& out, const Group& group);
// Writes the group and all that it depends on as symbol JSON (docs/symbol-json.md) and reads it back.
// `load` adds the nodes to the model that is being described and returns the group. Both throw ModelError.
void save(const std::string& path, const Group& group, Here where = Here::current());
Group load(const std::string& path, Here where = Here::current());
// A picture of the group and all that it depends on: boxes in layers, data flowing down, as SVG. `draw` throws ModelError if the file cannot
// be written. `mxc compile --emit=svg` draws a whole model with its shapes.
std::string to_svg(const Group& group);
void draw(const std::string& path, const Group& group, Here where = Here::current());

// Names made while a Scope lives start with its name and a dot: Scope s("encoder") makes "encoder.conv2d0".
class Scope {
 public:
  explicit Scope(const std::string& name, Here where = Here::current());
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  size_t outer_length_;
};

// What is made while a Recompute lives is not kept for the gradient: backward makes it again, from what was made outside. That takes less
// memory and more time, and changes no bit of any result.
//   { Recompute again; h = relu(batch_norm(conv2d(h, {.filters = 64, .kernel = 3}))); }
// Kept is what one Recompute makes and an operation of another reads: with one around each block of a network, what goes from block to
// block. Of several around an operation the innermost counts.
class Recompute {
 public:
  explicit Recompute(Here where = Here::current());
  ~Recompute();
  Recompute(const Recompute&) = delete;
  Recompute& operator=(const Recompute&) = delete;

 private:
  std::optional<int64_t> outer_;
};

Symbol operator+(Operand left, Operand right);
Symbol operator-(Operand left, Operand right);
Symbol operator*(Operand left, Operand right);
Symbol operator/(Operand left, Operand right);
Symbol operator-(Operand operand);

}  // namespace mxc

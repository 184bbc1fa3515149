// PlanView: a checked, typed view of a Plan blob.
//
// `open` checks everything once (magic, version, every table, index, offset and size), so that all other code may follow
// indices without looking. Lookups by name are linear: they happen at start-up, never in a step.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/core/plan.h"
#include "runtime/core/plan_sizes.h"
#include "runtime/core/status.h"

namespace mxc::core {

class PlanView {
 public:
  PlanView() = default;  // an empty program

  // Views `program.plan`; the blob must outlive the view and everything made from it. An invalid blob is `corrupt_plan`
  // with a text that names the record and field, as in "plan: step 3 'conv2d0': kernel 9 of 4".
  static Status open(const plan::Program& program, PlanView* view);

  // The same for a blob without kernels (to inspect it); kernel indices are not checked.
  static Status open(const void* blob, uint64_t bytes, PlanView* view);

  const plan::Header& header() const { return *header_; }
  std::span<const plan::Fact> facts() const { return table<plan::Fact>(header_->facts); }
  std::span<const plan::Device> devices() const { return table<plan::Device>(header_->devices); }
  std::span<const plan::Buffer> buffers() const { return table<plan::Buffer>(header_->buffers); }
  std::span<const plan::Hyper> hypers() const { return table<plan::Hyper>(header_->hypers); }
  std::span<const plan::Arg> args() const { return table<plan::Arg>(header_->args); }
  std::span<const uint32_t> deps() const { return table<uint32_t>(header_->deps); }
  std::span<const plan::Step> steps() const { return table<plan::Step>(header_->steps); }
  std::span<const plan::Item> items() const { return table<plan::Item>(header_->items); }
  std::span<const plan::Carried> carried() const { return table<plan::Carried>(header_->carried); }
  std::span<const plan::Block> blocks() const { return table<plan::Block>(header_->blocks); }
  std::span<const plan::Binding> bindings() const { return table<plan::Binding>(header_->bindings); }
  std::span<const plan::Graph> graphs() const { return table<plan::Graph>(header_->graphs); }
  std::span<const uint32_t> parameters() const { return table<uint32_t>(header_->parameters); }
  std::span<const plan::Binding> optimizer_slots() const { return table<plan::Binding>(header_->optimizer_slots); }
  uint64_t strings_bytes() const { return header_->strings.count; }

  const plan::Buffer& buffer(uint32_t index) const { return buffers()[index]; }
  const plan::Step& step(uint32_t index) const { return steps()[index]; }
  const plan::Block& block(uint32_t index) const { return blocks()[index]; }
  const plan::Graph& graph(uint32_t index) const { return graphs()[index]; }

  std::span<const plan::Arg> args(const plan::Step& step) const { return args().subspan(step.first_arg, step.arg_count); }
  std::span<const uint32_t> deps(const plan::Step& step) const { return deps().subspan(step.first_dep, step.dep_count); }
  std::span<const plan::Item> items(const plan::Block& block) const {
    return items().subspan(block.first_item, block.item_count);
  }
  std::span<const plan::Carried> carried(const plan::Block& block) const {
    return carried().subspan(block.first_carried, block.carried_count);
  }
  std::span<const plan::Binding> inputs(const plan::Graph& graph) const {
    return bindings().subspan(graph.first_input, graph.input_count);
  }
  std::span<const plan::Binding> outputs(const plan::Graph& graph) const {
    return bindings().subspan(graph.first_output, graph.output_count);
  }

  // The string at a byte offset of the string section, never null.
  const char* text(uint32_t offset) const { return strings() + offset; }

  // Lookups; `plan::kNone` (a fact: nullptr) if there is none.
  const char* find_fact(const char* key) const;
  uint32_t find_buffer(const char* name) const;
  uint32_t find_hyper(const char* name) const;                                 // index into hypers()
  uint32_t find_graph(const char* name) const;
  uint32_t find_graph(plan::GraphKind kind) const;                             // the first of that kind
  uint32_t find_input(const plan::Graph& graph, const char* name) const;       // index into inputs(graph)
  uint32_t find_output(const plan::Graph& graph, const char* name) const;      // index into outputs(graph)

  // Whether a graph runs only where several shards train together: "gradients", "update_whole", and the updates.
  bool is_of_shards(const plan::Graph& graph) const;

 private:
  template <typename T>
  std::span<const T> table(const plan::Table& t) const {
    return {reinterpret_cast<const T*>(blob() + t.offset), static_cast<size_t>(t.count)};
  }
  const unsigned char* blob() const { return reinterpret_cast<const unsigned char*>(header_); }
  const char* strings() const { return reinterpret_cast<const char*>(blob() + header_->strings.offset); }

  static const plan::Header kEmpty;
  const plan::Header* header_ = &kEmpty;
};

const char* dtype_name(plan::DType dtype);  // "f32"

}  // namespace mxc::core

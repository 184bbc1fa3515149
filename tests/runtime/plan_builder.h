// PlanBuilder: writes Plans by hand in tests. Buffers get offsets one after another in their space unless told otherwise;
// graphs and loops are opened and closed like brackets, and steps go into the innermost open block.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "runtime/core/plan.h"

namespace mxc::test {

struct BufferSpec {
  std::string name = "";
  std::vector<int64_t> dims = {};
  plan::DType dtype = plan::DType::f32;
  plan::Space space = plan::Space::arena;
  plan::Role role = plan::Role::activation;
  int batch_axis = -1;
  int64_t batch_unit = 1;            // if batch_axis >= 0
  std::vector<int> order = {};       // empty: plain
  int block_axis = -1;
  int block = 0;
  int64_t offset = -1;               // -1: after the former ones
  int64_t upper_bound = 0;
  uint16_t device = 0;
};

struct ArgSpec {
  uint32_t buffer;
  plan::Access access;
  int64_t stride = 0;
};
inline ArgSpec in(uint32_t buffer, int64_t stride = 0) { return {buffer, plan::Access::read, stride}; }
inline ArgSpec out(uint32_t buffer, int64_t stride = 0) { return {buffer, plan::Access::write, stride}; }
inline ArgSpec inout(uint32_t buffer, int64_t stride = 0) { return {buffer, plan::Access::read_write, stride}; }

struct StepSpec {
  std::string name = "";
  plan::Kernel kernel = nullptr;     // null: a copy
  std::vector<ArgSpec> args = {};
  std::vector<uint32_t> deps = {};
  int64_t cells = 1, batch_unit = 0, batch_tile = 1;
  plan::StepKind kind = plan::StepKind::cpu_kernel;
  plan::Lane lane = plan::Lane::compute;
  int32_t priority = 0;
};

// A finished blob with its kernels.
class BuiltPlan {
 public:
  BuiltPlan(std::vector<unsigned char> bytes, std::vector<plan::Kernel> kernels)
      : size_(bytes.size()), kernels_(std::move(kernels)),
        blob_(static_cast<unsigned char*>(std::aligned_alloc(plan::kAlign, (size_ + 63) / 64 * 64)), std::free) {
    std::memcpy(blob_.get(), bytes.data(), size_);
  }
  plan::Program program() const { return {blob_.get(), size_, kernels_.data(), kernels_.size()}; }
  unsigned char* bytes() { return blob_.get(); }
  plan::Header& header() { return *reinterpret_cast<plan::Header*>(blob_.get()); }

  // A mutable table, to make it wrong.
  template <typename T>
  T* records(const plan::Table& table) {
    return reinterpret_cast<T*>(blob_.get() + table.offset);
  }

 private:
  uint64_t size_;
  std::vector<plan::Kernel> kernels_;
  std::unique_ptr<unsigned char, decltype(&std::free)> blob_;
};

class PlanBuilder {
 public:
  PlanBuilder() : strings_(1, '\0') { device(plan::DeviceKind::cpu); }

  uint32_t device(plan::DeviceKind kind) {
    plan::Device record = {};
    record.kind = kind;
    devices_.push_back(record);
    return static_cast<uint32_t>(devices_.size() - 1);
  }

  void fact(const std::string& key, const std::string& value) { facts_.push_back({string(key), string(value)}); }

  uint32_t buffer(const BufferSpec& spec) {
    plan::Buffer b = {};
    b.name = string(spec.name);
    b.role = spec.role;
    b.dtype = spec.dtype;
    b.space = spec.space;
    b.rank = static_cast<uint8_t>(spec.dims.size());
    b.batch_axis = static_cast<int8_t>(spec.batch_axis);
    b.batch_unit = spec.batch_axis >= 0 ? spec.batch_unit : 0;
    b.block_axis = static_cast<int8_t>(spec.block_axis);
    b.block = spec.block;
    b.device = spec.device;
    b.upper_bound = spec.upper_bound;
    static constexpr int64_t kBytes[] = {4, 8, 2, 2, 1, 1, 4, 8, 1};
    int64_t bytes = kBytes[static_cast<int>(spec.dtype)];
    for (int axis = 0; axis < b.rank; ++axis) {
      b.dims[axis] = spec.dims[static_cast<size_t>(axis)];
      b.order[axis] = spec.order.empty() ? axis : spec.order[static_cast<size_t>(axis)];
      bytes *= axis == spec.block_axis ? (b.dims[axis] + b.block - 1) / b.block * b.block : b.dims[axis];
    }
    b.bytes = static_cast<uint64_t>(bytes);
    uint64_t& top = space_bytes(spec.device, spec.space);
    b.offset = spec.offset >= 0 ? static_cast<uint64_t>(spec.offset) : top;
    uint64_t end = (b.offset + b.bytes + 63) / 64 * 64;
    if (end > top) top = end;
    buffers_.push_back(b);
    return static_cast<uint32_t>(buffers_.size() - 1);
  }

  uint32_t hyper(const std::string& name, double value, plan::DType dtype = plan::DType::f32) {
    uint32_t index = buffer({.name = name, .dtype = dtype, .space = plan::Space::persistent, .role = plan::Role::hyper});
    hypers_.push_back({string(name), index, value});
    return index;
  }

  // `trainable` ones must come first.
  uint32_t parameter(BufferSpec spec, bool trainable = true) {
    spec.space = plan::Space::persistent;
    spec.role = plan::Role::parameter;
    uint32_t index = buffer(spec);
    parameters_.push_back(index);
    trainable_ += trainable ? 1 : 0;
    return index;
  }

  uint32_t optimizer_slot(BufferSpec spec) {
    spec.space = plan::Space::persistent;
    spec.role = plan::Role::state;
    uint32_t index = buffer(spec);
    slots_.push_back({string(spec.name), index, plan::OutputKind::state, {}});
    return index;
  }

  void begin_graph(const std::string& name, plan::GraphKind kind, int64_t batch) {
    graph_ = {};
    graph_.name = string(name);
    graph_.kind = kind;
    graph_.batch = batch;
    inputs_.clear();
    outputs_.clear();
    open_.push_back(Open{});
  }
  void input(uint32_t buffer) { inputs_.push_back({buffers_[buffer].name, buffer, plan::OutputKind::output, {}}); }
  // `name`: instead of the buffer's.
  void output(uint32_t buffer, plan::OutputKind kind = plan::OutputKind::output, const std::string& name = "") {
    outputs_.push_back({name.empty() ? buffers_[buffer].name : string(name), buffer, kind, {}});
  }
  // What follows in the root block is backward.
  void begin_backward() { graph_.backward_item = static_cast<uint32_t>(open_.back().items.size()); }
  uint32_t end_graph() {
    graph_.block = close();
    graph_.first_input = static_cast<uint32_t>(bindings_.size());
    graph_.input_count = static_cast<uint32_t>(inputs_.size());
    bindings_.insert(bindings_.end(), inputs_.begin(), inputs_.end());
    graph_.first_output = static_cast<uint32_t>(bindings_.size());
    graph_.output_count = static_cast<uint32_t>(outputs_.size());
    bindings_.insert(bindings_.end(), outputs_.begin(), outputs_.end());
    graph_.arena_bytes = devices_[0].arena_bytes;
    graphs_.push_back(graph_);
    return static_cast<uint32_t>(graphs_.size() - 1);
  }

  void begin_sequence() { open_.push_back(Open{}); }
  void begin_loop(int64_t trips, uint32_t trip_buffer = plan::kNone) {
    Open loop;
    loop.block.kind = plan::BlockKind::loop;
    loop.block.trip_count = trips;
    loop.block.trip_buffer = trip_buffer;
    open_.push_back(loop);
  }
  void carry(uint32_t from, uint32_t to) { open_.back().carried.push_back({from, to}); }
  void end_block() {
    uint32_t block = close();
    open_.back().items.push_back({plan::ItemKind::block, block});
  }

  uint32_t step(const StepSpec& spec) {
    plan::Step s = {};
    s.name = string(spec.name);
    s.kind = spec.kernel == nullptr && spec.kind == plan::StepKind::cpu_kernel ? plan::StepKind::copy : spec.kind;
    s.lane = spec.lane;
    s.priority = spec.priority;
    s.kernel = s.kind == plan::StepKind::copy ? plan::kNone : static_cast<uint32_t>(kernels_.size());
    if (s.kind != plan::StepKind::copy) kernels_.push_back(spec.kernel);
    s.first_arg = static_cast<uint32_t>(args_.size());
    s.arg_count = static_cast<uint32_t>(spec.args.size());
    for (const ArgSpec& arg : spec.args) args_.push_back({arg.buffer, arg.access, {}, arg.stride});
    s.first_dep = static_cast<uint32_t>(deps_.size());
    s.dep_count = static_cast<uint32_t>(spec.deps.size());
    deps_.insert(deps_.end(), spec.deps.begin(), spec.deps.end());
    s.grid_cells = spec.cells;
    s.grid_batch_unit = spec.batch_unit;
    s.grid_batch_tile = spec.batch_tile;
    steps_.push_back(s);
    uint32_t index = static_cast<uint32_t>(steps_.size() - 1);
    open_.back().items.push_back({plan::ItemKind::step, index});
    return index;
  }

  BuiltPlan build() const {
    std::vector<unsigned char> bytes(sizeof(plan::Header));
    plan::Header h = {};
    h.magic = plan::kMagic;
    h.version = plan::kVersion;
    h.trainable_count = trainable_;
    h.strings = append(bytes, std::vector<char>(strings_.begin(), strings_.end()));
    h.facts = append(bytes, facts_);
    h.devices = append(bytes, devices_);
    h.buffers = append(bytes, buffers_);
    h.hypers = append(bytes, hypers_);
    h.args = append(bytes, args_);
    h.deps = append(bytes, deps_);
    h.steps = append(bytes, steps_);
    h.items = append(bytes, items_);
    h.carried = append(bytes, carried_);
    h.blocks = append(bytes, blocks_);
    h.bindings = append(bytes, bindings_);
    h.graphs = append(bytes, graphs_);
    h.parameters = append(bytes, parameters_);
    h.optimizer_slots = append(bytes, slots_);
    h.bytes = bytes.size();
    std::memcpy(bytes.data(), &h, sizeof h);
    return BuiltPlan(std::move(bytes), kernels_);
  }

 private:
  struct Open {
    plan::Block block = {plan::BlockKind::sequence, {}, 0, 0, plan::kNone, 0, 0, 0};
    std::vector<plan::Item> items;
    std::vector<plan::Carried> carried;
  };

  uint32_t string(const std::string& text) {
    if (text.empty()) return 0;
    uint32_t offset = static_cast<uint32_t>(strings_.size());
    strings_ += text;
    strings_ += '\0';
    return offset;
  }

  uint64_t& space_bytes(uint16_t device, plan::Space space) {
    plan::Device& d = devices_[device];
    if (space == plan::Space::arena) return d.arena_bytes;
    return space == plan::Space::persistent ? d.persistent_bytes : d.io_bytes;
  }

  uint32_t close() {
    Open open = open_.back();
    open_.pop_back();
    open.block.first_item = static_cast<uint32_t>(items_.size());
    open.block.item_count = static_cast<uint32_t>(open.items.size());
    items_.insert(items_.end(), open.items.begin(), open.items.end());
    open.block.first_carried = static_cast<uint32_t>(carried_.size());
    open.block.carried_count = static_cast<uint32_t>(open.carried.size());
    carried_.insert(carried_.end(), open.carried.begin(), open.carried.end());
    blocks_.push_back(open.block);
    return static_cast<uint32_t>(blocks_.size() - 1);
  }

  template <typename T>
  static plan::Table append(std::vector<unsigned char>& bytes, const std::vector<T>& records) {
    bytes.resize((bytes.size() + 7) / 8 * 8);
    plan::Table table = {bytes.size(), records.size()};
    const unsigned char* first = reinterpret_cast<const unsigned char*>(records.data());
    bytes.insert(bytes.end(), first, first + records.size() * sizeof(T));
    return table;
  }

  std::string strings_;
  std::vector<plan::Fact> facts_;
  std::vector<plan::Device> devices_;
  std::vector<plan::Buffer> buffers_;
  std::vector<plan::Hyper> hypers_;
  std::vector<plan::Arg> args_;
  std::vector<uint32_t> deps_;
  std::vector<plan::Step> steps_;
  std::vector<plan::Item> items_;
  std::vector<plan::Carried> carried_;
  std::vector<plan::Block> blocks_;
  std::vector<plan::Binding> bindings_, inputs_, outputs_, slots_;
  std::vector<plan::Graph> graphs_;
  std::vector<uint32_t> parameters_;
  std::vector<plan::Kernel> kernels_;
  std::vector<Open> open_;
  plan::Graph graph_ = {};
  uint64_t trainable_ = 0;
};

}  // namespace mxc::test

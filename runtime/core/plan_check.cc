// One function a record type; each failure names the record, its name if it has one, and the field.
#include "runtime/core/plan_check.h"

#include "runtime/core/array.h"

namespace mxc::core {

namespace {

using plan::kNone;

constexpr uint32_t kMaxDepth = 32;  // nesting of blocks, so that walks may recurse

Status ok() { return Status(); }

// The table of records of one type lies inside the blob and is aligned for 8-byte fields.
Status check_table(const plan::Header& header, const plan::Table& table, uint64_t record_bytes, const char* name) {
  bool inside = table.offset <= header.bytes && table.count <= (header.bytes - table.offset) / record_bytes;
  if (!inside) {
    return error(Code::corrupt_plan, "plan: table '%s' (offset %llu, %llu records) is outside the %llu bytes", name,
                 (unsigned long long)table.offset, (unsigned long long)table.count, (unsigned long long)header.bytes);
  }
  if (table.offset % 8 != 0) return error(Code::corrupt_plan, "plan: table '%s' is not aligned to 8 bytes", name);
  if (table.count >= kNone) return error(Code::corrupt_plan, "plan: table '%s' has too many records", name);
  return ok();
}

bool in_range(uint64_t first, uint64_t count, uint64_t size) { return first <= size && count <= size - first; }

// product * factor, or -1 if that exceeds int64.
int64_t multiply(int64_t product, int64_t factor) {
  int64_t result;
  return product < 0 || __builtin_mul_overflow(product, factor, &result) ? -1 : result;
}

// Checks the records of one view. The members find who is the parent of what.
class Checker {
 public:
  Checker(const PlanView& view, uint64_t kernel_count) : view_(view), kernel_count_(kernel_count) {}

  Status all() {
    if (!step_block_.allocate(view_.steps().size()) || !step_position_.allocate(view_.steps().size()) ||
        !block_parent_.allocate(view_.blocks().size())) {
      return error(Code::out_of_memory, "plan: no memory to check it");
    }
    Status (Checker::*const kParts[])() = {&Checker::facts,  &Checker::devices, &Checker::buffers,  &Checker::hypers,
                                           &Checker::args,   &Checker::blocks,  &Checker::steps,    &Checker::bindings,
                                           &Checker::graphs, &Checker::depths,  &Checker::parameters};
    for (auto part : kParts) {
      Status status = (this->*part)();
      if (!status.ok()) return status;
    }
    return ok();
  }

 private:
  bool string(uint32_t offset) const { return offset < view_.strings_bytes(); }
  bool is_buffer(uint32_t index) const { return index < view_.buffers().size(); }

  Status facts() {
    for (uint32_t i = 0; i < view_.facts().size(); ++i) {
      const plan::Fact& fact = view_.facts()[i];
      if (!string(fact.key)) return error(Code::corrupt_plan, "plan: fact %u: key is outside the strings", i);
      if (!string(fact.value)) return error(Code::corrupt_plan, "plan: fact %u: value is outside the strings", i);
    }
    return ok();
  }

  Status devices() {
    for (uint32_t i = 0; i < view_.devices().size(); ++i) {
      const plan::Device& device = view_.devices()[i];
      if (device.kind > plan::DeviceKind::cuda) return error(Code::corrupt_plan, "plan: device %u: unknown kind", i);
      uint64_t limit = uint64_t{1} << 48;
      if (device.arena_bytes > limit || device.persistent_bytes > limit || device.io_bytes > limit) {
        return error(Code::corrupt_plan, "plan: device %u: an area is larger than 2^48 bytes", i);
      }
    }
    return ok();
  }

  Status buffers() {
    for (uint32_t i = 0; i < view_.buffers().size(); ++i) {
      const plan::Buffer& b = view_.buffer(i);
      if (!string(b.name)) return error(Code::corrupt_plan, "plan: buffer %u: name is outside the strings", i);
      const char* wrong = buffer_fields(b);
      if (wrong == nullptr) wrong = buffer_layout(b);
      if (wrong == nullptr) wrong = buffer_place(b);
      if (wrong != nullptr) return error(Code::corrupt_plan, "plan: buffer %u '%s': %s", i, view_.text(b.name), wrong);
    }
    return ok();
  }

  // Each returns what is wrong with the buffer, or null.
  const char* buffer_fields(const plan::Buffer& b) const {
    if (!string(b.location)) return "location is outside the strings";
    if (b.role > plan::Role::scratch) return "unknown role";
    if (b.dtype > plan::DType::boolean) return "unknown dtype";
    if (b.space > plan::Space::io) return "unknown space";
    if (b.rank > plan::kMaxRank) return "rank exceeds 8";
    if (b.batch_axis < -1 || b.batch_axis >= b.rank) return "batch_axis is no axis";
    if (b.block_axis < -1 || b.block_axis >= b.rank) return "block_axis is no axis";
    if (b.block_axis >= 0 ? b.block <= 0 : b.block != 0) return "block does not fit block_axis";
    if (b.device >= view_.devices().size()) return "device is out of range";
    if (b.upper_bound < 0) return "upper_bound is negative";
    return nullptr;
  }

  static const char* buffer_layout(const plan::Buffer& b) {
    uint32_t seen = 0;
    int64_t count = 1;
    for (int place = 0; place < b.rank; ++place) {
      int axis = b.order[place];
      if (axis < 0 || axis >= b.rank || (seen >> axis & 1) != 0) return "order is no permutation of the axes";
      seen |= 1u << axis;
      if (b.dims[axis] < 0) return "dims has a negative extent";
      int64_t blocks = b.block_axis == axis ? (b.dims[axis] / b.block + (b.dims[axis] % b.block != 0)) : b.dims[axis];
      count = multiply(count, blocks);
    }
    if (b.block_axis >= 0) count = multiply(count, b.block);
    count = multiply(count, dtype_bytes(b.dtype));
    if (count < 0 || static_cast<uint64_t>(count) != b.bytes) return "bytes differ from the product of the extents";
    if (b.batch_axis < 0) return b.batch_unit == 0 ? nullptr : "batch_unit without a batch axis";
    if (b.batch_unit <= 0 || b.dims[b.batch_axis] == 0) return "batch_unit or the batch extent is not positive";
    return b.dims[b.batch_axis] % b.batch_unit == 0 ? nullptr : "the batch extent is no multiple of batch_unit";
  }

  uint64_t space_bytes(const plan::Buffer& b) const {
    const plan::Device& device = view_.devices()[b.device];
    if (b.space == plan::Space::arena) return device.arena_bytes;
    return b.space == plan::Space::persistent ? device.persistent_bytes : device.io_bytes;
  }

  const char* buffer_place(const plan::Buffer& b) const {
    if (b.offset % plan::kAlign != 0) return "offset is not aligned";
    return in_range(b.offset, b.bytes, space_bytes(b)) ? nullptr : "lies outside its space";
  }

  Status hypers() {
    for (uint32_t i = 0; i < view_.hypers().size(); ++i) {
      const plan::Hyper& hyper = view_.hypers()[i];
      if (!string(hyper.name)) return error(Code::corrupt_plan, "plan: hyper %u: name is outside the strings", i);
      const char* name = view_.text(hyper.name);
      if (!is_buffer(hyper.buffer)) return error(Code::corrupt_plan, "plan: hyper '%s': buffer is out of range", name);
      const plan::Buffer& b = view_.buffer(hyper.buffer);
      if (b.batch_axis >= 0 || elements(b) != 1 || b.dtype == plan::DType::f16 || b.dtype == plan::DType::bf16) {
        return error(Code::corrupt_plan, "plan: hyper '%s': its buffer is no scalar of a host type", name);
      }
    }
    return ok();
  }

  Status args() {
    for (uint32_t i = 0; i < view_.args().size(); ++i) {
      const plan::Arg& arg = view_.args()[i];
      if (!is_buffer(arg.buffer)) return error(Code::corrupt_plan, "plan: arg %u: buffer is out of range", i);
      if (arg.access > plan::Access::read_write) return error(Code::corrupt_plan, "plan: arg %u: unknown access", i);
    }
    return ok();
  }

  // Every step and block has at most one parent: then blocks form trees or unreachable rings, never a ring below a root.
  // block_parent_ and step_block_ hold parent + 1; 0 is none.
  Status blocks() {
    for (uint32_t i = 0; i < view_.blocks().size(); ++i) {
      const plan::Block& block = view_.block(i);
      const char* wrong = block_fields(block);
      if (wrong == nullptr) wrong = block_items(i);
      if (wrong == nullptr) wrong = block_carried(block);
      if (wrong != nullptr) return error(Code::corrupt_plan, "plan: block %u: %s", i, wrong);
    }
    return ok();
  }

  const char* block_fields(const plan::Block& block) const {
    if (block.kind > plan::BlockKind::loop) return "unknown kind";
    if (!in_range(block.first_item, block.item_count, view_.items().size())) return "items are out of range";
    if (!in_range(block.first_carried, block.carried_count, view_.carried().size())) return "carried is out of range";
    if (block.kind == plan::BlockKind::sequence) return block.carried_count == 0 ? nullptr : "a sequence carries buffers";
    if (block.trip_buffer == kNone) return block.trip_count >= 0 ? nullptr : "trip_count is negative";
    if (!is_buffer(block.trip_buffer)) return "trip_buffer is out of range";
    const plan::Buffer& b = view_.buffer(block.trip_buffer);
    bool scalar = b.dtype == plan::DType::i64 && b.batch_axis < 0 && elements(b) == 1;
    return scalar ? nullptr : "trip_buffer is no i64 scalar";
  }

  const char* block_items(uint32_t index) {
    const plan::Block& block = view_.block(index);
    for (uint32_t position = 0; position < block.item_count; ++position) {
      const plan::Item& item = view_.items(block)[position];
      if (item.kind > plan::ItemKind::block) return "an item has an unknown kind";
      bool is_step = item.kind == plan::ItemKind::step;
      if (item.index >= (is_step ? view_.steps().size() : view_.blocks().size())) return "an item is out of range";
      uint32_t& parent = is_step ? step_block_[item.index] : block_parent_[item.index];
      if (parent != 0) return is_step ? "a step occurs twice" : "a block occurs twice";
      parent = index + 1;
      if (is_step) step_position_[item.index] = position;
    }
    return nullptr;
  }

  const char* block_carried(const plan::Block& block) const {
    for (const plan::Carried& pair : view_.carried(block)) {
      if (!is_buffer(pair.from) || !is_buffer(pair.to)) return "a carried buffer is out of range";
      const plan::Buffer &from = view_.buffer(pair.from), &to = view_.buffer(pair.to);
      if (from.bytes != to.bytes || from.device != to.device) return "a carried pair differs in bytes or device";
    }
    return nullptr;
  }

  Status steps() {
    for (uint32_t i = 0; i < view_.steps().size(); ++i) {
      const plan::Step& step = view_.step(i);
      if (!string(step.name)) return error(Code::corrupt_plan, "plan: step %u: name is outside the strings", i);
      const char* wrong = step_fields(step);
      if (wrong == nullptr) wrong = step_grid(step);
      if (wrong == nullptr) wrong = step_deps(i);
      if (wrong == nullptr && step.kind == plan::StepKind::copy) wrong = step_copy(step);
      if (wrong != nullptr) return error(Code::corrupt_plan, "plan: step %u '%s': %s", i, view_.text(step.name), wrong);
    }
    return ok();
  }

  const char* step_fields(const plan::Step& step) const {
    if (!string(step.location)) return "location is outside the strings";
    if (step.kind > plan::StepKind::communication) return "unknown kind";
    if (step.lane > plan::Lane::io) return "unknown lane";
    if (step.device >= view_.devices().size()) return "device is out of range";
    if (!in_range(step.first_arg, step.arg_count, view_.args().size())) return "args are out of range";
    if (!in_range(step.first_dep, step.dep_count, view_.deps().size())) return "deps are out of range";
    if (step.kind == plan::StepKind::copy) return step.kernel == kNone ? nullptr : "a copy has a kernel";
    return step.kernel < kernel_count_ ? nullptr : "kernel is out of range";
  }

  static const char* step_grid(const plan::Step& step) {
    if (step.grid_cells < 0 || step.grid_batch_unit < 0) return "the grid is negative";
    return step.grid_batch_unit > 0 && step.grid_batch_tile <= 0 ? "grid_batch_tile is not positive" : nullptr;
  }

  // Dependencies precede in the same block, so that the order of the block fulfils them.
  const char* step_deps(uint32_t index) const {
    for (uint32_t dep : view_.deps(view_.step(index))) {
      if (dep >= view_.steps().size()) return "a dep is out of range";
      if (step_block_[dep] != step_block_[index]) return "a dep is in another block";
      if (step_position_[dep] >= step_position_[index]) return "a dep does not come before the step";
    }
    return nullptr;
  }

  const char* step_copy(const plan::Step& step) const {
    if (step.arg_count != 2) return "a copy has not two args";
    const plan::Buffer& from = view_.buffer(view_.args(step)[0].buffer);
    const plan::Buffer& to = view_.buffer(view_.args(step)[1].buffer);
    return from.bytes == to.bytes ? nullptr : "a copy between buffers of different bytes";
  }

  Status check_bindings(std::span<const plan::Binding> all, const char* table) {
    for (uint32_t i = 0; i < all.size(); ++i) {
      const plan::Binding& binding = all[i];
      if (!string(binding.name)) return error(Code::corrupt_plan, "plan: %s %u: name is outside the strings", table, i);
      const char* wrong = nullptr;
      if (!is_buffer(binding.buffer)) wrong = "buffer is out of range";
      if (binding.kind > plan::OutputKind::gradient) wrong = "unknown kind";
      if (wrong != nullptr) return error(Code::corrupt_plan, "plan: %s '%s': %s", table, view_.text(binding.name), wrong);
    }
    return ok();
  }

  Status bindings() {
    Status status = check_bindings(view_.bindings(), "binding");
    return status.ok() ? check_bindings(view_.optimizer_slots(), "optimizer slot") : status;
  }

  Status graphs() {
    for (uint32_t i = 0; i < view_.graphs().size(); ++i) {
      const plan::Graph& graph = view_.graph(i);
      if (!string(graph.name)) return error(Code::corrupt_plan, "plan: graph %u: name is outside the strings", i);
      const char* wrong = graph_fields(i);
      if (wrong == nullptr) wrong = graph_bindings(graph);
      if (wrong != nullptr) return error(Code::corrupt_plan, "plan: graph %u '%s': %s", i, view_.text(graph.name), wrong);
    }
    return ok();
  }

  const char* graph_fields(uint32_t index) {
    const plan::Graph& graph = view_.graph(index);
    if (graph.kind > plan::GraphKind::user) return "unknown kind";
    if (graph.block >= view_.blocks().size()) return "block is out of range";
    if (view_.block(graph.block).kind != plan::BlockKind::sequence) return "the root block is no sequence";
    if (block_parent_[graph.block] != 0) return "the root block occurs elsewhere";
    block_parent_[graph.block] = kNone;
    if (!in_range(graph.first_input, graph.input_count, view_.bindings().size())) return "inputs are out of range";
    if (!in_range(graph.first_output, graph.output_count, view_.bindings().size())) return "outputs are out of range";
    if (graph.batch < 0) return "batch is negative";
    bool cut = graph.backward_item != kNone;
    if (cut && graph.backward_item > view_.block(graph.block).item_count) return "backward_item is out of range";
    bool fits = view_.devices().empty() || graph.arena_bytes <= view_.devices()[0].arena_bytes;
    return fits ? nullptr : "arena_bytes exceed the device's arena";
  }

  const char* graph_bindings(const plan::Graph& graph) const {
    for (const plan::Binding& input : view_.inputs(graph)) {
      const plan::Buffer& b = view_.buffer(input.buffer);
      if (b.batch_axis >= 0 && batch_capacity(b) != graph.batch) return "an input's batch differs from the graph's";
    }
    for (const plan::Binding& output : view_.outputs(graph)) {
      const plan::Buffer& b = view_.buffer(output.buffer);
      if (b.batch_axis >= 0 && batch_capacity(b) != graph.batch) return "an output's batch differs from the graph's";
      if (output.kind == plan::OutputKind::gradient && graph.backward_item == kNone) return "a gradient without a backward part";
      bool scalar = output.kind == plan::OutputKind::loss || output.kind == plan::OutputKind::metric;
      if (scalar && elements(b) != 1) return "a loss or metric is no scalar";
    }
    return nullptr;
  }

  Status depths() {
    for (uint32_t i = 0; i < view_.blocks().size(); ++i) {
      uint32_t depth = 0;
      for (uint32_t at = i; block_parent_[at] != 0 && block_parent_[at] != kNone; at = block_parent_[at] - 1) {
        if (++depth > kMaxDepth) return error(Code::corrupt_plan, "plan: block %u: nested too deeply or in a ring", i);
      }
    }
    return ok();
  }

  Status parameters() {
    if (view_.header().trainable_count > view_.parameters().size()) {
      return error(Code::corrupt_plan, "plan: trainable_count exceeds the parameters");
    }
    for (uint32_t i = 0; i < view_.parameters().size(); ++i) {
      uint32_t index = view_.parameters()[i];
      if (!is_buffer(index)) return error(Code::corrupt_plan, "plan: parameter %u: buffer is out of range", i);
      const plan::Buffer& b = view_.buffer(index);
      if (b.space != plan::Space::persistent || b.batch_axis >= 0) {
        return error(Code::corrupt_plan, "plan: parameter '%s': not persistent, or has a batch axis", view_.text(b.name));
      }
    }
    return ok();
  }

  const PlanView& view_;
  uint64_t kernel_count_;
  Array<uint32_t> step_block_, step_position_, block_parent_;
};

}  // namespace

Status check_tables(const void* blob, uint64_t bytes) {
  const plan::Header* header = static_cast<const plan::Header*>(blob);
  if (blob == nullptr || bytes < sizeof(plan::Header)) {
    return error(Code::corrupt_plan, "plan: %llu bytes are too short for a header", (unsigned long long)bytes);
  }
  if (reinterpret_cast<uintptr_t>(blob) % plan::kAlign != 0) return error(Code::corrupt_plan, "plan: not aligned to 64 bytes");
  if (header->magic != plan::kMagic) return error(Code::corrupt_plan, "plan: magic is %08x", header->magic);
  if (header->version != plan::kVersion) {
    return error(Code::corrupt_plan, "plan: version is %u, expected %u", header->version, plan::kVersion);
  }
  if (header->bytes != bytes) {
    return error(Code::corrupt_plan, "plan: %llu bytes, the header says %llu", (unsigned long long)bytes,
                 (unsigned long long)header->bytes);
  }
  struct {
    const plan::Table& table;
    uint64_t record_bytes;
    const char* name;
  } const kTables[] = {
      {header->strings, 1, "strings"},
      {header->facts, sizeof(plan::Fact), "facts"},
      {header->devices, sizeof(plan::Device), "devices"},
      {header->buffers, sizeof(plan::Buffer), "buffers"},
      {header->hypers, sizeof(plan::Hyper), "hypers"},
      {header->args, sizeof(plan::Arg), "args"},
      {header->deps, sizeof(uint32_t), "deps"},
      {header->steps, sizeof(plan::Step), "steps"},
      {header->items, sizeof(plan::Item), "items"},
      {header->carried, sizeof(plan::Carried), "carried"},
      {header->blocks, sizeof(plan::Block), "blocks"},
      {header->bindings, sizeof(plan::Binding), "bindings"},
      {header->graphs, sizeof(plan::Graph), "graphs"},
      {header->parameters, sizeof(uint32_t), "parameters"},
      {header->optimizer_slots, sizeof(plan::Binding), "optimizer_slots"},
  };
  for (const auto& entry : kTables) {
    Status status = check_table(*header, entry.table, entry.record_bytes, entry.name);
    if (!status.ok()) return status;
  }
  const char* strings = static_cast<const char*>(blob) + header->strings.offset;
  uint64_t length = header->strings.count;
  if (length == 0 || strings[0] != '\0' || strings[length - 1] != '\0') {
    return error(Code::corrupt_plan, "plan: strings do not start and end with NUL");
  }
  return ok();
}

Status check_records(const PlanView& view, uint64_t kernel_count) { return Checker(view, kernel_count).all(); }

}  // namespace mxc::core

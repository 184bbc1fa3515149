// Flattening the tree of blocks, and the loop that runs the flat list.
#include "runtime/core/executor.h"

#include <cstring>
#include <utility>

namespace mxc::core {

namespace {

using plan::kNone;

constexpr Observer kNobody;
constexpr Selection kWhole;
constexpr uint64_t kCopyCell = uint64_t{256} << 10;  // bytes of a copy that one range moves

// A kernel or copy as a range function of the pool.
struct KernelCall {
  plan::Kernel kernel;
  void* const* args;
  int64_t n;
};
void call_kernel(void* context, int64_t begin, int64_t end) {
  const KernelCall& call = *static_cast<const KernelCall*>(context);
  call.kernel(call.args, call.n, begin, end);
}

struct CopyCall {
  unsigned char* to;
  const unsigned char* from;
  uint64_t bytes;
};
void call_copy(void* context, int64_t begin, int64_t end) {
  const CopyCall& call = *static_cast<const CopyCall*>(context);
  uint64_t first = static_cast<uint64_t>(begin) * kCopyCell, last = static_cast<uint64_t>(end) * kCopyCell;
  if (last > call.bytes) last = call.bytes;
  std::memmove(call.to + first, call.from + first, last - first);
}

// The bytes that an argument covers over all iterations of its loop, within its space.
struct Extent {
  plan::Space space;
  uint16_t device;
  int64_t begin, end;
};

constexpr int64_t kEverywhere = int64_t{1} << 60;

// `trips` is the iterations of the innermost loop; unknown (from a buffer) counts as the whole space.
Extent extent_of(const plan::Buffer& buffer, int64_t stride, bool trips_known, int64_t trips) {
  int64_t begin = static_cast<int64_t>(buffer.offset), end = begin + static_cast<int64_t>(buffer.bytes);
  if (stride != 0 && !trips_known) return {buffer.space, buffer.device, 0, kEverywhere};
  int64_t travel = trips > 0 ? (trips - 1) * stride : 0;
  return {buffer.space, buffer.device, begin + (travel < 0 ? travel : 0), end + (travel > 0 ? travel : 0)};
}

bool overlap(const Extent& a, const Extent& b) {
  return a.space == b.space && a.device == b.device && a.begin < b.end && b.begin < a.end;
}

bool shares_bytes(const plan::Buffer& a, const plan::Buffer& b) {
  return overlap(extent_of(a, 0, true, 1), extent_of(b, 0, true, 1));
}

void note(int64_t item, int64_t* first, int64_t* last) {
  if (*first < 0) *first = item;
  *last = item;
}

// Walks a top-level item and notes which of its arguments overlap one extent.
class UseFinder {
 public:
  UseFinder(const PlanView& view, const Extent& target) : view_(view), target_(target) {}

  void walk(const plan::Item& item, const plan::Block* loop) {
    if (item.kind == plan::ItemKind::step) return walk_step(view_.step(item.index), loop);
    const plan::Block& block = view_.block(item.index);
    if (block.trip_buffer != kNone && block.kind == plan::BlockKind::loop) touch(block.trip_buffer, true, false);
    for (const plan::Item& inner : view_.items(block)) walk(inner, block.kind == plan::BlockKind::loop ? &block : loop);
    for (const plan::Carried& pair : view_.carried(block)) {
      touch(pair.from, true, false);
      touch(pair.to, false, true);
    }
  }

  bool read = false, written = false;

 private:
  void walk_step(const plan::Step& step, const plan::Block* loop) {
    for (const plan::Arg& arg : view_.args(step)) {
      bool known = loop == nullptr || loop->trip_buffer == kNone;
      int64_t trips = loop == nullptr ? 1 : loop->trip_count;
      if (!overlap(extent_of(view_.buffer(arg.buffer), arg.stride, known, trips), target_)) continue;
      read = read || arg.access != plan::Access::write;
      written = written || arg.access != plan::Access::read;
    }
  }
  void touch(uint32_t buffer, bool reads, bool writes) {
    if (!overlap(extent_of(view_.buffer(buffer), 0, true, 1), target_)) return;
    read = read || reads;
    written = written || writes;
  }

  const PlanView& view_;
  Extent target_;
};

}  // namespace

// Fills an executor in two walks of the tree: the first counts, the second writes.
class Flattener {
 public:
  Flattener(Executor& executor, const Selection& selection) : e_(executor), view_(executor.view_), selection_(selection) {}

  Status flatten() {
    const plan::Block& root = view_.block(view_.graph(e_.graph_).block);
    Status status = walk_root(root);
    if (!status.ok()) return status;
    bool allocated = e_.ops_.allocate(ops_) && e_.slots_.allocate(slots_) && e_.slot_buffer_.allocate(slots_) &&
                     e_.moving_.allocate(moving_) && e_.loops_.allocate(loops_) && e_.bound_.allocate(view_.buffers().size()) &&
                     e_.items_.allocate(items_) && e_.item_op_.allocate(uint64_t{items_} + 1);
    if (!allocated) return error(Code::out_of_memory, "no memory for the executor");
    ops_ = slots_ = moving_ = loops_ = items_ = 0;
    writing_ = true;
    return walk_root(root);
  }

 private:
  using OpKind = Executor::OpKind;

  Status walk_root(const plan::Block& root) {
    uint32_t end = selection_.end < root.item_count ? selection_.end : root.item_count;
    for (uint32_t i = selection_.first; i < end; ++i) {
      if (selection_.keep != nullptr && selection_.keep[i] == 0) continue;
      if (writing_) {
        e_.items_[items_] = i;
        e_.item_op_[items_] = ops_;
      }
      emit({OpKind::item_begin, items_, 0, 0, nullptr});
      Status status = walk_item(view_.items(root)[i], kNone);
      if (!status.ok()) return status;
      emit({OpKind::item_end, items_++, 0, 0, nullptr});
    }
    if (writing_) e_.item_op_[items_] = ops_;
    return Status();
  }

  Status walk_item(const plan::Item& item, uint32_t loop) {
    if (item.kind == plan::ItemKind::step) return walk_step(item.index, loop);
    const plan::Block& block = view_.block(item.index);
    bool is_loop = block.kind == plan::BlockKind::loop;
    uint32_t begin = ops_, inner = is_loop ? loops_ : loop;
    if (is_loop) {
      if (writing_) e_.loops_[loops_] = {item.index, kNone, 0, 0};
      ++loops_;
      emit({OpKind::loop_begin, inner, 0, 0, nullptr});
    }
    for (const plan::Item& child : view_.items(block)) {
      Status status = walk_item(child, inner);
      if (!status.ok()) return status;
    }
    if (is_loop) {
      if (writing_) e_.ops_[begin].other = ops_;
      emit({OpKind::loop_end, inner, 0, begin, nullptr});
    }
    return Status();
  }

  Status walk_step(uint32_t index, uint32_t loop) {
    const plan::Step& step = view_.step(index);
    bool copy = step.kind == plan::StepKind::copy;
    if (!copy && step.kind != plan::StepKind::cpu_kernel) {
      return error(Code::unsupported, "step '%s': only CPU kernels and copies run here", view_.text(step.name));
    }
    plan::Kernel kernel = copy ? nullptr : e_.program_->kernels[step.kernel];
    emit({copy ? OpKind::copy : OpKind::kernel, index, slots_, 0, kernel});
    for (const plan::Arg& arg : view_.args(step)) {
      if (!e_.storage_->holds(view_.buffer(arg.buffer))) {
        return error(Code::invalid_argument, "step '%s': the storage was made for other graphs than its own", view_.text(step.name));
      }
      emit_slot(arg, loop);
    }
    return Status();
  }

  void emit(const Executor::Op& op) {
    if (writing_) e_.ops_[ops_] = op;
    ++ops_;
  }

  void emit_slot(const plan::Arg& arg, uint32_t loop) {
    bool moves = loop != kNone && arg.stride != 0;
    if (writing_) {
      e_.slots_[slots_] = e_.storage_->address(view_.buffer(arg.buffer));
      e_.slot_buffer_[slots_] = arg.buffer;
    }
    if (writing_ && moves) {
      e_.moving_[moving_] = {slots_, arg.buffer, arg.stride, e_.loops_[loop].first_moving};
      e_.loops_[loop].first_moving = moving_;
    }
    moving_ += moves ? 1 : 0;
    ++slots_;
  }

  Executor& e_;
  const PlanView& view_;
  const Selection& selection_;
  bool writing_ = false;
  uint32_t ops_ = 0, slots_ = 0, moving_ = 0, loops_ = 0, items_ = 0;
};

Status Executor::create(const plan::Program& program, const PlanView& view, uint32_t graph, const Storage& storage,
                        ThreadPool* pool, Executor* executor, const Selection* selection) {
  if (graph >= view.graphs().size()) return error(Code::invalid_argument, "graph %u of %zu", graph, view.graphs().size());
  Executor made;
  made.program_ = &program;
  made.view_ = view;
  made.graph_ = graph;
  made.storage_ = &storage;
  made.pool_ = pool;
  Status status = Flattener(made, selection == nullptr ? kWhole : *selection).flatten();
  if (status.ok()) *executor = std::move(made);
  return status;
}

Status Executor::bind(uint32_t buffer, void* memory) {
  if (reinterpret_cast<uintptr_t>(memory) % plan::kAlign != 0) {
    return error(Code::invalid_argument, "memory to bind is not aligned to %d bytes", static_cast<int>(plan::kAlign));
  }
  if (buffer >= view_.buffers().size()) return error(Code::invalid_argument, "buffer %u of %zu", buffer, view_.buffers().size());
  const plan::Buffer& whole = view_.buffer(buffer);
  if (whole.space == plan::Space::arena) return error(Code::invalid_argument, "buffer %u lies in the arena", buffer);
  bool moved_along = whole.space == plan::Space::persistent;
  uint32_t count = static_cast<uint32_t>(view_.buffers().size());
  for (uint32_t i = 0; moved_along && i < count; ++i) {
    const plan::Buffer& part = view_.buffer(i);
    if (shares_bytes(part, whole) && (part.offset < whole.offset || part.offset + part.bytes > whole.offset + whole.bytes)) {
      return error(Code::invalid_argument, "buffer %u lies in part in buffer %u", i, buffer);
    }
  }
  for (uint32_t i = 0; i < count; ++i) {
    const plan::Buffer& part = view_.buffer(i);
    if (i != buffer && !(moved_along && shares_bytes(part, whole))) continue;
    bound_[i] = memory == nullptr ? nullptr : static_cast<unsigned char*>(memory) + (part.offset - whole.offset);
    for (uint64_t slot = 0; slot < slots_.size(); ++slot) {
      if (slot_buffer_[slot] == i) slots_[slot] = address(i);
    }
  }
  return Status();
}

void* Executor::address(uint32_t buffer) const {
  return bound_[buffer] != nullptr ? bound_[buffer] : storage_->address(view_.buffer(buffer));
}

void Executor::follow_storage() {
  for (uint64_t slot = 0; slot < slots_.size(); ++slot) slots_[slot] = address(slot_buffer_[slot]);
}

uint32_t Executor::top_level_items() const { return static_cast<uint32_t>(items_.size()); }

Use Executor::use(uint32_t buffer) const {
  Extent target = extent_of(view_.buffer(buffer), 0, true, 1);
  Use use;
  std::span<const plan::Item> items = view_.items(view_.block(view_.graph(graph_).block));
  for (uint32_t i = 0; i < items_.size(); ++i) {
    UseFinder finder(view_, target);
    finder.walk(items[items_[i]], nullptr);
    if (finder.read) note(i, &use.first_read, &use.last_read);
    if (finder.written) note(i, &use.first_write, &use.last_write);
  }
  return use;
}

Status Executor::run(int64_t n, const Observer* observer) { return run_items(n, 0, top_level_items(), observer); }

Status Executor::run_items(int64_t n, uint32_t first, uint32_t end, const Observer* observer) {
  const plan::Graph& graph = view_.graph(graph_);
  if (graph.batch == 0) n = 1;
  if (n < 1 || (graph.batch != 0 && n > graph.batch)) {
    return error(Code::invalid_argument, "graph '%s': a run with %lld samples of at most %lld", view_.text(graph.name),
                 (long long)n, (long long)graph.batch);
  }
  const Observer& o = observer == nullptr ? kNobody : *observer;
  if (first > end || end > top_level_items()) return error(Code::invalid_argument, "items [%u, %u) of %u", first, end, top_level_items());
  for (uint64_t pc = item_op_[first]; pc < item_op_[end]; ++pc) {
    const Op& op = ops_[pc];
    switch (op.kind) {
      case OpKind::kernel:
      case OpKind::copy:
        if (o.step_begin != nullptr) o.step_begin(o.context, op.index);
        run_step(op, n);
        if (o.step_end != nullptr) o.step_end(o.context, op.index);
        break;
      case OpKind::loop_begin: {
        Loop& loop = loops_[op.index];
        Status status = start_loop(loop);
        if (!status.ok()) return status;
        if (loop.trips == 0) pc = op.other;
        break;
      }
      case OpKind::loop_end: {
        Loop& loop = loops_[op.index];
        carry(loop);
        if (++loop.iteration == loop.trips) break;
        move(loop);
        pc = op.other;
        break;
      }
      case OpKind::item_begin:
        if (o.item_begin != nullptr && !o.item_begin(o.context, op.index)) {
          return error(Code::stopped, "graph '%s': stopped before item %u", view_.text(graph.name), op.index);
        }
        break;
      case OpKind::item_end:
        if (o.item_end != nullptr) o.item_end(o.context, op.index);
        break;
    }
  }
  return Status();
}

void Executor::run_step(const Op& op, int64_t n) {
  const plan::Step& step = view_.step(op.index);
  if (op.kind == OpKind::kernel) {
    KernelCall call = {op.kernel, &slots_[op.first_slot], n};
    int64_t cells = grid(step, n);
    if (pool_ != nullptr) {
      pool_->parallel(cells, call_kernel, &call);
    } else if (cells > 0) {
      call_kernel(&call, 0, cells);
    }
    return;
  }
  std::span<const plan::Arg> args = view_.args(step);
  uint64_t from = used_bytes(view_.buffer(args[0].buffer), n), to = used_bytes(view_.buffer(args[1].buffer), n);
  CopyCall call = {static_cast<unsigned char*>(slots_[op.first_slot + 1]),
                   static_cast<const unsigned char*>(slots_[op.first_slot]), from < to ? from : to};
  int64_t cells = static_cast<int64_t>((call.bytes + kCopyCell - 1) / kCopyCell);
  if (pool_ != nullptr) {
    pool_->parallel(cells, call_copy, &call);
  } else if (cells > 0) {
    call_copy(&call, 0, cells);
  }
}

Status Executor::start_loop(Loop& loop) {
  const plan::Block& block = view_.block(loop.block);
  loop.iteration = 0;
  loop.trips = block.trip_count;
  if (block.trip_buffer != kNone) std::memcpy(&loop.trips, address(block.trip_buffer), sizeof loop.trips);
  if (loop.trips < 0) return error(Code::invalid_argument, "a loop is to run %lld times", (long long)loop.trips);
  move(loop);
  return Status();
}

// Sets the addresses that move with this loop to those of its iteration.
void Executor::move(const Loop& loop) {
  for (uint32_t i = loop.first_moving; i != kNone; i = moving_[i].next) {
    const Moving& moving = moving_[i];
    slots_[moving.slot] = static_cast<unsigned char*>(address(moving.buffer)) + loop.iteration * moving.stride;
  }
}

void Executor::carry(const Loop& loop) {
  for (const plan::Carried& pair : view_.carried(view_.block(loop.block))) {
    std::memmove(address(pair.to), address(pair.from), view_.buffer(pair.from).bytes);
  }
}

}  // namespace mxc::core

// Running: the tree of blocks is walked as it stands in the Plan, which the compiler has checked. An argument's address is worked out when
// its step comes: a few additions beside a kernel's thousands of cells.
#include <stddef.h>

#include "runtime/core/bounds.h"
#include "runtime/embed/context.h"

namespace mxc::embed {

namespace {

using core::grid;

constexpr int kMostRanges = 64;  // that a step's grid is divided into for a pool

// Whether the first n samples lie within what kernels, which index by them without looking, need. Inputs are row-major with the strides
// of the compiled batch: before the batch axis there may be others.
bool in_range(const plan::Buffer& buffer, const void* values, int64_t n) {
  if (buffer.upper_bound == 0) return true;
  int64_t outer = 1, stride = 1, count = 1;
  for (int axis = 0; axis < buffer.rank; ++axis) {
    bool before = axis < buffer.batch_axis;
    (before ? outer : count) *= core::extent(buffer, axis, n);
    if (!before) stride *= buffer.dims[axis];
  }
  const int64_t row_bytes = stride * core::dtype_bytes(buffer.dtype);
  for (int64_t i = 0; i < outer; ++i) {
    if (core::first_outside(buffer.dtype, static_cast<const char*>(values) + i * row_bytes, count, buffer.upper_bound) >= 0) return false;
  }
  return true;
}

Status check_memory(const plan::Buffer& buffer, const void* memory) {
  if (memory == nullptr) return Status::null_pointer;
  uintptr_t alignment = static_cast<uintptr_t>(core::dtype_bytes(buffer.dtype));
  return reinterpret_cast<uintptr_t>(memory) % alignment == 0 ? Status::ok : Status::misaligned;
}

// A part of a step's grid.
struct Range {
  plan::Kernel kernel;
  void* const* arguments;
  int64_t n, begin, end;
};

void run_range(void* argument) {
  const Range& range = *static_cast<const Range*>(argument);
  range.kernel(range.arguments, range.n, range.begin, range.end);
}

class Runner {
 public:
  Runner(Context& context, const plan::Library& set, const plan::Graph& graph, int64_t n)
      : context_(context), program_(set.program), plan_(set.program.plan), graph_(graph), n_(n) {}

  Status bind(const void* const* inputs, void* const* outputs) {
    for (uint64_t i = 0; i < graph_.input_count; ++i) {
      const plan::Buffer& buffer = plan_.buffer(plan_.input(graph_, i).buffer);
      Status status = check_memory(buffer, inputs[i]);
      if (status != Status::ok) return status;
      if (!in_range(buffer, inputs[i], n_)) return Status::out_of_range;
      context_.pointers[i] = const_cast<void*>(inputs[i]);  // kernels read it alone
    }
    unsigned char* own = context_.outputs;
    for (uint64_t i = 0; i < graph_.output_count; ++i) {
      if (!plan_.is_delivered(plan_.output(graph_, i))) continue;
      const plan::Buffer& buffer = plan_.buffer(plan_.output(graph_, i).buffer);
      void* memory = *outputs != nullptr ? *outputs : own;
      ++outputs;
      Status status = check_memory(buffer, memory);
      if (status != Status::ok) return status;
      context_.pointers[graph_.input_count + i] = memory;
      own += aligned(buffer.bytes);
    }
    return Status::ok;
  }

  void run_block(const plan::Block& block, int64_t iteration) {
    for (uint64_t i = block.first_item; i < uint64_t{block.first_item} + block.item_count; ++i) {
      const plan::Item& item = plan_.item(i);
      if (item.kind == plan::ItemKind::step) {
        run_step(plan_.step(item.index), iteration);
      } else if (plan_.block(item.index).kind == plan::BlockKind::loop) {
        run_loop(plan_.block(item.index));
      } else {
        run_block(plan_.block(item.index), iteration);
      }
    }
  }

 private:
  void run_loop(const plan::Block& block) {
    int64_t trips = block.trip_count;
    if (block.trip_buffer != plan::kNone) __builtin_memcpy(&trips, address(block.trip_buffer), sizeof trips);
    for (int64_t iteration = 0; iteration < trips; ++iteration) {
      run_block(block, iteration);
      for (uint64_t i = block.first_carried; i < uint64_t{block.first_carried} + block.carried_count; ++i) {
        const plan::Carried& pair = plan_.carried(i);
        __builtin_memmove(address(pair.to), address(pair.from), static_cast<size_t>(plan_.buffer(pair.from).bytes));
      }
    }
  }

  void run_step(const plan::Step& step, int64_t iteration) {
    void** arguments = context_.arguments;
    for (uint64_t i = 0; i < step.arg_count; ++i) {
      const plan::Arg& arg = plan_.arg(step.first_arg + i);
      arguments[i] = address(arg.buffer) + iteration * arg.stride;
    }
    if (step.kind == plan::StepKind::copy) {
      uint64_t from = core::used_bytes(plan_.buffer(plan_.arg(step.first_arg).buffer), n_);
      uint64_t to = core::used_bytes(plan_.buffer(plan_.arg(step.first_arg + 1).buffer), n_);
      __builtin_memmove(arguments[1], arguments[0], static_cast<size_t>(from < to ? from : to));
      return;
    }
    plan::Kernel kernel = program_.kernels[step.kernel];
    int64_t cells = grid(step, n_);
    if (context_.pool.threads != nullptr && cells > 1) return share(kernel, cells);
    if (cells > 0) kernel(arguments, n_, 0, cells);
  }

  // Divides the grid over the pool; this thread does the first part.
  void share(plan::Kernel kernel, int64_t cells) {
    const Pool& pool = context_.pool;
    int64_t parts = pool.threads(pool.self);
    if (parts > kMostRanges) parts = kMostRanges;
    if (parts > cells) parts = cells;
    if (parts < 1) parts = 1;
    Range ranges[kMostRanges];
    for (int64_t i = 0; i < parts; ++i) {
      ranges[i] = {kernel, context_.arguments, n_, cells * i / parts, cells * (i + 1) / parts};
      if (i > 0) pool.submit(pool.self, run_range, &ranges[i]);
    }
    run_range(&ranges[0]);
    if (parts > 1) pool.wait(pool.self);
  }

  unsigned char* address(uint32_t index) const {
    const plan::Buffer& buffer = plan_.buffer(index);
    switch (buffer.space) {
      case plan::Space::arena: return context_.arena + buffer.offset;
      case plan::Space::persistent:
        if (buffer.offset >= context_.own_from) return context_.own + (buffer.offset - context_.own_from);
        return const_cast<unsigned char*>(context_.weights) + buffer.offset;  // kernels read it alone
      case plan::Space::io: break;
    }
    uint64_t bound = 0;
    for (uint64_t i = 0; i < graph_.input_count; ++i) {
      if (plan_.input(graph_, i).buffer == index) bound = i;
    }
    for (uint64_t i = 0; i < graph_.output_count; ++i) {
      if (plan_.output(graph_, i).buffer == index) bound = graph_.input_count + i;
    }
    return static_cast<unsigned char*>(context_.pointers[bound]);
  }

  Context& context_;
  const plan::Program& program_;
  const PlanRecords plan_;
  const plan::Graph& graph_;
  const int64_t n_;
};

}  // namespace

Status run_graph(Context& context, const plan::Library& set, const plan::Graph& graph, const void* const* inputs, void* const* outputs, int64_t n) {
  if (inputs == nullptr || outputs == nullptr) return Status::null_pointer;
  if (n < 1 || n > most_samples(plan_of(set))) return Status::wrong_batch;
  if (context.weights == nullptr && persistent(plan_of(set)).end != 0) return Status::no_weights;
  Runner runner(context, set, graph, graph.batch == 0 ? 1 : n);
  Status status = runner.bind(inputs, outputs);
  if (status == Status::ok) runner.run_block(plan_of(set).block(graph.block), 0);
  return status;
}

Status run(Sets sets, Context* context, const void* const* inputs, void* const* outputs, int64_t n) {
  Status status = check(sets, context);
  if (status != Status::ok) return status;
  const plan::Library& set = *set_for(sets, n);
  return run_graph(*context, set, plan_of(set).inference(), inputs, outputs, n);
}

}  // namespace mxc::embed

// Executor: runs one graph of a Plan, step after step in the Plan's order, each step's grid split over a thread pool.
//
// Creation resolves everything that can be: the tree of blocks becomes a flat list of operations with ready argument
// addresses, so that a step costs tens of nanoseconds beyond its kernel. Inside loops, the addresses that move are rewritten
// at the start of each iteration.
//
// A graph's root block is a list of top-level items (steps, nested blocks). An observer is told when each begins and has ended,
// and `use` says which items touch a buffer: so a caller can acquire an input just before the first item that needs it
// and hand on an output when its last writer has ended, while later items still run.
#pragma once

#include <cstdint>

#include "runtime/core/array.h"
#include "runtime/core/plan_view.h"
#include "runtime/core/storage.h"
#include "runtime/core/thread_pool.h"

namespace mxc::core {

// Calls made while a graph runs, all on the running thread. Null members are not called.
struct Observer {
  void* context = nullptr;
  // Before and after top-level item `item` (its position in the root block). `item_begin` returning false stops the run there:
  // `run` returns `stopped`, and nothing from this item on has run.
  bool (*item_begin)(void* context, uint32_t item) = nullptr;
  void (*item_end)(void* context, uint32_t item) = nullptr;
  // Before and after each execution of a step (inside loops, each iteration); `step` is its index in the Plan.
  void (*step_begin)(void* context, uint32_t step) = nullptr;
  void (*step_end)(void* context, uint32_t step) = nullptr;
};

// Top-level items that touch a buffer's bytes, by whichever buffer covers them (donated pairs share bytes). -1: none does.
struct Use {
  int64_t first_read = -1, last_read = -1;
  int64_t first_write = -1, last_write = -1;
};

// A part of a graph's root block: top-level items [first, end) without those whose `keep` is 0. An executor of a part counts the items of
// the part alone, from 0.
struct Selection {
  uint32_t first = 0, end = plan::kNone;  // kNone: to the last
  const uint8_t* keep = nullptr;          // by top-level item of the graph; null: all
};

class Executor {
 public:
  Executor() = default;
  Executor(Executor&&) = default;
  Executor& operator=(Executor&&) = default;

  // The plan, kernels, storage and pool must outlive the executor; the pool may be null (one thread). `unsupported` if the graph
  // has a step that is not a CPU kernel or copy; `invalid_argument` if the storage is for other graphs. `selection` is read during the call alone; null: the whole graph.
  static Status create(const plan::Program& program, const PlanView& view, uint32_t graph, const Storage& storage,
                       ThreadPool* pool, Executor* executor, const Selection* selection = nullptr);

  // Makes the graph use `memory` for an io or persistent buffer from the next run on; null goes back to the default place.
  // Persistent buffers that lie within its bytes (views, new values of donated ones) move along; one that lies there in part is an error.
  // Requires: memory aligned to plan::kAlign, used_bytes(buffer, n) bytes (persistent: all) for every n run, alive while bound.
  Status bind(uint32_t buffer, void* memory);

  // Takes up a change of the storage's areas (Storage::lend_arena). Threads: not during a run.
  void follow_storage();

  // Where the graph reads or writes a buffer (outside loops' strides): bound memory or its place in the storage.
  void* address(uint32_t buffer) const;

  // Runs with n samples, 1 <= n <= the graph's batch; ignored (any value) if the graph has no batch.
  // Threads: one run at a time of all executors that share a storage.
  Status run(int64_t n, const Observer* observer = nullptr);

  // Runs top-level items [first, end) alone, so that a caller can do other things between items. A whole run is a sequence of such
  // calls with the same n that covers all items in order.
  Status run_items(int64_t n, uint32_t first, uint32_t end, const Observer* observer = nullptr);

  const char* name() const { return view_.text(view_.graph(graph_).name); }
  uint32_t graph() const { return graph_; }
  uint32_t top_level_items() const;
  Use use(uint32_t buffer) const;  // linear in the graph; call once

 private:
  friend class Flattener;

  enum class OpKind : uint32_t { kernel, copy, loop_begin, loop_end, item_begin, item_end };

  struct Op {
    OpKind kind;
    uint32_t index;        // step (kernel, copy), position in loops_ (loops), item number (items)
    uint32_t first_slot;   // its arguments in slots_
    uint32_t other;        // loops: the position of the other end
    plan::Kernel kernel;
  };
  // An argument that moves with the iterations of a loop.
  struct Moving {
    uint32_t slot;
    uint32_t buffer;
    int64_t stride;
    uint32_t next;  // of the same loop; kNone at the end
  };
  struct Loop {
    uint32_t block;
    uint32_t first_moving;
    int64_t trips, iteration;  // of the running execution
  };

  Status start_loop(Loop& loop);
  void move(const Loop& loop);
  void carry(const Loop& loop);
  void run_step(const Op& op, int64_t n);

  const plan::Program* program_ = nullptr;
  PlanView view_;
  uint32_t graph_ = 0;
  const Storage* storage_ = nullptr;
  ThreadPool* pool_ = nullptr;
  Array<Op> ops_;
  Array<uint32_t> item_op_;      // where each top-level item starts in ops_, and the end
  Array<uint32_t> items_;        // its position in the root block
  Array<void*> slots_;           // argument addresses, per step contiguous
  Array<uint32_t> slot_buffer_;  // the buffer of each slot
  Array<Moving> moving_;
  Array<Loop> loops_;
  Array<void*> bound_;          // by buffer of the Plan: memory of the caller, or null
};

}  // namespace mxc::core

// Storage: the memory that a Plan runs in: per device an arena, a persistent and an io area.
//
// Everything is allocated at creation, zeroed, aligned to at least plan::kAlign, large areas on huge pages where the system
// grants them. Nothing is allocated later. Pages are touched only when used, so creating a Storage costs microseconds.
#pragma once

#include <cstdint>

#include "runtime/core/array.h"
#include "runtime/core/plan_view.h"

namespace mxc::core {

// A mapping of zeroed memory. Plain record: who maps unmaps.
struct Region {
  void* mapping;           // what to unmap; null if the region is empty or not one's own
  uint64_t mapping_bytes;
  void* base;
};

// False if the system has not enough. No bytes: an empty region.
bool map_region(uint64_t bytes, Region* region);
void unmap_region(const Region& region);

// Whether a storage maps arenas of its own, or is lent them before anything runs.
enum class Arenas { own, lent };

// Which graphs of a program run in a storage: all; those that run without several shards (PlanView::is_of_shards); those of kind update.
enum class Graphs { all, alone, updates };

// What they need of a device. Persistent memory belongs to the program, whatever runs.
struct AreaBytes {
  uint64_t arena, persistent, io;
};
AreaBytes area_bytes(const PlanView& view, uint16_t device, Graphs graphs);

class Storage {
 public:
  Storage() = default;
  Storage(Storage&&) = default;
  Storage& operator=(Storage&& other);
  ~Storage();

  // `out_of_memory` if the system has not enough; `unsupported` if a device is not a CPU.
  static Status create(const PlanView& view, Storage* storage, Arenas arenas = Arenas::own, Graphs graphs = Graphs::all);

  // From now on the arena of a device is memory of the caller, aligned to plan::kAlign and as large as the Plan says. Executors made
  // before have to be told (Executor::follow_storage).
  void lend_arena(uint16_t device, void* base);

  // Whether there is memory for a buffer: always, but where the storage was made for graphs that do not use it.
  bool holds(const plan::Buffer& buffer) const;

  void* base(plan::Space space, uint16_t device) const;
  // Requires: holds(buffer).
  void* address(const plan::Buffer& buffer) const;

  // Writes a hyper-parameter (converted to the dtype of its buffer) or all default values.
  // Threads: not while a graph that reads it runs.
  void set_hyper(const PlanView& view, uint32_t hyper, double value) const;
  double get_hyper(const PlanView& view, uint32_t hyper) const;
  // The same for a counter or a seed: every bit arrives if the buffer is i64, the low half if it is i32.
  void set_hyper_integer(const PlanView& view, uint32_t hyper, uint64_t value) const;
  void set_default_hypers(const PlanView& view) const;

 private:
  void unmap();

  Arenas arenas_ = Arenas::own;
  Array<Region> areas_;  // device * 3 + space
};

// A scalar as a double (boolean: 0 or 1; integers are rounded towards zero when written).
// Requires: dtype is neither f16 nor bf16 (the Plan check admits none for hyper-parameters); value fits the type.
void write_scalar(plan::DType dtype, void* address, double value);
double read_scalar(plan::DType dtype, const void* address);

}  // namespace mxc::core

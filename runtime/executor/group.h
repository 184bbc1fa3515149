// Group: what executors that share have in common: engine, threads, one arena, and tensors by name. An executor that shares with none is
// a group of one.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/core/storage.h"
#include "runtime/core/thread_pool.h"
#include "runtime/engine/engine.h"
#include "runtime/engine/resources.h"
#include "runtime/ndarray/array.h"

namespace mxc::executor {

// Mapped memory, zeroed, of one owner.
class Region {
 public:
  explicit Region(uint64_t bytes) : mapped_(core::map_region(bytes, &region_)) {}
  ~Region() { core::unmap_region(region_); }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;
  bool ok() const { return mapped_; }  // else the system has not enough
  void* base() const { return region_.base; }

 private:
  core::Region region_ = {};
  bool mapped_;
};

// Memory that a variable stands for. Its address does not change.
struct Place {
  ndarray::ChunkRef chunk;
  void* memory = nullptr;
};

// A persistent tensor, in the layout of the program that brought it.
struct SharedTensor {
  std::string name;
  plan::Buffer form;
  Place place;
};

class Group : public std::enable_shared_from_this<Group> {
 public:
  // `threads` compute together; 0: one per CPU.
  static absl::StatusOr<std::shared_ptr<Group>> create(engine::Engine& engine, int threads, Device device);
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  engine::Engine& engine() { return engine_; }
  core::ThreadPool& pool() { return pool_; }
  Device device() const { return device_; }
  // Mutated by every run: it stands for the arena and for what runs write without a variable of its own.
  const engine::Variable& memory() const { return memory_; }
  // Of copies between layouts.
  engine::Scratch& scratch() { return scratch_; }

  // Makes the arena, from the runs on that are queued later, at least so large. Requires: mutex. Error: not enough memory.
  absl::Status grow_arena(uint64_t bytes);
  uint64_t arena_bytes() const { return bytes_; }  // requires mutex
  void* newest_arena() const { return newest_; }   // requires mutex: as it will be for what is queued from now on

  // Of the arena as it is now. Requires: within an operation that holds `memory`.
  void* arena() const { return arena_ == nullptr ? nullptr : arena_->base(); }
  uint64_t mapped_bytes() const { return mapped_; }

  SharedTensor* find(const std::string& name);  // requires mutex

  std::mutex mutex;                  // held while a run is queued; guards what says so
  std::deque<SharedTensor> tensors;  // guarded by mutex; they stay where they are
  uint64_t runs = 0;                 // guarded by mutex: queued so far. The arena holds what the last one left
  std::string used_by;               // guarded by mutex: the model of the last run

 private:
  Group(engine::Engine& engine, Device device)
      : engine_(engine), device_(device), memory_(engine.variable("arena")), scratch_(engine, "scratch") {}

  engine::Engine& engine_;
  const Device device_;
  core::ThreadPool pool_;
  engine::Variable memory_;
  engine::Scratch scratch_;
  std::shared_ptr<Region> arena_;  // this and the next belong to `memory_`
  uint64_t mapped_ = 0;
  uint64_t bytes_ = 0;             // this and the next are guarded by mutex
  void* newest_ = nullptr;
};

}  // namespace mxc::executor

// Chunk: memory that one variable of the engine stands for. What arrays and views are views of.
//
// A chunk lives while a handle, or an operation that is queued, refers to it: each queued operation holds its chunks. Memory of a
// result is taken from the pool when the first operation that writes it runs, not when that is queued: a program that runs ahead of the
// machine takes no more memory than one that waits after each line.
//
// Held products. `0.1f * g` is not queued at once: the array that it makes remembers g and the factor, and g's chunk remembers that
// array. It is queued when somebody uses the result, or, through `begin_write`, just before something is queued that writes to g. So
// `p -= 0.1f * g` is one operation, with one pass over memory, and nobody can see the difference.
//
// Invariants
// 1. `memory`, when not fixed by `adopt`, is written only by a body that mutates `variable`, and read only by bodies that hold it or after a wait.
// 2. Whoever queues something that mutates the chunk calls begin_write first, on the same thread.
// 3. `waiting` is null, or an array that is held and whose source is this chunk; changed under the lock of held.cc alone.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "mxc/device.h"
#include "mxc/dtype.h"
#include "runtime/engine/engine.h"

namespace mxc::ndarray {

struct Array;

struct Chunk {
  engine::Engine* engine = nullptr;
  engine::Variable variable;
  void* memory = nullptr;       // null: not computed yet
  uint64_t bytes = 0;
  std::shared_ptr<void> owner;  // of foreign memory
  Device device;
  Here made;                    // the call that made it
  bool foreign = false;         // the memory is not the pool's
  std::atomic<bool> exposed{false};  // others than arrays refer to it: no result may take its memory over

  std::atomic<uint32_t> references{0};  // ChunkRefs
  std::atomic<uint32_t> arrays{0};      // arrays that are views of it
  std::atomic<uint64_t> writes{0};      // operations queued that mutate it
  std::atomic<bool> failed{false};      // a reader was told of an error that the variable carries

  std::atomic<Array*> waiting{nullptr};

  static constexpr uint64_t kSmall = 64;
  alignas(16) unsigned char small[kSmall];  // the memory of the smallest

  // Grows with each operation that is queued to write to it.
  uint64_t version() const { return writes.load(std::memory_order_relaxed); }

  // The memory, taken from the pool if this is the first write. Null if the system has not enough.
  // Requires: within a body that mutates `variable`, or before anything was queued.
  void* ensure();

  ~Chunk();
};

class ChunkRef {
 public:
  ChunkRef() = default;
  explicit ChunkRef(Chunk* chunk) : chunk_(chunk) { retain(); }
  ChunkRef(const ChunkRef& other) : chunk_(other.chunk_) { retain(); }
  ChunkRef(ChunkRef&& other) noexcept : chunk_(std::exchange(other.chunk_, nullptr)) {}
  ChunkRef& operator=(ChunkRef other) noexcept {
    std::swap(chunk_, other.chunk_);
    return *this;
  }
  ~ChunkRef() {
    // Release what this owner wrote, acquire what others did: the last one frees.
    if (chunk_ != nullptr && chunk_->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete chunk_;
  }

  explicit operator bool() const { return chunk_ != nullptr; }
  bool operator==(const ChunkRef& other) const { return chunk_ == other.chunk_; }
  Chunk* get() const { return chunk_; }
  Chunk* operator->() const { return chunk_; }
  Chunk& operator*() const { return *chunk_; }

 private:
  void retain() {
    // Relaxed: the caller's own reference, or its being new, keeps it alive.
    if (chunk_ != nullptr) chunk_->references.fetch_add(1, std::memory_order_relaxed);
  }

  Chunk* chunk_ = nullptr;
};

// A chunk of `bytes` bytes whose memory is taken when it is first written.
ChunkRef make_chunk(engine::Engine& engine, uint64_t bytes, Device device, Here made);

// The error of an operation for whose result `ensure` found no memory.
absl::Status no_memory(const Chunk& chunk);

// " (called at train.cpp:12:7)", for the message of an operation that may fail when it runs.
std::string called_at(Here here);

// A chunk over foreign memory that stays where it is. `owner` is kept for as long as the chunk.
ChunkRef adopt(engine::Engine& engine, engine::Variable variable, void* memory, uint64_t bytes, std::shared_ptr<void> owner,
               Device device = cpu());

// To be called before an operation is queued that mutates the chunk (invariant 2).
void begin_write(Chunk& chunk);

}  // namespace mxc::ndarray

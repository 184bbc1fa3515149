// See chunk.h; begin_write's other half is in held.cc.
#include "runtime/ndarray/chunk.h"

#include "absl/strings/str_cat.h"
#include "runtime/ndarray/held.h"
#include "runtime/ndarray/pool.h"

namespace mxc::ndarray {

Chunk::~Chunk() {
  if (!foreign && memory != small) Pool::arrays().give(memory, bytes);
}

void* Chunk::ensure() {
  if (memory == nullptr) memory = bytes <= kSmall ? small : Pool::arrays().take(bytes);
  return memory;
}

ChunkRef make_chunk(engine::Engine& engine, uint64_t bytes, Device device, Here made) {
  ChunkRef chunk(new Chunk);
  chunk->engine = &engine;
  chunk->variable = engine.variable("array", bytes);
  chunk->bytes = bytes;
  chunk->device = device;
  chunk->made = made;
  return chunk;
}

ChunkRef adopt(engine::Engine& engine, engine::Variable variable, void* memory, uint64_t bytes, std::shared_ptr<void> owner,
               Device device) {
  ChunkRef chunk(new Chunk);
  chunk->engine = &engine;
  chunk->variable = std::move(variable);
  chunk->memory = memory;
  chunk->bytes = bytes;
  chunk->owner = std::move(owner);
  chunk->device = device;
  chunk->foreign = true;
  return chunk;
}

absl::Status no_memory(const Chunk& chunk) {
  return absl::ResourceExhaustedError(absl::StrCat("no memory for ", chunk.bytes, " bytes", called_at(chunk.made)));
}

std::string called_at(Here here) {
  return absl::StrCat(" (called at ", here.file_name(), ":", here.line(), ":", here.column(), ")");
}

void begin_write(Chunk& chunk) {
  // Acquire: pairs with the release in `hold`; an array held by another thread is seen if that happened before.
  if (chunk.waiting.load(std::memory_order_acquire) != nullptr) settle_waiting(chunk);
  chunk.writes.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace mxc::ndarray

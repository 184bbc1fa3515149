// See held.h. One lock and one list for the process: a product may meet a write to its source on any thread.
#include "runtime/ndarray/held.h"

#include <pthread.h>

#include <mutex>
#include <new>

#include "runtime/ndarray/pointwise.h"

namespace mxc::ndarray {
namespace {

// Guards `waiting` of all chunks, what array.h says of held arrays, and their list. Recursive: a push may run bodies, which may use arrays.
std::recursive_mutex lock;
Array *oldest = nullptr, *newest = nullptr;

// In the child of a fork another thread of the parent may hold the lock for ever, and held products stay with the parent.
void begin_anew() {
  new (&lock) std::recursive_mutex;
  oldest = newest = nullptr;
}
pthread_once_t registered = PTHREAD_ONCE_INIT;  // once a process
void register_anew() { pthread_atfork(nullptr, nullptr, begin_anew); }

void link(Array& array) {
  array.older = newest;
  (newest == nullptr ? oldest : newest->newer) = &array;
  newest = &array;
}

// Takes a held array off its chunk and off the list.
void unlink(Array& array) {
  (array.older == nullptr ? oldest : array.older->newer) = array.newer;
  (array.newer == nullptr ? newest : array.newer->older) = array.older;
  // Relaxed: under the lock.
  Access::peek(array.source)->chunk->waiting.store(nullptr, std::memory_order_relaxed);
}

void queue_product(Array& array) {
  unlink(array);
  NDArray product = multiply(std::move(array.source), array.factor, array.multiplied);
  Array& made = *Access::peek(product);
  array.chunk = made.chunk;
  array.packed = made.packed;
  array.chunk->arrays.fetch_add(1, std::memory_order_relaxed);
  array.result = true;
  // Release: who finds it no longer held finds the chunk.
  array.held.store(false, std::memory_order_release);
}

}  // namespace

NDArray hold_product(const NDArray& source, uint64_t factor, Here here) {
  Array& from = *Access::peek(source);
  auto* array = new Array({ChunkRef(), from.dtype, 0, from.shape, row_major(from.shape)});
  NDArray handle = Access::make(array);
  array->source = source;
  array->factor = factor;
  array->multiplied = here;
  array->engine = from.chunk->engine;
  pthread_once(&registered, register_anew);
  std::lock_guard guard(lock);
  if (Array* other = from.chunk->waiting.load(std::memory_order_relaxed)) queue_product(*other);
  link(*array);
  array->held.store(true, std::memory_order_relaxed);
  // Release: pairs with the acquire in begin_write.
  from.chunk->waiting.store(array, std::memory_order_release);
  return handle;
}

void settle(Array& array) {
  std::lock_guard guard(lock);
  if (array.held.load(std::memory_order_relaxed)) queue_product(array);
}

void settle_waiting(Chunk& chunk) {
  std::lock_guard guard(lock);
  if (Array* array = chunk.waiting.load(std::memory_order_relaxed)) queue_product(*array);
}

void settle_all() {
  std::lock_guard guard(lock);
  while (oldest != nullptr) queue_product(*oldest);
}

void forget(Array& array) {
  // Acquire: a writer of its source may just have queued it. If it is about to, the lock tells.
  if (!array.held.load(std::memory_order_acquire) || array.engine->inherited()) return;
  std::lock_guard guard(lock);
  if (array.held.load(std::memory_order_relaxed)) unlink(array);
}

std::optional<Product> take_product(const NDArray& handle) {
  Array& array = *Access::peek(handle);
  // Acquire: nobody else refers to it any more; what they did comes before.
  if (!array.held.load(std::memory_order_relaxed) || array.references.load(std::memory_order_acquire) != 1) return std::nullopt;
  if (array.engine->inherited()) return std::nullopt;
  std::lock_guard guard(lock);
  if (!array.held.load(std::memory_order_relaxed)) return std::nullopt;
  unlink(array);
  array.held.store(false, std::memory_order_relaxed);
  return Product{std::move(array.source), array.factor};
}

}  // namespace mxc::ndarray

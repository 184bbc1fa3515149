// Array: what an NDArray points to: a chunk, and which elements of it in which order. And the implementation's way from one to the other.
//
// Shape and strides are those of the plain array. If the chunk is packed (the memory of a parameter in the physical order that its
// kernels want), they describe a view of the array as it would be unpacked: reading unpacks first, writing unpacks, writes and packs
// again (packed.h).
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "mxc/ndarray.h"
#include "runtime/core/plan.h"
#include "runtime/core/plan_view.h"
#include "runtime/ndarray/chunk.h"
#include "runtime/ndarray/dims.h"

namespace mxc::ndarray {

struct View {
  ChunkRef chunk;
  plan::DType dtype = plan::DType::f32;
  int64_t offset = 0;   // elements from the start of the chunk's memory, or of the plain form of a packed one
  Dims shape, strides;  // strides in elements
  std::shared_ptr<const plan::Buffer> packed = nullptr;  // null: plain. Else the layout; it has no batch axis
};

struct Array : View {
  explicit Array(View view) : View(std::move(view)), elements(count(shape)), contiguous(is_row_major(shape, strides)) {
    if (chunk) chunk->arrays.fetch_add(1, std::memory_order_relaxed);  // relaxed: a count of what this thread knows of
  }
  ~Array() {
    // Release, for `is_last`: what was done through this array comes before what the last one does.
    if (chunk) chunk->arrays.fetch_sub(1, std::memory_order_release);
  }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  std::atomic<uint32_t> references{1};  // NDArrays
  int64_t elements;
  bool contiguous;
  bool result = false;                  // made by an operation for itself: its memory may be taken over

  // A product that is not queued yet (chunk.h): source times factor; `chunk` is empty meanwhile. `held` goes from true to false once;
  // all of these are guarded by the lock of held.cc.
  std::atomic<bool> held{false};
  NDArray source;
  uint64_t factor = 0;                  // the bits of an element
  Here multiplied;                      // the call
  engine::Engine* engine = nullptr;     // of the source
  Array *older = nullptr, *newer = nullptr;  // held ones, in the order of making
};

struct Access {
  // What it points to, or null; a held product stays held.
  static Array* peek(const NDArray& array) { return array.array_; }
  // A handle of a new array, whose first reference it takes over.
  static NDArray make(Array* array) {
    NDArray handle;
    handle.array_ = array;
    return handle;
  }
};

// What it points to, with a chunk. Error: an empty handle; an array that was made before the fork that this process comes from.
Array& get(const NDArray& array, const char* op, Here here);

inline NDArray wrap(ndarray::View view) { return Access::make(new Array(std::move(view))); }
// The view, for those who use chunks without arrays (executors). From now on no operation takes the chunk's memory over.
ndarray::View view_of(const NDArray& array, Here here = Here::current());

// A new array, plain and contiguous, of which nothing is computed yet.
NDArray new_result(engine::Engine& engine, Device device, plan::DType dtype, const Dims& shape, Here here);

inline NDArray new_result(const Array& like, plan::DType dtype, const Dims& shape, Here here) {
  return new_result(*like.chunk->engine, like.chunk->device, dtype, shape, here);
}
// A new array on the CPU with these elements, row-major. Error: no memory.
NDArray new_filled(const char* op, plan::DType dtype, const Dims& shape, const void* values, Here here);

// Is this handle all that refers to the memory, so that an operation may put its result there?
bool is_last(const NDArray& array);

plan::DType to_plan(DType dtype);
DType from_plan(plan::DType dtype);
inline const char* type_name(plan::DType dtype) { return to_string(from_plan(dtype)); }
inline int64_t bytes_of(plan::DType dtype) { return core::dtype_bytes(dtype); }

// Throws Error("OP: TEXT").
[[noreturn]] void fail(const char* op, const std::string& text, Here here);

// `axis` as an index from the front. Error: outside [-rank, rank).
int checked_axis(const char* op, int64_t axis, int rank, Here here);
// Extents as Dims. Error: more than kMaxRank axes, negative extents, more bytes than an int64_t counts.
Dims checked_shape(const char* op, const Extents& extents, plan::DType dtype, Here here);
// The engine and device of both. Error: they differ.
void check_together(const char* op, const Array& a, const Array& b, Here here);
void check_dtype(const char* op, const Array& a, const Array& b, Here here);
// The shapes may differ along the axis alone.
void check_alike(const char* op, const Dims& a, const Dims& b, int axis, Here here);

}  // namespace mxc::ndarray

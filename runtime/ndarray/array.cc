// Handles, what they point to, and the checks that all operations share.
#include "runtime/ndarray/array.h"

#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "runtime/engine/default_engine.h"
#include "runtime/ndarray/held.h"

namespace mxc {

using ndarray::Array;

NDArray::NDArray(const NDArray& other) : array_(other.array_) {
  // Relaxed: `other` keeps it alive meanwhile.
  if (array_ != nullptr) array_->references.fetch_add(1, std::memory_order_relaxed);
}

NDArray& NDArray::operator=(const NDArray& other) {
  NDArray copy(other);
  std::swap(array_, copy.array_);
  return *this;
}

NDArray& NDArray::operator=(NDArray&& other) noexcept {
  NDArray taken(std::move(other));
  std::swap(array_, taken.array_);
  return *this;
}

void NDArray::release() noexcept {
  // Release what was done through this handle, acquire what was done through others: the last one frees.
  if (array_->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  ndarray::forget(*array_);
  delete array_;
}

}  // namespace mxc

namespace mxc::ndarray {

Array& get(const NDArray& array, const char* op, Here here) {
  Array* found = Access::peek(array);
  if (found == nullptr) fail(op, "the array is empty: nothing was assigned to it, or it was moved from", here);
  // Acquire: pairs with the release when another thread queued the product.
  const bool held = found->held.load(std::memory_order_acquire);
  if ((held ? found->engine : found->chunk->engine)->inherited()) {
    fail(op, "the array was made before fork() and stays with the parent process: read values before forking, make arrays anew here", here);
  }
  if (held) settle(*found);
  return *found;
}

ndarray::View view_of(const NDArray& array, Here here) {
  Array& found = get(array, "array", here);
  found.chunk->exposed.store(true, std::memory_order_relaxed);  // relaxed: seen by this thread, and by those it tells of it
  return found;
}

NDArray new_result(engine::Engine& engine, Device device, plan::DType dtype, const Dims& shape, Here here) {
  const int64_t bytes = count(shape) * bytes_of(dtype);
  NDArray array = wrap({make_chunk(engine, static_cast<uint64_t>(bytes), device, here), dtype, 0, shape, row_major(shape)});
  Access::peek(array)->result = true;
  return array;
}

NDArray new_filled(const char* op, plan::DType dtype, const Dims& shape, const void* values, Here here) {
  NDArray array = new_result(engine::default_engine(), cpu(), dtype, shape, here);
  Chunk& chunk = *Access::peek(array)->chunk;
  if (chunk.bytes == 0) return array;
  // Nothing is queued for it yet: it may be written at once.
  if (chunk.ensure() == nullptr) fail(op, absl::StrCat("no memory for ", chunk.bytes, " bytes"), here);
  std::memcpy(chunk.memory, values, chunk.bytes);
  return array;
}

bool is_last(const NDArray& array) {
  const Array& a = *Access::peek(array);
  // Acquire: pairs with the releases of those who let go.
  return a.result && a.references.load(std::memory_order_acquire) == 1 && a.chunk->arrays.load(std::memory_order_acquire) == 1 &&
         !a.chunk->exposed.load(std::memory_order_relaxed);
}

namespace {

constexpr plan::DType kPlanTypes[] = {plan::DType::f32, plan::DType::f64,     plan::DType::i32, plan::DType::i64, plan::DType::u8,
                                      plan::DType::boolean, plan::DType::f16, plan::DType::bf16, plan::DType::i8};

}  // namespace

plan::DType to_plan(DType dtype) { return kPlanTypes[static_cast<int>(dtype)]; }

DType from_plan(plan::DType dtype) {
  int i = 0;
  while (kPlanTypes[i] != dtype) ++i;
  return static_cast<DType>(i);
}

void fail(const char* op, const std::string& text, Here here) { throw Error(absl::StrCat(op, ": ", text), here); }

int checked_axis(const char* op, int64_t axis, int rank, Here here) {
  if (axis < -rank || axis >= rank) fail(op, absl::StrCat("there is no axis ", axis, ": the array has ", rank), here);
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

Dims checked_shape(const char* op, const Extents& extents, plan::DType dtype, Here here) {
  if (extents.size() > plan::kMaxRank) fail(op, absl::StrCat("the shape has ", extents.size(), " axes: at most ", plan::kMaxRank, " are possible"), here);
  const Dims shape(extents);
  int64_t bytes = bytes_of(dtype);
  for (int64_t extent : shape) {
    if (extent < 0) fail(op, absl::StrCat("the shape ", text(shape), " has a negative extent"), here);
    if (extent > 1 && bytes > std::numeric_limits<int64_t>::max() / extent) fail(op, absl::StrCat("the shape ", text(shape), " is too large"), here);
    if (extent > 1) bytes *= extent;
  }
  return shape;
}

void check_together(const char* op, const Array& a, const Array& b, Here here) {
  if (!(a.chunk->device == b.chunk->device)) {
    fail(op, absl::StrCat("arrays of shapes ", text(a.shape), " and ", text(b.shape), " lie on ", to_string(a.chunk->device), " and ",
                          to_string(b.chunk->device)),
         here);
  }
  if (a.chunk->engine != b.chunk->engine) {
    fail(op, absl::StrCat("arrays of shapes ", text(a.shape), " and ", text(b.shape), " belong to two engines"), here);
  }
}

void check_dtype(const char* op, const Array& a, const Array& b, Here here) {
  if (a.dtype == b.dtype) return;
  fail(op, absl::StrCat("dtypes ", type_name(a.dtype), " and ", type_name(b.dtype), " of arrays of shapes ", text(a.shape), " and ",
                        text(b.shape), " differ: cast one of them"),
       here);
}

void check_alike(const char* op, const Dims& a, const Dims& b, int axis, Here here) {
  bool alike = a.size() == b.size();
  for (int i = 0; alike && i < a.size(); ++i) alike = i == axis || a[i] == b[i];
  if (!alike) fail(op, absl::StrCat("shapes ", text(a), " and ", text(b), " differ beyond axis ", axis), here);
}

}  // namespace mxc::ndarray

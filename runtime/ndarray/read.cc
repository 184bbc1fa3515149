// Facts about arrays, and reading their values, which waits.
#include <cstring>

#include "absl/strings/str_cat.h"
#include "runtime/engine/default_engine.h"
#include "runtime/ndarray/array.h"
#include "runtime/ndarray/copy.h"
#include "runtime/ndarray/held.h"
#include "runtime/ndarray/pointwise.h"

namespace mxc {

using namespace ndarray;

namespace {

// The array, also if it is a held product, which need not be queued for its facts.
const Array& known(const NDArray& array, const char* what, Here here) {
  const Array* found = Access::peek(array);
  return found != nullptr ? *found : get(array, what, here);
}

void throw_if_failed(const absl::Status& status, Chunk& chunk, Here here) {
  if (status.ok()) return;
  chunk.failed.store(true, std::memory_order_relaxed);  // relaxed: read by this thread, or those it tells
  throw Error(std::string(status.message()), here);
}

// Waits for the value of an array. Error: that of an operation that it comes from.
void await(const Array& array, Here here) {
  throw_if_failed(array.chunk->engine->wait(array.chunk->variable), *array.chunk, here);
  if (array.chunk->memory == nullptr && array.elements > 0) throw Error("the array was never computed", here);
}

char* first_element(const Array& array) { return static_cast<char*>(array.chunk->memory) + array.offset * bytes_of(array.dtype); }

void check_type(const char* op, const Array& array, DType dtype, Here here) {
  if (array.dtype == to_plan(dtype)) return;
  fail(op, absl::StrCat("the array of shape ", text(array.shape), " is ", type_name(array.dtype), ", not ", to_string(dtype), ": cast it"),
       here);
}

// A contiguous array that is itself in memory.
const Array& in_place(const char* op, const NDArray& handle, DType dtype, Here here) {
  const Array& array = get(handle, op, here);
  check_type(op, array, dtype, here);
  if (!array.contiguous || array.packed != nullptr) {
    fail(op, absl::StrCat("the array of shape ", text(array.shape), " is not contiguous in memory: take contiguous()"), here);
  }
  return array;
}

template <typename T>
Number number_at(const void* element) {
  T value;
  std::memcpy(&value, element, sizeof value);
  return Number(value);
}

Number read_number(plan::DType dtype, const void* element) {
  switch (dtype) {
    case plan::DType::f64: return number_at<double>(element);
    case plan::DType::boolean: return number_at<bool>(element);
    case plan::DType::u8: return number_at<uint8_t>(element);
    case plan::DType::i8: return number_at<int8_t>(element);
    case plan::DType::i32: return number_at<int32_t>(element);
    case plan::DType::i64: return number_at<int64_t>(element);
    default: return number_at<float>(element);
  }
}

bool is_small_float(plan::DType dtype) { return dtype == plan::DType::f16 || dtype == plan::DType::bf16; }
bool is_whole_type(plan::DType dtype) { return dtype != plan::DType::f32 && dtype != plan::DType::f64 && !is_small_float(dtype); }

}  // namespace

Extents NDArray::shape(Here here) const { return known(*this, "shape", here).shape.vector(); }
int64_t NDArray::shape(int64_t axis, Here here) const {
  const Array& array = known(*this, "shape", here);
  return array.shape[checked_axis("shape", axis, array.shape.size(), here)];
}
DType NDArray::dtype(Here here) const { return from_plan(known(*this, "dtype", here).dtype); }
int64_t NDArray::rank(Here here) const { return known(*this, "rank", here).shape.size(); }
int64_t NDArray::size(Here here) const { return known(*this, "size", here).elements; }
Extents NDArray::strides(Here here) const { return known(*this, "strides", here).strides.vector(); }
bool NDArray::is_contiguous(Here here) const { return known(*this, "is_contiguous", here).contiguous; }
Device NDArray::device(Here here) const { return get(*this, "device", here).chunk->device; }

void NDArray::wait(Here here) const { await(get(*this, "wait", here), here); }

Number NDArray::item_number(bool whole, Here here) const {
  const Array& array = get(*this, "item", here);
  if (array.elements != 1) fail("item", absl::StrCat("the array of shape ", text(array.shape), " has ", array.elements, " elements, not one"), here);
  if (whole && !is_whole_type(array.dtype)) {
    fail("item", absl::StrCat("a whole number of a ", type_name(array.dtype), ": ask for a float, or cast the array"), here);
  }
  if (is_small_float(array.dtype)) return cast_for("item", *this, f32, here).item_number(whole, here);
  NDArray plain = as_run(*this, "item", here);
  const Array& ready = *Access::peek(plain);
  await(ready, here);
  return read_number(ready.dtype, first_element(ready));
}

int64_t NDArray::item_within(int64_t low, int64_t high, Here here) const {
  const int64_t value = item_number(/*whole=*/true, here).whole;
  if (value < low || value > high) {
    fail("item", absl::StrCat(value, " is not in [", low, ", ", high, "], which the type that was asked for holds"), here);
  }
  return value;
}

NDArray NDArray::ready_for_read(DType dtype, Here here) const {
  check_type("to_vector", get(*this, "to_vector", here), dtype, here);
  NDArray plain = as_run(*this, "to_vector", here);
  await(*Access::peek(plain), here);
  return plain;
}

const void* NDArray::address() const { return array_->elements == 0 ? nullptr : first_element(*array_); }

const void* NDArray::data_for_read(DType dtype, Here here) const {
  const Array& array = in_place("data", *this, dtype, here);
  await(array, here);
  return address();
}

void* NDArray::data_for_write(DType dtype, Here here) const {
  const Array& array = in_place("mutable_data", *this, dtype, here);
  begin_write(*array.chunk);
  throw_if_failed(array.chunk->engine->wait_idle(array.chunk->variable), *array.chunk, here);
  await(array, here);
  return const_cast<void*>(address());
}

void wait_all(Here here) {
  settle_all();
  const absl::Status status = engine::default_engine().wait_all();
  if (!status.ok()) throw Error(std::string(status.message()), here);
}

}  // namespace mxc

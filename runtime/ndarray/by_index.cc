// Elements by index. Indices are read when the operation runs; one that is out of range is its error.
#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"
#include "runtime/ndarray/copy.h"
#include "runtime/ndarray/pointwise.h"

namespace mxc::ndarray {
namespace {

// Indices along an axis, in a run of memory. Error: not i32 or i64.
NDArray checked_indices(const char* op, const NDArray& indices, Here here) {
  const Array& array = get(indices, op, here);
  if (array.dtype != plan::DType::i32 && array.dtype != plan::DType::i64) {
    fail(op, absl::StrCat("the indices are ", type_name(array.dtype), ", not i32 or i64"), here);
  }
  return as_run(indices, op, here);
}

// A pass over indices: reads them one by one, checked.
struct Reader {
  ChunkRef chunk;
  int64_t at;  // bytes
  bool wide;       // i64, else i32
  int64_t extent;  // of the axis
  Dims shape;      // of the indices, for the message
  Here here;       // of the call, for the message

  int64_t given(int64_t place) const {
    const char* element = static_cast<const char*>(chunk->memory) + at + place * (wide ? 8 : 4);
    if (wide) {
      int64_t index;
      std::memcpy(&index, element, 8);
      return index;
    }
    int32_t narrow;
    std::memcpy(&narrow, element, 4);
    return narrow;
  }

  // The index at a place, from the front; -1 if it is out of range.
  int64_t operator()(int64_t place) const {
    const int64_t index = given(place);
    if (index < -extent || index >= extent) return -1;
    return index < 0 ? index + extent : index;
  }

  absl::Status error(int64_t place) const {
    Dims where = shape;
    int64_t rest = place;
    for (int axis = shape.size() - 1; axis >= 0; --axis) {
      where[axis] = rest % shape[axis];
      rest /= shape[axis];
    }
    return absl::OutOfRangeError(absl::StrCat("index ", given(place), " at ", text(where), " is outside of an axis of ", extent, called_at(here)));
  }
};

Reader reader(const Array& indices, int64_t extent, Here here) {
  return {indices.chunk, indices.offset * bytes_of(indices.dtype), indices.dtype == plan::DType::i64, extent, indices.shape, here};
}

absl::Status not_ready(const Chunk& out) {
  return out.memory == nullptr ? no_memory(out) : absl::FailedPreconditionError("an operand was never computed");
}

// Blocks of `block` bytes: result[outer][i] = x[outer][index(i)].
struct Take {
  Reader index;
  ChunkRef in, out;
  int64_t at, outer, indices, block;

  absl::Status run() const {
    if (out->ensure() == nullptr || (in->memory == nullptr && index.extent > 0) || index.chunk->memory == nullptr) return not_ready(*out);
    const char* from = static_cast<const char*>(in->memory) + at;
    char* to = static_cast<char*>(out->memory);
    for (int64_t i = 0; i < indices; ++i) {
      const int64_t chosen = index(i);
      if (chosen < 0) return index.error(i);
      for (int64_t o = 0; o < outer; ++o) {
        std::memcpy(to + (o * indices + i) * block, from + (o * index.extent + chosen) * block, static_cast<size_t>(block));
      }
    }
    return absl::OkStatus();
  }
};

// gather: out[o][i][n] = data[o][index][n]; scatter: out, a copy of data, gets out[o][index][n] = values[o][i][n].
struct Pick {
  Reader index;
  ChunkRef data, out;  // gather reads data; scatter reads values from it
  int64_t at, outer, picked, inner, element_bytes;
  bool scatters;

  absl::Status run() const {
    if (out->ensure() == nullptr || data->memory == nullptr || index.chunk->memory == nullptr) return not_ready(*out);
    const char* from = static_cast<const char*>(data->memory) + at;
    char* to = static_cast<char*>(out->memory);
    for (int64_t place = 0; place < outer * picked * inner; ++place) {
      const int64_t chosen = index(place);
      if (chosen < 0) return index.error(place);
      const int64_t o = place / (picked * inner), n = place % inner;
      const int64_t far = (o * index.extent + chosen) * inner + n;
      const int64_t source = scatters ? place : far, target = scatters ? far : place;
      std::memcpy(to + target * element_bytes, from + source * element_bytes, static_cast<size_t>(element_bytes));
    }
    return absl::OkStatus();
  }
};

struct OneHot {
  Reader index;
  ChunkRef out;
  int64_t indices, depth, element_bytes;
  uint64_t one;

  absl::Status run() const {
    if (out->ensure() == nullptr || index.chunk->memory == nullptr) return not_ready(*out);
    char* to = static_cast<char*>(out->memory);
    std::memset(to, 0, static_cast<size_t>(indices * depth * element_bytes));
    for (int64_t i = 0; i < indices; ++i) {
      const int64_t chosen = index(i);
      if (chosen < 0) return index.error(i);
      std::memcpy(to + (i * depth + chosen) * element_bytes, &one, static_cast<size_t>(element_bytes));
    }
    return absl::OkStatus();
  }
};

template <typename Body>
void push(const char* name, const ChunkRef& data, const ChunkRef& indices, const ChunkRef& out, int64_t elements, std::unique_ptr<Body> body) {
  begin_write(*out);
  out->engine->push({.name = name, .cheap = elements <= 256}, {data->variable, indices->variable}, {out->variable},
                    [body = std::move(body)] { return body->run(); });
}

int64_t product(const Dims& shape, int first, int last) {
  int64_t result = 1;
  for (int axis = first; axis < last; ++axis) result *= shape[axis];
  return result;
}

}  // namespace
}  // namespace mxc::ndarray

namespace mxc {

using namespace ndarray;

NDArray take(NDArray x, NDArray given, Axis along, Here here) {
  const NDArray indices = checked_indices("take", given, here);
  const NDArray operand = as_run(x, "take", here);
  const Array& from = *Access::peek(operand);
  const Array& places = *Access::peek(indices);
  check_together("take", from, places, here);
  const int rank = from.shape.size(), axis = checked_axis("take", along.axis, rank, here);
  if (rank - 1 + places.shape.size() > plan::kMaxRank) {
    fail("take", absl::StrCat("shapes ", text(from.shape), " and ", text(places.shape), " make more than ", plan::kMaxRank, " axes"), here);
  }
  Dims shape = from.shape;
  shape.erase(axis);
  for (int i = 0; i < places.shape.size(); ++i) shape.insert(axis + i, places.shape[i]);
  NDArray out = new_result(from, from.dtype, checked_shape("take", shape.vector(), from.dtype, here), here);
  const Array& to = *Access::peek(out);
  if (to.elements == 0) return out;
  const int64_t bytes = bytes_of(from.dtype);
  auto body = std::make_unique<Take>(Take{reader(places, from.shape[axis], here), from.chunk, to.chunk, from.offset * bytes, product(from.shape, 0, axis),
                                          places.elements, product(from.shape, axis + 1, rank) * bytes});
  ndarray::push("take", from.chunk, places.chunk, to.chunk, to.elements, std::move(body));
  return out;
}

NDArray gather(NDArray x, NDArray given, Axis along, Here here) {
  const NDArray indices = checked_indices("gather", given, here);
  const NDArray operand = as_run(x, "gather", here);
  const Array& from = *Access::peek(operand);
  const Array& places = *Access::peek(indices);
  check_together("gather", from, places, here);
  const int rank = from.shape.size(), axis = checked_axis("gather", along.axis, rank, here);
  check_alike("gather", from.shape, places.shape, axis, here);
  NDArray out = new_result(from, from.dtype, places.shape, here);
  const Array& to = *Access::peek(out);
  if (to.elements == 0) return out;
  const int64_t bytes = bytes_of(from.dtype);
  auto body = std::make_unique<Pick>(Pick{reader(places, from.shape[axis], here), from.chunk, to.chunk, from.offset * bytes, product(from.shape, 0, axis),
                                          places.shape[axis], product(from.shape, axis + 1, rank), bytes, false});
  ndarray::push("gather", from.chunk, places.chunk, to.chunk, to.elements, std::move(body));
  return out;
}

NDArray scatter(NDArray x, NDArray given, ArrayOperand values, Axis along, Here here) {
  const NDArray indices = checked_indices("scatter", given, here);
  const Array& base = get(x, "scatter", here);
  const Array& places = *Access::peek(indices);
  check_together("scatter", base, places, here);
  const int rank = base.shape.size(), axis = checked_axis("scatter", along.axis, rank, here);
  check_alike("scatter", base.shape, places.shape, axis, here);
  // The values as an array of the indices' shape.
  NDArray spread = new_result(base, base.dtype, places.shape, here);
  assign_to("scatter", spread, values, here);
  NDArray out = copy_of("scatter", x, here);
  const Array& to = *Access::peek(out);
  const Array& from = *Access::peek(spread);
  if (places.elements == 0) return out;
  const int64_t bytes = bytes_of(base.dtype);
  auto body = std::make_unique<Pick>(Pick{reader(places, base.shape[axis], here), from.chunk, to.chunk, 0, product(base.shape, 0, axis), places.shape[axis],
                                          product(base.shape, axis + 1, rank), bytes, true});
  ndarray::push("scatter", from.chunk, places.chunk, to.chunk, places.elements, std::move(body));
  return out;
}

NDArray one_hot(NDArray given, int64_t depth, DType dtype, Here here) {
  const NDArray indices = checked_indices("one_hot", given, here);
  const Array& places = *Access::peek(indices);
  if (depth < 1) fail("one_hot", absl::StrCat("depth is ", depth, ": at least 1"), here);
  Extents extents = places.shape.vector();
  extents.push_back(depth);
  const plan::DType type = to_plan(dtype);
  NDArray out = new_result(places, type, checked_shape("one_hot", extents, type, here), here);
  const Array& to = *Access::peek(out);
  if (to.elements == 0) return out;
  auto body = std::make_unique<OneHot>(OneHot{reader(places, depth, here), to.chunk, places.elements, depth, bytes_of(type), element_bits("one_hot", 1, type, here)});
  ndarray::push("one_hot", places.chunk, places.chunk, to.chunk, to.elements, std::move(body));
  return out;
}

}  // namespace mxc

// Packing walks the logical tensor row by row: the outer axes by an odometer, the last axis in a tight loop that steps through
// blocks if that axis is the blocked one. Same-order tensors are one memcpy.
#include "runtime/core/layout.h"

#include <cstring>

#include "runtime/core/bounds.h"
#include "runtime/core/plan_view.h"

namespace mxc::core {

namespace {

// Where logical elements lie: position = sum of index * stride over the axes; on the blocked axis
// index / block * stride + index % block. All in elements.
struct Geometry {
  int rank;
  int64_t extent[plan::kMaxRank];  // of the first n samples
  int64_t stride[plan::kMaxRank];
  int block_axis;
  int64_t block;
  bool plain;  // the first n samples lie in the plain order, contiguous
};

Geometry geometry(const plan::Buffer& b, int64_t n) {
  Geometry g;
  g.rank = b.rank;
  g.block_axis = b.block_axis;
  g.block = b.block_axis >= 0 ? b.block : 1;
  int64_t stride = g.block;
  bool in_order = b.block_axis < 0;
  for (int place = b.rank - 1; place >= 0; --place) {
    int axis = b.order[place];
    g.extent[axis] = extent(b, axis, n);
    g.stride[axis] = stride;
    stride *= axis == b.block_axis ? (b.dims[axis] + b.block - 1) / b.block : b.dims[axis];
    in_order = in_order && axis == place;
  }
  bool contiguous = b.batch_axis <= 0 || n == batch_capacity(b);
  g.plain = in_order && contiguous;
  return g;
}

int64_t position(const Geometry& g, int axis, int64_t index) {
  if (axis != g.block_axis) return index * g.stride[axis];
  return index / g.block * g.stride[axis] + index % g.block;
}

// Calls row(physical position of the row's first element, plain position of the same) for each row along the last axis.
template <typename Row>
void for_each_row(const Geometry& g, Row row) {
  int outer = g.rank - 1;
  int64_t index[plan::kMaxRank] = {};
  for (int axis = 0; axis < g.rank; ++axis) {
    if (g.extent[axis] == 0) return;
  }
  int64_t plain = 0;
  while (true) {
    int64_t physical = 0;
    for (int axis = 0; axis < outer; ++axis) physical += position(g, axis, index[axis]);
    row(physical, plain);
    plain += g.extent[outer];
    int axis = outer - 1;
    while (axis >= 0 && ++index[axis] == g.extent[axis]) index[axis--] = 0;
    if (axis < 0) return;
  }
}

template <typename T, bool kPack>
void move_row(const Geometry& g, T* physical, T* plain) {
  int last = g.rank - 1;
  int64_t count = g.extent[last], stride = g.stride[last];
  bool blocked = last == g.block_axis;
  int64_t run = blocked ? g.block : count;       // elements at a constant distance `step`
  int64_t step = blocked ? 1 : stride;
  for (int64_t first = 0; first < count; first += run) {
    T* place = physical + (blocked ? first / run * stride : 0);
    int64_t end = first + run < count ? first + run : count;
    for (int64_t i = first; i < end; ++i, place += step) {
      if (kPack) {
        *place = plain[i];
      } else {
        plain[i] = *place;
      }
    }
  }
}

template <typename T, bool kPack>
void move_all(const Geometry& g, T* physical, T* plain) {
  if (g.rank == 0) {
    if (kPack) {
      *physical = *plain;
    } else {
      *plain = *physical;
    }
    return;
  }
  for_each_row(g, [&](int64_t to, int64_t from) { move_row<T, kPack>(g, physical + to, plain + from); });
}

template <bool kPack>
void move(const Geometry& g, plan::DType dtype, void* physical, void* plain) {
  switch (dtype_bytes(dtype)) {
    case 1: return move_all<uint8_t, kPack>(g, static_cast<uint8_t*>(physical), static_cast<uint8_t*>(plain));
    case 2: return move_all<uint16_t, kPack>(g, static_cast<uint16_t*>(physical), static_cast<uint16_t*>(plain));
    case 4: return move_all<uint32_t, kPack>(g, static_cast<uint32_t*>(physical), static_cast<uint32_t*>(plain));
    default: return move_all<uint64_t, kPack>(g, static_cast<uint64_t*>(physical), static_cast<uint64_t*>(plain));
  }
}

// Zeroes the elements past the blocked axis's extent in its last block. They form a tensor whose blocked axis has
// those `padding` elements alone. Requires: block_axis >= 0.
void zero_padding(Geometry g, plan::DType dtype, unsigned char* physical) {
  int axis = g.block_axis;
  int64_t used = g.extent[axis] % g.block;
  if (used == 0) return;
  int64_t bytes = dtype_bytes(dtype);
  physical += (g.extent[axis] / g.block * g.stride[axis] + used) * bytes;
  size_t padding = static_cast<size_t>((g.block - used) * bytes);
  g.extent[axis] = 1;
  int64_t last_stride = position(g, g.rank - 1, 1);
  for_each_row(g, [&](int64_t at, int64_t) {
    for (int64_t i = 0; i < g.extent[g.rank - 1]; ++i) std::memset(physical + (at + i * last_stride) * bytes, 0, padding);
  });
}

// Rows of a tensor, as a tensor of their own.
struct Part {
  Geometry shape;
  int64_t offset;  // bytes
  uint64_t bytes;  // of its plain form
};

Part part_of(const plan::Buffer& buffer, int64_t n, int64_t first, int64_t count) {
  Part part = {geometry(buffer, n), 0, plain_bytes(buffer, n)};
  if (buffer.rank == 0) return part;
  if (const int64_t rows = part.shape.extent[0]; rows != 0) part.bytes = part.bytes / static_cast<uint64_t>(rows) * static_cast<uint64_t>(count);
  part.offset = position(part.shape, 0, first) * dtype_bytes(buffer.dtype);
  part.shape.extent[0] = count;
  return part;
}

}  // namespace

bool is_plain(const plan::Buffer& buffer) {
  for (int axis = 0; axis < buffer.rank; ++axis) {
    if (buffer.order[axis] != axis) return false;
  }
  return buffer.block_axis < 0;
}

uint64_t plain_bytes(const plan::Buffer& buffer, int64_t n) {
  return static_cast<uint64_t>(elements(buffer, n) * dtype_bytes(buffer.dtype));
}

int64_t rows_within(const plan::Buffer& buffer, uint64_t bytes) {
  const int64_t rows = buffer.rank == 0 ? 1 : buffer.dims[0], block = buffer.block_axis == 0 ? buffer.block : 1;
  if (rows <= block) return rows;
  const uint64_t row = plain_bytes(buffer, batch_capacity(buffer)) / static_cast<uint64_t>(rows);
  if (row == 0) return rows;
  const int64_t blocks = static_cast<int64_t>(bytes / row) / block;
  return (blocks > 0 ? blocks : 1) * block;
}

void pack_rows(const plan::Buffer& buffer, int64_t n, int64_t first, int64_t count, const void* plain, void* physical) {
  const Part part = part_of(buffer, n, first, count);
  unsigned char* to = static_cast<unsigned char*>(physical) + part.offset;
  if (part.shape.plain) {
    std::memcpy(to, plain, part.bytes);
    return;
  }
  move<true>(part.shape, buffer.dtype, to, const_cast<void*>(plain));
  if (part.shape.block_axis >= 0) zero_padding(part.shape, buffer.dtype, to);
}

void unpack_rows(const plan::Buffer& buffer, int64_t n, int64_t first, int64_t count, const void* physical, void* plain) {
  const Part part = part_of(buffer, n, first, count);
  unsigned char* from = static_cast<unsigned char*>(const_cast<void*>(physical)) + part.offset;
  if (part.shape.plain) {
    std::memcpy(plain, from, part.bytes);
    return;
  }
  move<false>(part.shape, buffer.dtype, from, plain);
}

void pack(const plan::Buffer& buffer, int64_t n, const void* plain, void* physical) {
  pack_rows(buffer, n, 0, buffer.rank == 0 ? 1 : extent(buffer, 0, n), plain, physical);
}

void unpack(const plan::Buffer& buffer, int64_t n, const void* physical, void* plain) {
  unpack_rows(buffer, n, 0, buffer.rank == 0 ? 1 : extent(buffer, 0, n), physical, plain);
}

int64_t find_out_of_bounds(const plan::Buffer& buffer, int64_t n, const void* plain) {
  return buffer.upper_bound == 0 ? -1 : first_outside(buffer.dtype, plain, elements(buffer, n), buffer.upper_bound);
}

}  // namespace mxc::core

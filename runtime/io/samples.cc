// See samples.h. The plain form in between is row-major with the batch axis where the buffer has it:
// plain[outer][sample][inner] <-> rows[sample][outer][inner].
#include "runtime/io/samples.h"

#include <cstring>

#include "runtime/core/layout.h"

namespace mxc::io {
namespace {

struct Split {
  int64_t outer = 1, inner_bytes = 1;
};

Split split_at_batch(const plan::Buffer& buffer) {
  Split split;
  split.inner_bytes = core::dtype_bytes(buffer.dtype) * buffer.batch_unit;
  for (int axis = 0; axis < buffer.rank; ++axis) {
    if (axis < buffer.batch_axis) split.outer *= buffer.dims[axis];
    if (axis > buffer.batch_axis) split.inner_bytes *= buffer.dims[axis];
  }
  return split;
}

// Calls move(position in plain, position in rows, bytes) for each contiguous piece.
template <typename Move>
void for_each_piece(const plan::Buffer& buffer, int64_t n, Move move) {
  const Split split = split_at_batch(buffer);
  for (int64_t outer = 0; outer < split.outer; ++outer) {
    for (int64_t sample = 0; sample < n; ++sample) {
      move((outer * n + sample) * split.inner_bytes, (sample * split.outer + outer) * split.inner_bytes, split.inner_bytes);
    }
  }
}

}  // namespace

std::vector<int64_t> sample_shape(const plan::Buffer& buffer) {
  std::vector<int64_t> shape;
  for (int axis = 0; axis < buffer.rank; ++axis) {
    if (axis != buffer.batch_axis) shape.push_back(buffer.dims[axis]);
    if (axis == buffer.batch_axis && buffer.batch_unit > 1) shape.push_back(buffer.batch_unit);
  }
  return shape;
}

bool is_sample_major(const plan::Buffer& buffer) { return buffer.batch_axis == 0 && core::is_plain(buffer); }

void pack_samples(const plan::Buffer& buffer, int64_t n, const void* rows, std::vector<char>* scratch, void* physical) {
  if (buffer.batch_axis == 0) return core::pack(buffer, n, rows, physical);
  scratch->resize(core::plain_bytes(buffer, n));
  for_each_piece(buffer, n, [&](int64_t plain, int64_t row, int64_t bytes) {
    std::memcpy(scratch->data() + plain, static_cast<const char*>(rows) + row, bytes);
  });
  core::pack(buffer, n, scratch->data(), physical);
}

void unpack_samples(const plan::Buffer& buffer, int64_t n, const void* physical, std::vector<char>* scratch, void* rows) {
  if (buffer.batch_axis == 0) return core::unpack(buffer, n, physical, rows);
  scratch->resize(core::plain_bytes(buffer, n));
  core::unpack(buffer, n, physical, scratch->data());
  for_each_piece(buffer, n, [&](int64_t plain, int64_t row, int64_t bytes) {
    std::memcpy(static_cast<char*>(rows) + row, scratch->data() + plain, bytes);
  });
}

}  // namespace mxc::io

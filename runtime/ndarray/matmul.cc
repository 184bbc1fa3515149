// Products of matrices: OpenBLAS for f32 and f64, by way of f32 for smaller floats, plain loops for integers.
//
// OpenBLAS is the serial build: results do not depend on how many threads there are, and no threads are started behind the engine's back.
#include <cblas.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "absl/strings/str_cat.h"
#include "runtime/ndarray/copy.h"
#include "runtime/ndarray/odometer.h"
#include "runtime/ndarray/pointwise.h"

namespace mxc::ndarray {
namespace {

// A matrix whose rows or columns are runs of memory.
struct Matrix {
  NDArray array;
  bool transposed;   // columns are
  int64_t leading;   // elements from one run to the next
};

// `x`, of at least two axes, as BLAS takes it: a copy where neither rows nor columns are runs.
Matrix as_matrix(const NDArray& x, Here here) {
  const Array& array = *Access::peek(x);
  const int rank = array.shape.size();
  const int64_t rows = array.shape[rank - 2], columns = array.shape[rank - 1];
  const int64_t row_stride = array.strides[rank - 2], column_stride = array.strides[rank - 1];
  if ((column_stride == 1 || columns == 1) && (row_stride >= columns || rows == 1)) return {x, false, std::max<int64_t>({row_stride, columns, 1})};
  if ((row_stride == 1 || rows == 1) && (column_stride >= rows || columns == 1)) return {x, true, std::max<int64_t>({column_stride, rows, 1})};
  return {copy_of("matmul", x, here), false, std::max<int64_t>(columns, 1)};
}

template <typename T>
void multiply_whole(const T* a, int64_t a_row, int64_t a_column, const T* b, int64_t b_row, int64_t b_column, T* c, int64_t m, int64_t n, int64_t k) {
  // Unsigned: integers wrap around.
  using Wide = uint64_t;
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      Wide total = 0;
      for (int64_t p = 0; p < k; ++p) total += static_cast<Wide>(a[i * a_row + p * a_column]) * static_cast<Wide>(b[p * b_row + j * b_column]);
      c[i * n + j] = static_cast<T>(total);
    }
  }
}

struct Matmul {
  plan::DType dtype;
  int64_t m, n, k;
  bool a_transposed, b_transposed;
  int64_t a_leading, b_leading;
  Odometer a_batch, b_batch;  // over the leading axes of the result
  ChunkRef a, b, c;
  int64_t a_at, b_at;  // elements
  int64_t matrices;

  absl::Status run() {
    if (c->ensure() == nullptr) return no_memory(*c);
    if (k > 0 && (a->memory == nullptr || b->memory == nullptr)) return absl::FailedPreconditionError("an operand was never computed");
    a_batch.restart();
    b_batch.restart();
    for (int64_t i = 0; i < matrices; ++i) {
      one(a_at + a_batch.offset, b_at + b_batch.offset, i * m * n);
      a_batch.advance();
      b_batch.advance();
    }
    return absl::OkStatus();
  }

  void one(int64_t a_offset, int64_t b_offset, int64_t c_offset) const {
    const auto ta = a_transposed ? CblasTrans : CblasNoTrans, tb = b_transposed ? CblasTrans : CblasNoTrans;
    const auto im = static_cast<int>(m), in = static_cast<int>(n), ik = static_cast<int>(k), la = static_cast<int>(a_leading),
               lb = static_cast<int>(b_leading);
    switch (dtype) {
      case plan::DType::f32:
        return cblas_sgemm(CblasRowMajor, ta, tb, im, in, ik, 1, static_cast<const float*>(a->memory) + a_offset, la,
                           static_cast<const float*>(b->memory) + b_offset, lb, 0, static_cast<float*>(c->memory) + c_offset, in);
      case plan::DType::f64:
        return cblas_dgemm(CblasRowMajor, ta, tb, im, in, ik, 1, static_cast<const double*>(a->memory) + a_offset, la,
                           static_cast<const double*>(b->memory) + b_offset, lb, 0, static_cast<double*>(c->memory) + c_offset, in);
      case plan::DType::i8: return whole<int8_t>(a_offset, b_offset, c_offset);
      case plan::DType::u8: return whole<uint8_t>(a_offset, b_offset, c_offset);
      case plan::DType::i32: return whole<int32_t>(a_offset, b_offset, c_offset);
      default: return whole<int64_t>(a_offset, b_offset, c_offset);
    }
  }

  template <typename T>
  void whole(int64_t a_offset, int64_t b_offset, int64_t c_offset) const {
    multiply_whole(static_cast<const T*>(a->memory) + a_offset, a_transposed ? 1 : a_leading, a_transposed ? a_leading : 1,
                   static_cast<const T*>(b->memory) + b_offset, b_transposed ? 1 : b_leading, b_transposed ? b_leading : 1,
                   static_cast<T*>(c->memory) + c_offset, m, n, k);
  }
};

// All but the last two: of a shape, or of strides.
Dims leading(Dims dims) {
  dims.pop_back();
  dims.pop_back();
  return dims;
}

// The leading axes of an operand, broadcast to those of the result.
Odometer batch_of(const Array& array, const Dims& batch) {
  return {batch, spread_strides(leading(array.shape), leading(array.strides), batch)};
}

[[noreturn]] void fail_to_multiply(const Array& a, const Array& b, Here here) {
  fail("matmul", absl::StrCat("shapes ", text(a.shape), " and ", text(b.shape), " do not multiply"), here);
}

// The leading axes of the result. Error: they do not broadcast.
Dims joint_batch(const Array& a, const Array& b, const Array& shown_a, const Array& shown_b, Here here) {
  Dims batch = leading(a.shape);
  if (!broadcast(&batch, leading(b.shape))) fail_to_multiply(shown_a, shown_b, here);
  return batch;
}

// Of arrays with at least two axes each. `shown`: those that the user gave.
NDArray multiply_matrices(const NDArray& a, const NDArray& b, const Array& shown_a, const Array& shown_b, Here here) {
  const Matrix left = as_matrix(a, here), right = as_matrix(b, here);
  const Array& x = *Access::peek(left.array);
  const Array& y = *Access::peek(right.array);
  const int rx = x.shape.size(), ry = y.shape.size();
  const int64_t m = x.shape[rx - 2], k = x.shape[rx - 1], n = y.shape[ry - 1];
  if (y.shape[ry - 2] != k) fail_to_multiply(shown_a, shown_b, here);
  const Dims batch = joint_batch(x, y, shown_a, shown_b, here);
  if (std::max({m, n, k, left.leading, right.leading}) > std::numeric_limits<int>::max()) {
    fail("matmul", absl::StrCat("shapes ", text(shown_a.shape), " and ", text(shown_b.shape), " are too large"), here);
  }
  Dims shape = batch;
  shape.push_back(m);
  shape.push_back(n);
  NDArray out = new_result(x, x.dtype, checked_shape("matmul", shape.vector(), x.dtype, here), here);
  if (count(shape) == 0) return out;
  const ChunkRef to = Access::peek(out)->chunk;
  auto body = std::make_unique<Matmul>(Matmul{x.dtype, m, n, k, left.transposed, right.transposed, left.leading, right.leading, batch_of(x, batch),
                                              batch_of(y, batch), x.chunk, y.chunk, to, x.offset, y.offset, count(batch)});
  begin_write(*to);
  to->engine->push({.name = "matmul", .cheap = count(shape) * k <= 4096}, {x.chunk->variable, y.chunk->variable}, {to->variable},
                   [body = std::move(body)] { return body->run(); });
  return out;
}

}  // namespace
}  // namespace mxc::ndarray

namespace mxc {

using namespace ndarray;

NDArray matmul(NDArray a, NDArray b, Here here) {
  const Array& x = get(a, "matmul", here);
  const Array& y = get(b, "matmul", here);
  check_together("matmul", x, y, here);
  check_dtype("matmul", x, y, here);
  if (x.dtype == plan::DType::boolean) fail("matmul", "is not defined for bool", here);
  const int rx = x.shape.size(), ry = y.shape.size();
  if (rx == 0 || ry == 0 || (rx == 1 && ry == 1 && x.shape[0] != y.shape[0])) fail_to_multiply(x, y, here);
  if (x.dtype == plan::DType::f16 || x.dtype == plan::DType::bf16) return cast_for("matmul", matmul(cast_for("matmul", a, f32, here), cast_for("matmul", b, f32, here), here), a.dtype(), here);
  NDArray left = as_plain(a, "matmul", here), right = as_plain(b, "matmul", here);
  // A vector is a row on the left, a column on the right; that axis goes away again.
  if (rx == 1) left = left.expand(0, here);
  if (ry == 1) right = right.expand(1, here);
  NDArray out = multiply_matrices(left, right, x, y, here);
  if (ry == 1) out = out.squeeze(-1, here);
  if (rx == 1) out = out.squeeze(ry == 1 ? -1 : -2, here);
  return out;
}

}  // namespace mxc

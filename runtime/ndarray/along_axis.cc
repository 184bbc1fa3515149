// Softmax and the place of the largest element: one call of a kernel for each row.
#include "runtime/ndarray/along_axis.h"

#include "absl/strings/str_cat.h"
#include "runtime/ndarray/copy.h"
#include "runtime/ndarray/kernels.h"
#include "runtime/ndarray/pointwise.h"
#include "runtime/ndarray/share.h"

namespace mxc::ndarray {
namespace {

// The axes with `from` moved to the place `to`.
Extents moved(int rank, int from, int to) {
  Extents axes;
  for (int axis = 0; axis < rank; ++axis) {
    if (axis != from) axes.push_back(axis);
  }
  axes.insert(axes.begin() + to, from);
  return axes;
}

// Calls a kernel for each row. Result: a row of `result_length` elements for each.
NDArray for_each_row(const char* name, const Kernel& kernel, const Rows& rows, const Dims& shape, int64_t result_length, Here here) {
  const Array& from = *Access::peek(rows.array);
  NDArray out = new_result(from, kernel.result, shape, here);
  if (Access::peek(out)->elements == 0) return out;
  const ChunkRef to = Access::peek(out)->chunk;
  const int64_t row_bytes = rows.length * bytes_of(from.dtype), result_bytes = result_length * bytes_of(kernel.result);
  begin_write(*to);
  to->engine->push({.name = name, .cheap = from.elements <= 256}, {from.chunk->variable}, {to->variable},
                   [kernel = &kernel, in = from.chunk, to, at = from.offset * bytes_of(from.dtype), count = rows.count, length = rows.length,
                    row_bytes, result_bytes]() -> absl::Status {
                     char* result = static_cast<char*>(to->ensure());
                     if (result == nullptr) return no_memory(*to);
                     if (in->memory == nullptr) return absl::FailedPreconditionError("the operand was never computed");
                     char* row = static_cast<char*>(in->memory) + at;
                     share(*to, count * length, count, [&](int64_t begin, int64_t end) {
                       for (int64_t i = begin; i < end; ++i) {
                         void* args[] = {row + i * row_bytes, result + i * result_bytes};
                         kernel->run(args, length, 0, cells(*kernel, length));
                       }
                     });
                     return absl::OkStatus();
                   });
  return out;
}

const Kernel& checked_kernel(const char* name, plan::DType dtype, Here here) {
  const Kernel* kernel = find_kernel(name, dtype);
  if (kernel == nullptr) fail(name, absl::StrCat("is not defined for ", type_name(dtype)), here);
  return *kernel;
}

NDArray softmax_by(const char* name, const NDArray& x, int64_t axis, Here here) {
  const Rows rows = rows_along(name, x, axis, here);
  const Array& array = *Access::peek(rows.array);
  return axis_back(name, for_each_row(name, checked_kernel(name, array.dtype, here), rows, array.shape, rows.length, here), rows.axis, here);
}

NDArray place_of(const char* name, const NDArray& x, int64_t axis, Here here) {
  const Rows rows = rows_along(name, x, axis, here);
  const Array& array = *Access::peek(rows.array);
  if (rows.length == 0) fail(name, absl::StrCat("of no elements: the shape is ", text(get(x, name, here).shape)), here);
  Dims shape = array.shape;
  shape.pop_back();
  return cast_for(name, for_each_row(name, checked_kernel(name, array.dtype, here), rows, shape, 1, here), i64, here);
}

}  // namespace

Rows rows_along(const char* op, const NDArray& x, int64_t axis_given, Here here) {
  const Array& array = get(x, op, here);
  const int rank = array.shape.size(), axis = checked_axis(op, axis_given, rank, here);
  const int64_t length = array.shape[axis];
  NDArray rows = as_run(axis == rank - 1 ? x : NDArray(x.transpose(moved(rank, axis, rank - 1), here)), op, here);
  return {std::move(rows), axis, length == 0 ? 0 : array.elements / length, length};
}

NDArray axis_back(const char* op, const NDArray& rows, int axis, Here here) {
  const int rank = static_cast<int>(rows.rank(here));
  if (axis == rank - 1) return rows;
  return as_run(rows.transpose(moved(rank, rank - 1, axis), here), op, here);
}

}  // namespace mxc::ndarray

namespace mxc {

NDArray softmax(NDArray x, Axis along, Here here) { return ndarray::softmax_by("softmax", x, along.axis, here); }
NDArray log_softmax(NDArray x, Axis along, Here here) { return ndarray::softmax_by("log_softmax", x, along.axis, here); }
NDArray argmax(NDArray x, Axis along, Here here) { return ndarray::place_of("argmax", x, along.axis, here); }
NDArray argmin(NDArray x, Axis along, Here here) { return ndarray::place_of("argmin", x, along.axis, here); }

}  // namespace mxc

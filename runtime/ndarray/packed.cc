// See packed.h.
#include "runtime/ndarray/packed.h"

#include <algorithm>
#include <cstring>

#include "runtime/core/layout.h"
#include "runtime/ndarray/copy.h"

namespace mxc::ndarray {
namespace {

// All elements of a packed array, plain.
NDArray unpack_all(const char* op, const Array& array, Here here) {
  const plan::Buffer& buffer = *array.packed;
  Dims shape;
  for (int axis = 0; axis < buffer.rank; ++axis) shape.push_back(buffer.dims[axis]);
  NDArray plain = new_result(array, array.dtype, shape, here);
  Array& to = *Access::peek(plain);
  begin_write(*to.chunk);
  array.chunk->engine->push({.name = op}, {array.chunk->variable}, {to.chunk->variable},
                            [layout = array.packed, from = array.chunk, to = to.chunk]() -> absl::Status {
                              if (to->ensure() == nullptr) return no_memory(*to);
                              core::unpack(*layout, 0, from->memory, to->memory);
                              return absl::OkStatus();
                            });
  return plain;
}

// Writes a plain, contiguous array of all elements into packed memory.
void pack_all(const char* op, const Array& plain, const Array& target) {
  begin_write(*target.chunk);
  target.chunk->engine->push({.name = op, .anew = true}, {plain.chunk->variable}, {target.chunk->variable},
                             [layout = target.packed, from = plain.chunk, to = target.chunk,
                              at = plain.offset * bytes_of(plain.dtype)]() -> absl::Status {
                               if (to->ensure() == nullptr) return no_memory(*to);
                               core::pack(*layout, 0, static_cast<const char*>(from->memory) + at, to->memory);
                               return absl::OkStatus();
                             });
}

bool is_zero(plan::DType dtype, uint64_t bits) {
  switch (dtype) {  // of a float, the sign does not count
    case plan::DType::f32: return (bits & 0x7fffffff) == 0;
    case plan::DType::f64: return (bits & 0x7fffffffffffffff) == 0;
    case plan::DType::f16:
    case plan::DType::bf16: return (bits & 0x7fff) == 0;
    default: return bits == 0;
  }
}

// Does the operation give 0 where all its arrays are 0? Asked of the kernel itself.
bool keeps_zero(const Pointwise& call, const Kernel& kernel) {
  uint64_t elements[kMaxInputs] = {}, result = 0;
  void* args[kMaxInputs + 1];
  for (int i = 0; i < call.count; ++i) {
    if (call.operands[i].array.empty()) elements[i] = call.operands[i].bits;
    args[i] = &elements[i];
  }
  args[call.count] = &result;
  kernel.run(args, 1, 0, cells(kernel, 1));
  return is_zero(call.dtype, result);
}

// The one layout in which all arrays lie whole; null: they do not.
std::shared_ptr<const plan::Buffer> joint_layout(const Pointwise& call, const NDArray* target) {
  std::shared_ptr<const plan::Buffer> layout;
  auto fits = [&layout](const NDArray& handle) {
    const Array& array = *Access::peek(handle);
    if (!is_whole(array)) return false;
    if (layout == nullptr) layout = array.packed;
    return same_layout(*layout, *array.packed);
  };
  for (int i = 0; i < call.count; ++i) {
    if (!call.operands[i].array.empty() && !fits(call.operands[i].array)) return nullptr;
  }
  return target == nullptr || fits(*target) ? layout : nullptr;
}

NDArray new_packed(const Array& like, const std::shared_ptr<const plan::Buffer>& layout, Here here) {
  NDArray out = wrap({make_chunk(*like.chunk->engine, layout->bytes, like.chunk->device, here), like.dtype, 0, like.shape, like.strides, layout});
  Access::peek(out)->result = true;
  return out;
}

const Array* any_packed(const Pointwise& call) {
  for (int i = 0; i < call.count; ++i) {
    const Array* array = Access::peek(call.operands[i].array);
    if (array != nullptr && array->packed != nullptr) return array;
  }
  return nullptr;
}

}  // namespace

bool is_whole(const Array& array) {
  if (array.packed == nullptr || !array.contiguous || array.shape.size() != array.packed->rank) return false;
  for (int axis = 0; axis < array.shape.size(); ++axis) {
    if (array.shape[axis] != array.packed->dims[axis]) return false;
  }
  return true;
}

bool same_layout(const plan::Buffer& a, const plan::Buffer& b) {
  return a.dtype == b.dtype && a.rank == b.rank && a.block_axis == b.block_axis && a.block == b.block && a.bytes == b.bytes &&
         std::equal(a.dims, a.dims + a.rank, b.dims) && std::equal(a.order, a.order + a.rank, b.order);
}

NDArray unpacked(const char* op, const NDArray& handle, Here here) {
  Array& array = *Access::peek(handle);
  if (array.packed == nullptr) return handle;
  NDArray all = unpack_all(op, array, here);
  if (is_whole(array)) return all;
  return wrap({Access::peek(all)->chunk, array.dtype, array.offset, array.shape, array.strides});
}

void write_packed(const char* op, const NDArray& handle, const NDArray& values, Here here) {
  Array& target = *Access::peek(handle);
  if (is_whole(target) && Access::peek(values)->contiguous) return pack_all(op, *Access::peek(values), target);
  NDArray all = unpack_all(op, target, here);
  copy_into(op, wrap({Access::peek(all)->chunk, target.dtype, target.offset, target.shape, target.strides}), values, here);
  pack_all(op, *Access::peek(all), target);
}

NDArray compute_packed(Pointwise& call, const Kernel& kernel, const NDArray* target) {
  const Array* to = target == nullptr ? nullptr : Access::peek(*target);
  const Array* packed = any_packed(call);
  if (packed == nullptr && (to == nullptr || to->packed == nullptr)) return {};
  const auto layout = kernel.result == call.dtype ? joint_layout(call, target) : nullptr;
  const Kernel* over_memory = nullptr;
  if (layout != nullptr && keeps_zero(call, kernel)) {
    unsigned numbers = 0;
    for (int i = 0; i < call.count; ++i) numbers |= (call.operands[i].array.empty() ? 1u : 0u) << i;
    over_memory = call.family->find(call.dtype, numbers);
  }
  if (over_memory != nullptr) {
    NDArray out = target != nullptr ? *target : new_packed(*packed, layout, call.here);
    queue_contiguous(call, *over_memory, *Access::peek(out), static_cast<int64_t>(layout->bytes) / bytes_of(call.dtype));
    return out;
  }
  for (int i = 0; i < call.count; ++i) {
    NDArray& array = call.operands[i].array;
    if (!array.empty()) array = unpacked(call.name, array, call.here);
  }
  if (to == nullptr || to->packed == nullptr) return {};
  write_packed(call.name, *target, compute(call), call.here);
  return *target;
}

}  // namespace mxc::ndarray

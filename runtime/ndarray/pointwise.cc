// Deciding about a pointwise operation: shapes, where the result goes. How it runs is in pointwise_run.cc.
#include "runtime/ndarray/pointwise.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/ndarray/copy.h"
#include "runtime/ndarray/packed.h"
#include "runtime/ndarray/small_float.h"

namespace mxc::ndarray {
namespace {

template <typename T>
uint64_t bits_of(T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

std::string text_of(Number number) { return number.is_whole ? absl::StrCat(number.whole) : absl::StrCat(number.real); }

template <typename T>
uint64_t whole_bits(const char* op, Number number, plan::DType dtype, Here here, T low, T high) {
  // The bounds as doubles are exact, but for the largest int64_t, which is rounded up: hence <.
  if (!number.is_whole) {
    const bool fits = number.real == std::trunc(number.real) && number.real >= static_cast<double>(low) &&
                      number.real < static_cast<double>(high) + 1;
    if (!fits) fail(op, absl::StrCat(text_of(number), " is no ", type_name(dtype)), here);
    return bits_of(static_cast<T>(number.real));
  }
  if (number.whole < static_cast<int64_t>(low) || number.whole > static_cast<int64_t>(high)) {
    fail(op, absl::StrCat(text_of(number), " is no ", type_name(dtype)), here);
  }
  return bits_of(static_cast<T>(number.whole));
}

template <typename T>
uint64_t whole_bits(const char* op, Number number, plan::DType dtype, Here here) {
  return whole_bits<T>(op, number, dtype, here, std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
}

[[noreturn]] void fail_to_broadcast(const char* op, const NDArray* const* arrays, int count, Here here) {
  std::vector<std::string> shapes;
  for (int i = 0; i < count; ++i) shapes.push_back(text(Access::peek(*arrays[i])->shape));
  const std::string last = shapes.back();
  shapes.pop_back();
  fail(op, absl::StrCat("shapes ", absl::StrJoin(shapes, ", "), " and ", last, " do not broadcast"), here);
}

// Checks the arrays among the operands, and gives the joint shape. The engine and device are those of the first.
Dims checked_operands(const Pointwise& call) {
  const NDArray* arrays[kMaxInputs];
  int count = 0;
  for (int i = 0; i < call.count; ++i) {
    const NDArray& array = call.operands[i].array;
    if (array.empty()) continue;
    check_together(call.name, get(array, call.name, call.here), *Access::peek(count > 0 ? *arrays[0] : array), call.here);
    arrays[count++] = &array;
  }
  return broadcast_shape(call.name, arrays, count, call.here);
}

const Kernel& checked_kernel(const Pointwise& call) {
  const Kernel* kernel = call.family == nullptr ? nullptr : call.family->find(call.dtype);
  if (kernel == nullptr) fail(call.name, absl::StrCat("is not defined for ", type_name(call.dtype)), call.here);
  return *kernel;
}

const Array& first_array(const Pointwise& call) {
  int i = 0;
  while (call.operands[i].array.empty()) ++i;
  return *Access::peek(call.operands[i].array);
}

// An operand whose memory the result may take over.
const NDArray* dying_operand(const Pointwise& call, const Dims& shape, plan::DType result) {
  for (int i = 0; i < call.count; ++i) {
    const NDArray& array = call.operands[i].array;
    if (array.empty()) continue;
    const Array& a = *Access::peek(array);
    if (a.dtype == result && a.contiguous && a.shape == shape && is_last(array)) return &array;
  }
  return nullptr;
}

// Do writes through `target` change what is read through `operand` at another place?
bool overlaps(const Array& target, const Array& operand) {
  if (!(target.chunk == operand.chunk)) return false;
  return !(target.offset == operand.offset && target.shape == operand.shape && target.strides == operand.strides);
}

}  // namespace

uint64_t element_bits(const char* op, Number number, plan::DType dtype, Here here) {
  const double real = number.real;
  switch (dtype) {
    case plan::DType::f32: return bits_of(number.is_whole ? static_cast<float>(number.whole) : static_cast<float>(real));
    case plan::DType::f64: return bits_of(number.is_whole ? static_cast<double>(number.whole) : real);
    case plan::DType::f16: return f16_bits(real);
    case plan::DType::bf16: return bf16_bits(static_cast<float>(real));
    case plan::DType::i8: return whole_bits<int8_t>(op, number, dtype, here);
    case plan::DType::u8: return whole_bits<uint8_t>(op, number, dtype, here);
    case plan::DType::i32: return whole_bits<int32_t>(op, number, dtype, here);
    case plan::DType::i64: return whole_bits<int64_t>(op, number, dtype, here);
    case plan::DType::boolean: return whole_bits<uint8_t>(op, number, dtype, here, 0, 1);
  }
  return 0;
}

Dims broadcast_shape(const char* op, const NDArray* const* arrays, int count, Here here) {
  Dims shape = Access::peek(*arrays[0])->shape;
  for (int i = 1; i < count; ++i) {
    if (!broadcast(&shape, Access::peek(*arrays[i])->shape)) fail_to_broadcast(op, arrays, count, here);
  }
  double elements = 1;
  for (int64_t extent : shape) elements *= static_cast<double>(std::max<int64_t>(1, extent));
  if (elements > 0x1p59) checked_shape(op, shape.vector(), plan::DType::f64, here);  // the widest that a result may be
  return shape;
}

void check_writable(const char* op, const Array& target, Here here) {
  if (target.elements == 0) return;
  for (int axis = 0; axis < target.shape.size(); ++axis) {
    if (target.strides[axis] == 0 && target.shape[axis] > 1) {
      fail(op, absl::StrCat("the array of shape ", text(target.shape), " is broadcast: it can only be read"), here);
    }
  }
}

namespace {

// The common case: plain, contiguous arrays of one shape, on one device of one engine. The first of them; null: it is not so.
const Array* alike(const Pointwise& call) {
  const Array* first = nullptr;
  for (int i = 0; i < call.count; ++i) {
    if (call.operands[i].array.empty()) continue;
    const Array& array = get(call.operands[i].array, call.name, call.here);
    if (first == nullptr) first = &array;
    const bool fits = array.contiguous && array.packed == nullptr && array.elements > 1 && array.shape == first->shape &&
                      array.chunk->engine == first->chunk->engine && array.chunk->device == first->chunk->device;
    if (!fits) return nullptr;
  }
  return first;
}

unsigned numbers_of(const Pointwise& call) {
  unsigned numbers = 0;
  for (int i = 0; i < call.count; ++i) numbers |= (call.operands[i].array.empty() ? 1u : 0u) << i;
  return numbers;
}

}  // namespace

NDArray compute(Pointwise call) {
  const Kernel& kernel = checked_kernel(call);
  if (const Array* first = alike(call)) {
    if (const Kernel* direct = call.family->find(call.dtype, numbers_of(call))) {
      const NDArray* dying = dying_operand(call, first->shape, kernel.result);
      NDArray out = dying != nullptr ? *dying : new_result(*first, kernel.result, first->shape, call.here);
      queue_contiguous(call, *direct, *Access::peek(out), first->elements);
      return out;
    }
  }
  const Dims shape = checked_operands(call);
  if (NDArray out = compute_packed(call, kernel, nullptr); !out.empty()) return out;
  const Array& first = first_array(call);
  const NDArray* dying = dying_operand(call, shape, kernel.result);
  NDArray out = dying != nullptr ? *dying : new_result(first, kernel.result, shape, call.here);
  queue_plain(call, *Access::peek(out));
  return out;
}

void compute_into(Pointwise call, const NDArray& target) {
  const Kernel& kernel = checked_kernel(call);
  Array& to = get(target, call.name, call.here);
  check_writable(call.name, to, call.here);
  const Dims shape = checked_operands(call);
  check_together(call.name, first_array(call), to, call.here);
  if (!(shape == to.shape)) fail(call.name, absl::StrCat("a result of shape ", text(shape), " does not fit into ", text(to.shape)), call.here);
  if (kernel.result != to.dtype) {
    fail(call.name, absl::StrCat("a result of ", type_name(kernel.result), " does not fit into ", type_name(to.dtype)), call.here);
  }
  if (!compute_packed(call, kernel, &target).empty()) return;
  for (int i = 0; i < call.count; ++i) {
    NDArray& array = call.operands[i].array;
    if (!array.empty() && overlaps(to, *Access::peek(array))) array = copy_of(call.name, array, call.here);
  }
  queue_plain(call, to);
}

NDArray cast_for(const char* op, NDArray x, DType dtype, Here here) {
  const plan::DType from = get(x, op, here).dtype, to = to_plan(dtype);
  if (from == to) return x;
  return compute({op, cast_family(to), from, here, 1, {{std::move(x)}}});
}

NDArray multiply(NDArray source, uint64_t factor, Here here) {
  static const KernelFamily* mul = find_family("mul");
  const plan::DType dtype = Access::peek(source)->dtype;
  return compute({"mul", mul, dtype, here, 2, {{std::move(source)}, {{}, factor}}});
}

}  // namespace mxc::ndarray

// Arithmetic, comparisons and functions of one array: which kernel, and where operands and results go.
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/ndarray/held.h"
#include "runtime/ndarray/pointwise.h"

namespace mxc {

using namespace ndarray;

namespace {

bool is_float(plan::DType dtype) {
  return dtype == plan::DType::f32 || dtype == plan::DType::f64 || dtype == plan::DType::f16 || dtype == plan::DType::bf16;
}

// Whether a held product may be added or subtracted in the same pass.
enum class Fusion { none, add, subtract };

struct Op {
  const char* name;
  Fusion fusion = Fusion::none;
  const KernelFamily* family = find_family(name);
};

// The operands of a call, moved out of what the user wrote, with the dtype of the arrays. Error: no array, several dtypes.
Pointwise call_of(const Op& which, Here here, std::initializer_list<ArrayOperand*> given) {
  const char* op = which.name;
  Pointwise call{op, which.family, plan::DType::f32, here};
  const Array* first = nullptr;
  for (ArrayOperand* operand : given) {
    if (operand->is_number) continue;
    // A held product has a dtype and a shape already.
    const Array* array = Access::peek(operand->array);
    if (array == nullptr) array = &get(operand->array, op, here);
    if (first != nullptr) check_dtype(op, *first, *array, here);
    if (first == nullptr) first = array;
  }
  if (first == nullptr) fail(op, "one operand at least must be an array", here);
  call.dtype = first->dtype;
  for (ArrayOperand* operand : given) {
    Operand& to = call.operands[call.count++];
    if (operand->is_number) {
      to.bits = element_bits(op, operand->number, call.dtype, here);
    } else {
      to.array = std::move(operand->array);
    }
  }
  return call;
}

struct Pairs {
  const KernelFamily *mul_add = find_family("mul_add"), *mul_sub = find_family("mul_sub"), *sub_mul = find_family("sub_mul");
};
const Pairs& pairs() {
  static const Pairs pairs;
  return pairs;
}

// Makes a + b or a - b one operation where one of them is a held product of which this call has the last handle.
void fuse(Pointwise& call, Fusion fusion) {
  if (fusion == Fusion::none) return;
  const bool subtract = fusion == Fusion::subtract;
  const KernelFamily* family = subtract ? pairs().sub_mul : pairs().mul_add;
  if (family == nullptr || family->find(call.dtype) == nullptr) return;
  for (int i : {1, 0}) {
    if (call.operands[i].array.empty() || call.operands[1 - i].array.empty()) continue;
    auto product = take_product(call.operands[i].array);
    if (!product.has_value()) continue;
    Operand source{std::move(product->source)}, factor{{}, product->factor}, other = std::move(call.operands[1 - i]);
    call.count = 3;
    if (subtract && i == 1) {
      call.operands[0] = std::move(other), call.operands[1] = std::move(source), call.operands[2] = std::move(factor);
    } else {
      call.operands[0] = std::move(source), call.operands[1] = std::move(factor), call.operands[2] = std::move(other);
      if (subtract) family = pairs().mul_sub;
    }
    call.family = family;
    return;
  }
}

NDArray binary(const Op& op, ArrayOperand& a, ArrayOperand& b, Here here) {
  Pointwise call = call_of(op, here, {&a, &b});
  fuse(call, op.fusion);
  return compute(std::move(call));
}

void update(const Op& op, const NDArray& target, ArrayOperand& other) {
  ArrayOperand self(target, other.where);
  Pointwise call = call_of(op, other.where, {&self, &other});
  fuse(call, op.fusion);
  compute_into(std::move(call), target);
}

// `op` may be any text of the caller's: the families found last are kept by content.
const KernelFamily* family_called(const char* op) {
  constexpr int kKept = 64;
  static thread_local const KernelFamily* kept[kKept];
  const KernelFamily*& family = kept[(static_cast<unsigned char>(op[0]) * 7 + std::strlen(op)) % kKept];
  if (family == nullptr || std::strcmp(family->name, op) != 0) family = find_family(op);
  return family;
}

}  // namespace

NDArray operator+(ArrayOperand a, ArrayOperand b) {
  static const Op op{"add", Fusion::add};
  return binary(op, a, b, a.where);
}
NDArray operator-(ArrayOperand a, ArrayOperand b) {
  static const Op op{"sub", Fusion::subtract};
  return binary(op, a, b, a.where);
}
NDArray operator*(ArrayOperand a, ArrayOperand b) {
  static const Op op{"mul"};
  Pointwise call = call_of(op, a.where, {&a, &b});
  const int array = a.is_number ? 1 : 0;
  const bool one_number = a.is_number != b.is_number;
  if (!one_number || pairs().mul_add == nullptr || pairs().mul_add->find(call.dtype) == nullptr) return compute(std::move(call));
  get(call.operands[array].array, "mul", call.here);
  return hold_product(call.operands[array].array, call.operands[1 - array].bits, call.here);
}
NDArray operator/(ArrayOperand a, ArrayOperand b) {
  static const Op op{"div"};
  return binary(op, a, b, a.where);
}
NDArray operator-(ArrayOperand a) { return neg(std::move(a.array), a.where); }
NDArray pow(ArrayOperand a, ArrayOperand b, Here here) {
  static const Op op{"pow"};
  if (!a.is_number && b.is_number && b.number.real < 0) {
    const plan::DType dtype = get(a.array, "pow", here).dtype;
    if (!is_float(dtype)) fail("pow", absl::StrCat("integers to the ", b.number.real, ": cast them to a floating type"), here);
  }
  return binary(op, a, b, here);
}
NDArray modulo(ArrayOperand a, ArrayOperand b, Here here) {
  static const Op op{"modulo"};
  return binary(op, a, b, here);
}
NDArray maximum(ArrayOperand a, ArrayOperand b, Here here) {
  static const Op op{"maximum"};
  return binary(op, a, b, here);
}
NDArray minimum(ArrayOperand a, ArrayOperand b, Here here) {
  static const Op op{"minimum"};
  return binary(op, a, b, here);
}

const NDArray& NDArray::operator+=(ArrayOperand other) const {
  static const Op op{"add", Fusion::add};
  update(op, *this, other);
  return *this;
}
const NDArray& NDArray::operator-=(ArrayOperand other) const {
  static const Op op{"sub", Fusion::subtract};
  update(op, *this, other);
  return *this;
}
const NDArray& NDArray::operator*=(ArrayOperand other) const {
  static const Op op{"mul"};
  update(op, *this, other);
  return *this;
}
const NDArray& NDArray::operator/=(ArrayOperand other) const {
  static const Op op{"div"};
  update(op, *this, other);
  return *this;
}

NDArray operator==(ArrayOperand a, ArrayOperand b) {
  static const Op op{"equal"};
  return binary(op, a, b, a.where);
}
NDArray operator!=(ArrayOperand a, ArrayOperand b) {
  static const Op op{"not_equal"};
  return binary(op, a, b, a.where);
}
NDArray operator<(ArrayOperand a, ArrayOperand b) {
  static const Op op{"less"};
  return binary(op, a, b, a.where);
}
NDArray operator<=(ArrayOperand a, ArrayOperand b) {
  static const Op op{"less_equal"};
  return binary(op, a, b, a.where);
}
NDArray operator>(ArrayOperand a, ArrayOperand b) {
  static const Op op{"greater"};
  return binary(op, a, b, a.where);
}
NDArray operator>=(ArrayOperand a, ArrayOperand b) {
  static const Op op{"greater_equal"};
  return binary(op, a, b, a.where);
}
NDArray logical_and(ArrayOperand a, ArrayOperand b, Here here) {
  static const Op op{"logical_and"};
  return binary(op, a, b, here);
}
NDArray logical_or(ArrayOperand a, ArrayOperand b, Here here) {
  static const Op op{"logical_or"};
  return binary(op, a, b, here);
}
NDArray logical_xor(ArrayOperand a, ArrayOperand b, Here here) {
  static const Op op{"logical_xor"};
  return binary(op, a, b, here);
}

NDArray unary(const char* op, NDArray x, Here here) {
  if (op == nullptr) fail("unary", "the operation has no name", here);
  const KernelFamily* family = family_called(op);
  const Kernel* kernel = family == nullptr ? nullptr : family->find(get(x, op, here).dtype);
  // What is no elementwise operation has one cell whatever the number of elements.
  if (family == nullptr || family->operands != 1 || std::strchr(op, '.') != nullptr || (kernel != nullptr && kernel->tile == 0)) {
    fail(op, "there is no such elementwise operation on one array without attributes (those with some are functions, such as leaky_relu(x, slope))", here);
  }
  ArrayOperand operand(std::move(x), here);
  return compute(call_of({family->name, Fusion::none, family}, here, {&operand}));
}

NDArray where(NDArray condition, ArrayOperand a, ArrayOperand b, Here here) {
  static const Op op{"where"};
  const Array& choice = get(condition, "where", here);
  if (choice.dtype != plan::DType::boolean) {
    fail("where", absl::StrCat("the condition is ", type_name(choice.dtype), ", not bool"), here);
  }
  Pointwise call = call_of(op, here, {&a, &b});
  call.count = 3;
  call.operands[2] = std::move(call.operands[1]);
  call.operands[1] = std::move(call.operands[0]);
  call.operands[0] = {std::move(condition)};
  return compute(std::move(call));
}

NDArray clip(NDArray x, Number low, Number high, Here here) {
  if (low.real > high.real) fail("clip", absl::StrCat("low = ", low.real, " is above high = ", high.real), here);
  const plan::DType dtype = get(x, "clip", here).dtype;
  if (dtype == plan::DType::boolean) fail("clip", "is not defined for bool", here);
  for (const Number end : {low, high}) element_bits("clip", end, dtype, here);
  return minimum({maximum({std::move(x), here}, {low, here}, here), here}, {high, here}, here);
}

namespace {

void check_float(const char* op, const NDArray& x, Here here) {
  const plan::DType dtype = get(x, op, here).dtype;
  if (!is_float(dtype)) fail(op, absl::StrCat("is not defined for ", type_name(dtype)), here);
}

}  // namespace

NDArray leaky_relu(NDArray x, double slope, Here here) {
  check_float("leaky_relu", x, here);
  const ArrayOperand input(x, here);
  NDArray scaled = input * ArrayOperand(slope, here), positive = input > ArrayOperand(0, here);
  return where(std::move(positive), {std::move(x), here}, {std::move(scaled), here}, here);
}

NDArray elu(NDArray x, double alpha, Here here) {
  check_float("elu", x, here);
  const ArrayOperand input(x, here), one(1, here), zero(0, here);
  NDArray less_one = ArrayOperand(exp(x, here), here) - one;
  NDArray below = ArrayOperand(std::move(less_one), here) * ArrayOperand(alpha, here), positive = input > zero;
  return where(std::move(positive), {std::move(x), here}, {std::move(below), here}, here);
}

NDArray NDArray::cast(DType dtype, Here here) const {
  return cast_for("cast", *this, dtype, here);
}

}  // namespace mxc

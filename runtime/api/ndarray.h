// NDArray: arrays of numbers for imperative code.
//
// An NDArray is a handle: copies mean the same array, and what is written through one is seen through all. Operations return at once;
// they are queued in program order and run when their operands are there. Reading a value (item, to_vector, data, printing, wait) waits
// for what that array needs and for nothing else. An operation that fails while it runs is thrown where its result is read.
//
// Views (a[2], slice, at, reshape, transpose, ...) share the memory of their base. Assigning to a variable makes it mean another array;
// assigning to a freshly made view writes:
//     NDArray b = a[2];      // b is the third row of a: b += 1 changes a
//     a[2] = c;              // writes c into the third row
//     a.slice(1, 0, 4) = 0;  // and so for every View
//
// Types: the arrays of one operation have one dtype; `cast` converts. A number takes the array's dtype: a floating one rounds it (1e300 is
// infinite in f32, as in NumPy); one that an integer type does not have (0.5, or 300 in i8) is an error. Shapes broadcast as in NumPy. Ranks go up to 8.
// Errors: everything here throws mxc::Error with the line of the call, for what is wrong in types, shapes and axes at once.
// Threads: arrays may be used from several threads; operations of one thread keep their order.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "mxc/device.h"
#include "mxc/dtype.h"
#include "mxc/error.h"

namespace mxc {

using Extents = std::vector<int64_t>;

namespace ndarray {
struct Array;   // what a handle points to (runtime/ndarray/array.h)
struct Access;  // the implementation's way to it
}  // namespace ndarray

// A number, whole or not, before it takes an array's dtype.
class Number {
 public:
  template <class T>
  requires std::is_arithmetic_v<T> Number(T value)
      : real(static_cast<double>(value)), whole(static_cast<int64_t>(std::is_integral_v<T> ? value : T{})), is_whole(fits_whole(value)) {}
  double real;
  int64_t whole;  // the value, if is_whole
  bool is_whole;  // a whole number that int64_t holds

 private:
  template <class T>
  static constexpr bool fits_whole(T value) {
    if constexpr (std::is_integral_v<T> && std::is_unsigned_v<T> && sizeof(T) == 8) return value <= static_cast<T>(INT64_MAX);
    return std::is_integral_v<T>;
  }
};

// The DType of a C++ type: bool, int8_t, uint8_t, int32_t, int64_t, float, double.
template <class T>
constexpr DType dtype_of() {
  static_assert(std::is_arithmetic_v<T>);
  if constexpr (std::is_same_v<T, bool>) {
    return boolean;
  } else if constexpr (std::is_floating_point_v<T>) {
    static_assert(sizeof(T) <= 8, "no element type is so wide");
    return sizeof(T) == 4 ? f32 : f64;
  } else if constexpr (sizeof(T) == 1) {
    return std::is_signed_v<T> ? i8 : u8;
  } else {
    static_assert(std::is_signed_v<T> && sizeof(T) >= 4, "no element type is like this one");
    return sizeof(T) == 4 ? i32 : i64;
  }
}

// An index and the place where it was written.
struct Index {
  template <class T>
  requires std::is_integral_v<T> Index(T value, Here where = Here::current()) : value(static_cast<int64_t>(value)), where(where) {}
  int64_t value;
  Here where;
};

class ArrayOperand;
class View;

class NDArray {
 public:
  // An empty handle: no array. So is one that was moved from. To use it is an error.
  NDArray() = default;
  NDArray(const NDArray& other);
  NDArray(NDArray&& other) noexcept : array_(std::exchange(other.array_, nullptr)) {}
  NDArray& operator=(const NDArray& other);
  NDArray& operator=(NDArray&& other) noexcept;
  ~NDArray() {
    if (array_ != nullptr) release();
  }
  bool empty() const { return array_ == nullptr; }

  // ---- Making arrays
  static NDArray zeros(const Extents& shape, DType dtype = f32, Here here = Here::current());
  static NDArray ones(const Extents& shape, DType dtype = f32, Here here = Here::current());
  static NDArray full(const Extents& shape, Number value, DType dtype = f32, Here here = Here::current());
  // start, start + step, ... before end; ceil((end - start) / step) elements, each of which the dtype must hold if it is a whole one.
  static NDArray arange(Number start, Number end, Number step = 1, DType dtype = f32, Here here = Here::current());
  // From values, of their own C++ type: from({1.0f, 2.0f}), from({{1, 2}, {3, 4}}), from(vector, {2, 2}).
  template <class T>
  static NDArray from(std::initializer_list<T> values, Here here = Here::current()) {
    return from(std::vector<T>(values), {static_cast<int64_t>(values.size())}, here);
  }
  template <class T>
  static NDArray from(std::initializer_list<std::initializer_list<T>> rows, Here here = Here::current()) {
    std::vector<T> values;
    for (const auto& row : rows) {
      if (row.size() != rows.begin()->size()) throw Error("from: rows of different lengths", here);
      values.insert(values.end(), row);
    }
    if (rows.size() == 0) return from(values, here);
    return from(values, {static_cast<int64_t>(rows.size()), static_cast<int64_t>(rows.begin()->size())}, here);
  }
  template <class T>
  static NDArray from(const std::vector<T>& values, const Extents& shape, Here here = Here::current()) {
    if constexpr (std::is_same_v<T, bool>) {
      return from_bytes(std::vector<char>(values.begin(), values.end()).data(), values.size(), boolean, shape, here);
    } else {
      return from_bytes(values.data(), values.size(), dtype_of<T>(), shape, here);
    }
  }
  template <class T>
  static NDArray from(const std::vector<T>& values, Here here = Here::current()) {
    return from(values, {static_cast<int64_t>(values.size())}, here);
  }
  // An array of a file: .npy; .npz or .safetensors with the array's name, which may be left out if the file holds one alone.
  static NDArray load(const std::string& path, const std::string& name = "", Here here = Here::current());

  // ---- What it is
  Extents shape(Here here = Here::current()) const;
  int64_t shape(int64_t axis, Here here = Here::current()) const;  // a negative axis counts from the end
  DType dtype(Here here = Here::current()) const;
  int64_t rank(Here here = Here::current()) const;
  int64_t size(Here here = Here::current()) const;     // elements
  Extents strides(Here here = Here::current()) const;  // in elements
  Device device(Here here = Here::current()) const;
  bool is_contiguous(Here here = Here::current()) const;  // row-major without gaps

  // ---- Views. Negative indices count from the end.
  View operator[](Index index) const;  // along the first axis, which goes away
  View at(std::initializer_list<int64_t> indices, Here here = Here::current()) const;
  View slice(int64_t axis, int64_t from, int64_t to, int64_t step = 1, Here here = Here::current()) const;  // step > 0; ends are cut to the axis
  View reshape(const Extents& shape, Here here = Here::current()) const;  // one extent may be -1; of an array that cannot be viewed so: a copy
  View flatten(Here here = Here::current()) const;                        // reshape({-1})
  View transpose(const Extents& axes = {}, Here here = Here::current()) const;  // without axes: reversed
  View expand(int64_t axis, Here here = Here::current()) const;                 // a new axis of extent 1
  View squeeze(int64_t axis, Here here = Here::current()) const;                // an axis of extent 1 goes away
  View broadcast_to(const Extents& shape, Here here = Here::current()) const;   // for reading alone

  // ---- Writing, in place. A handle is not changed by it: a const one may write.
  const NDArray& operator+=(ArrayOperand other) const;
  const NDArray& operator-=(ArrayOperand other) const;
  const NDArray& operator*=(ArrayOperand other) const;
  const NDArray& operator/=(ArrayOperand other) const;
  void assign(ArrayOperand values, Here here = Here::current()) const;  // broadcasts to this array's shape
  void fill(Number value, Here here = Here::current()) const;

  // ---- Copies
  NDArray cast(DType dtype, Here here = Here::current()) const;  // of this dtype already: the array itself
  NDArray copy(Here here = Here::current()) const;
  NDArray contiguous(Here here = Here::current()) const;         // contiguous already: the array itself
  void copy_to(const NDArray& target, Here here = Here::current()) const;  // of the same shape and dtype, on any device
  NDArray to(Device device, Here here = Here::current()) const;            // on this device already: the array itself

  // ---- Reading: these wait
  // The one element. Whole T: of an integer or boolean array, and T must hold it; else of any, rounded to T.
  template <class T>
  T item(Here here = Here::current()) const {
    if constexpr (std::is_integral_v<T>) {
      constexpr auto kMost = static_cast<uint64_t>(std::numeric_limits<T>::max());
      return static_cast<T>(item_within(static_cast<int64_t>(std::numeric_limits<T>::min()),
                                        kMost > uint64_t{INT64_MAX} ? INT64_MAX : static_cast<int64_t>(kMost), here));
    } else {
      const Number value = item_number(/*whole=*/false, here);
      return value.is_whole ? static_cast<T>(value.whole) : static_cast<T>(value.real);
    }
  }
  // All elements, row-major. T is the dtype's C++ type.
  template <class T>
  std::vector<T> to_vector(Here here = Here::current()) const {
    NDArray plain = ready_for_read(dtype_of<T>(), here);
    const T* values = static_cast<const T*>(plain.address());
    return std::vector<T>(values, values + plain.size(here));
  }
  // The elements of a contiguous array, in place. Valid while the array lives and nothing is queued that writes to it.
  template <class T>
  const T* data(Here here = Here::current()) const {
    return static_cast<const T*>(data_for_read(dtype_of<T>(), here));
  }
  // The same for writing; waits for operations that read the array, too.
  template <class T>
  T* mutable_data(Here here = Here::current()) const {
    return static_cast<T*>(data_for_write(dtype_of<T>(), here));
  }
  void wait(Here here = Here::current()) const;  // until its value is there

 private:
  friend struct ndarray::Access;
  static NDArray from_bytes(const void* values, size_t count, DType dtype, const Extents& shape, Here here);
  void release() noexcept;
  Number item_number(bool whole, Here here) const;
  int64_t item_within(int64_t low, int64_t high, Here here) const;
  NDArray ready_for_read(DType dtype, Here here) const;
  const void* address() const;
  const void* data_for_read(DType dtype, Here here) const;
  void* data_for_write(DType dtype, Here here) const;

  ndarray::Array* array_ = nullptr;
};

// A part or another form of an array. Assigning to it writes into the array; copying it into an NDArray makes a handle.
// A reshape that no strides can express is a copy, and no part of the array: it may have a name and be written to, but `a.reshape(...) = b` and
// `a.reshape(...) += b` are errors then, since nobody would see what they write.
class View : public NDArray {
 public:
  explicit View(NDArray array, Here made = Here::current(), bool is_copy = false) : NDArray(std::move(array)), made_(made), is_copy_(is_copy) {}
  View(const View&) = default;
  View(View&&) = default;
  const View& operator=(ArrayOperand values) const&;
  const View& operator=(ArrayOperand values) const&&;
  // A view that has a name, and another view: C++ tells no place. If it goes wrong, the error has the line where this one was made.
  View& operator=(const View& values) &;

  const NDArray& operator+=(ArrayOperand other) const&;
  const NDArray& operator-=(ArrayOperand other) const&;
  const NDArray& operator*=(ArrayOperand other) const&;
  const NDArray& operator/=(ArrayOperand other) const&;
  const NDArray& operator+=(ArrayOperand other) const&&;
  const NDArray& operator-=(ArrayOperand other) const&&;
  const NDArray& operator*=(ArrayOperand other) const&&;
  const NDArray& operator/=(ArrayOperand other) const&&;

 private:
  const View& seen(Here here) const;  // itself; throws if it is a copy

  Here made_;
  bool is_copy_;
};

// An operand of an operation: an array, or a number; and the place where it was written.
class ArrayOperand {
 public:
  ArrayOperand(NDArray array, Here where = Here::current()) : array(std::move(array)), where(where) {}
  template <class T>
  requires std::is_arithmetic_v<T> ArrayOperand(T value, Here where = Here::current()) : number(value), is_number(true), where(where) {}
  ArrayOperand(Number number, Here where = Here::current()) : number(number), is_number(true), where(where) {}

  NDArray array;
  Number number = 0;
  bool is_number = false;  // the operand is `number`, not `array`
  Here where;
};

// ---- Arithmetic. Integers wrap around; an integer divided by 0 is 0, and so is its remainder. `/` of integers rounds towards zero, as C++'s does, but `%`
// has the sign of the divisor, as Python's: they fit together where the signs are equal. NumPy's a // b is (a - a % b) / b.
NDArray operator+(ArrayOperand a, ArrayOperand b);
NDArray operator-(ArrayOperand a, ArrayOperand b);
NDArray operator*(ArrayOperand a, ArrayOperand b);
NDArray operator/(ArrayOperand a, ArrayOperand b);
NDArray operator-(ArrayOperand a);
// Of integers the exponent is one, at least 0 if it is a number; in an array a negative one counts as 1 / a to the -b, towards zero.
NDArray pow(ArrayOperand a, ArrayOperand b, Here here = Here::current());
// The remainder with the sign of b, as Python's and NumPy's %.
NDArray modulo(ArrayOperand a, ArrayOperand b, Here here = Here::current());
inline NDArray operator%(ArrayOperand a, ArrayOperand b) {
  const Here here = a.where;
  return modulo(std::move(a), std::move(b), here);
}
NDArray maximum(ArrayOperand a, ArrayOperand b, Here here = Here::current());
NDArray minimum(ArrayOperand a, ArrayOperand b, Here here = Here::current());
// The names of `mxc ops` for one array: "exp", "tanh", ...
NDArray unary(const char* op, NDArray x, Here here = Here::current());
inline NDArray neg(NDArray x, Here here = Here::current()) { return unary("neg", std::move(x), here); }
inline NDArray abs(NDArray x, Here here = Here::current()) { return unary("abs", std::move(x), here); }
inline NDArray sign(NDArray x, Here here = Here::current()) { return unary("sign", std::move(x), here); }    // -1, 0 or 1; NaN of NaN
inline NDArray floor(NDArray x, Here here = Here::current()) { return unary("floor", std::move(x), here); }  // integers stay as they are
inline NDArray ceil(NDArray x, Here here = Here::current()) { return unary("ceil", std::move(x), here); }
inline NDArray round(NDArray x, Here here = Here::current()) { return unary("round", std::move(x), here); }  // halves to the even one
inline NDArray square(NDArray x, Here here = Here::current()) { return unary("square", std::move(x), here); }
inline NDArray exp(NDArray x, Here here = Here::current()) { return unary("exp", std::move(x), here); }
inline NDArray log(NDArray x, Here here = Here::current()) { return unary("log", std::move(x), here); }
inline NDArray log1p(NDArray x, Here here = Here::current()) { return unary("log1p", std::move(x), here); }
inline NDArray sqrt(NDArray x, Here here = Here::current()) { return unary("sqrt", std::move(x), here); }
inline NDArray rsqrt(NDArray x, Here here = Here::current()) { return unary("rsqrt", std::move(x), here); }
inline NDArray tanh(NDArray x, Here here = Here::current()) { return unary("tanh", std::move(x), here); }
inline NDArray sigmoid(NDArray x, Here here = Here::current()) { return unary("sigmoid", std::move(x), here); }
inline NDArray relu(NDArray x, Here here = Here::current()) { return unary("relu", std::move(x), here); }
inline NDArray softplus(NDArray x, Here here = Here::current()) { return unary("softplus", std::move(x), here); }
inline NDArray silu(NDArray x, Here here = Here::current()) { return unary("silu", std::move(x), here); }
inline NDArray gelu(NDArray x, Here here = Here::current()) { return unary("gelu", std::move(x), here); }
inline NDArray erf(NDArray x, Here here = Here::current()) { return unary("erf", std::move(x), here); }
inline NDArray sin(NDArray x, Here here = Here::current()) { return unary("sin", std::move(x), here); }
inline NDArray cos(NDArray x, Here here = Here::current()) { return unary("cos", std::move(x), here); }
NDArray leaky_relu(NDArray x, double slope = 0.01, Here here = Here::current());
NDArray elu(NDArray x, double alpha = 1, Here here = Here::current());
NDArray clip(NDArray x, Number low, Number high, Here here = Here::current());
// a where condition (of booleans) is true, else b; the three broadcast.
NDArray where(NDArray condition, ArrayOperand a, ArrayOperand b, Here here = Here::current());

// ---- Comparisons and logic: arrays of booleans
NDArray operator==(ArrayOperand a, ArrayOperand b);
NDArray operator!=(ArrayOperand a, ArrayOperand b);
NDArray operator<(ArrayOperand a, ArrayOperand b);
NDArray operator<=(ArrayOperand a, ArrayOperand b);
NDArray operator>(ArrayOperand a, ArrayOperand b);
NDArray operator>=(ArrayOperand a, ArrayOperand b);
NDArray logical_and(ArrayOperand a, ArrayOperand b, Here here = Here::current());
NDArray logical_or(ArrayOperand a, ArrayOperand b, Here here = Here::current());
NDArray logical_xor(ArrayOperand a, ArrayOperand b, Here here = Here::current());
inline NDArray logical_not(NDArray x, Here here = Here::current()) { return unary("logical_not", std::move(x), here); }

// ---- Matrices: as NumPy's matmul. [.., m, k] x [.., k, n] -> [.., m, n]; leading axes broadcast; a vector is a row or a column that goes away.
NDArray matmul(NDArray a, NDArray b, Here here = Here::current());

// ---- Reductions: sum(x), sum(x, {.axes = {0, 2}, .keep_dims = true}). No axes: all. The result has the dtype of x, but for integers and booleans:
// sums and products of them are i64, means f64. A long sum of f32 does not drift: parts of it are added in f64.
struct Reduction {
  Extents axes = {};
  bool keep_dims = false;
};
NDArray sum(NDArray x, const Reduction& over = {}, Here here = Here::current());
NDArray mean(NDArray x, const Reduction& over = {}, Here here = Here::current());
NDArray reduce_max(NDArray x, const Reduction& over = {}, Here here = Here::current());
NDArray reduce_min(NDArray x, const Reduction& over = {}, Here here = Here::current());
NDArray reduce_prod(NDArray x, const Reduction& over = {}, Here here = Here::current());
NDArray norm(NDArray x, const Reduction& over = {}, Here here = Here::current());  // the root of the sum of squares
NDArray all(NDArray x, const Reduction& over = {}, Here here = Here::current());   // of booleans
NDArray any(NDArray x, const Reduction& over = {}, Here here = Here::current());

// ---- Along one axis
struct Axis {
  int64_t axis = -1;
};
NDArray softmax(NDArray x, Axis along = {}, Here here = Here::current());
NDArray log_softmax(NDArray x, Axis along = {}, Here here = Here::current());
NDArray argmax(NDArray x, Axis along = {}, Here here = Here::current());  // i64, the first of equals; of NaN, if there are any, the first
NDArray argmin(NDArray x, Axis along = {}, Here here = Here::current());
struct Sorting {
  int64_t axis = -1;
  bool descending = false;
};
NDArray sort(NDArray x, Sorting how = {}, Here here = Here::current());     // NaN last, also in descending order
NDArray argsort(NDArray x, Sorting how = {}, Here here = Here::current());  // i64; equals keep their order
struct TopK {
  int64_t k = 1, axis = -1;
  bool smallest = false;
};
// The first k of the sorted: the k largest, largest first, and where they are (i64); of equals the first, NaN after all numbers.
struct ValuesAndIndices {
  NDArray values, indices;
};
ValuesAndIndices topk(NDArray x, TopK how, Here here = Here::current());

// ---- By index. Indices are i32 or i64; a negative one counts from the end; one outside fails when the operation runs, with the line of the
// operation in the message.
// The parts of x at `indices` along the axis, which is replaced by the axes of indices.
NDArray take(NDArray x, NDArray indices, Axis along = {0}, Here here = Here::current());
// result[i][j][k] = x[i][indices[i][j][k]][k] for axis 1. indices: the shape of x but for the axis.
NDArray gather(NDArray x, NDArray indices, Axis along = {}, Here here = Here::current());
// A copy of x in which result[i][indices[i][j][k]][k] = values[i][j][k]; of several values for one place the last stays.
NDArray scatter(NDArray x, NDArray indices, ArrayOperand values, Axis along = {}, Here here = Here::current());
// 1 at the place that the index names along a new last axis, else 0.
NDArray one_hot(NDArray indices, int64_t depth, DType dtype = f32, Here here = Here::current());

// ---- Joining and cutting
NDArray concat(const std::vector<NDArray>& arrays, Axis along = {0}, Here here = Here::current());
NDArray stack(const std::vector<NDArray>& arrays, Axis along = {0}, Here here = Here::current());  // along a new axis
// For what stands in braces: concat({a, b}).
inline NDArray concat(std::initializer_list<NDArray> arrays, Axis along = {0}, Here here = Here::current()) {
  return concat(std::vector<NDArray>(arrays), along, here);
}
inline NDArray stack(std::initializer_list<NDArray> arrays, Axis along = {0}, Here here = Here::current()) {
  return stack(std::vector<NDArray>(arrays), along, here);
}
std::vector<NDArray> split(const NDArray& x, int64_t parts, Axis along = {0}, Here here = Here::current());  // equal parts: views
NDArray tile(const NDArray& x, const Extents& times, Here here = Here::current());
struct Padding {
  Extents before, after;  // elements added on each axis
  Number value = 0;
};
NDArray pad(const NDArray& x, const Padding& padding, Here here = Here::current());

// ---- Files. One array: .npy. Named arrays: .npz or .safetensors. A file appears whole or not at all.
using NamedArrays = std::vector<std::pair<std::string, NDArray>>;
void save(const std::string& path, const NDArray& array, Here here = Here::current());
void save(const std::string& path, const NamedArrays& arrays, Here here = Here::current());
NamedArrays load_arrays(const std::string& path, Here here = Here::current());

// ---- Text as NumPy prints it: [[1.  2.5]\n [3.  4. ]]. Waits.
std::string to_string(const NDArray& x, Here here = Here::current());
// Streams take an array as this, for errors to have the line.
struct Printed {
  Printed(const NDArray& array, Here here = Here::current()) : array(array), here(here) {}
  const NDArray& array;
  Here here;
};
std::ostream& operator<<(std::ostream& out, const Printed& x);

// Waits for every operation queued so far; throws the error of the oldest that failed since the last call.
void wait_all(Here here = Here::current());

}  // namespace mxc

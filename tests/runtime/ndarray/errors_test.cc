// Wrong use: an exception with what was wrong and the line of the call.
#include <gtest/gtest.h>

#include <functional>
#include <sstream>

#include "mxc/random.h"
#include "tests/runtime/error_line.h"
#include "tests/runtime/ndarray/expected.h"

// Under a sanitizer, too, too large an allocation is told, and does not end the process.
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }
extern "C" const char* __tsan_default_options() { return "allocator_may_return_null=1"; }

namespace mxc {
namespace {

const NDArray& two_three() {
  static const NDArray x = NDArray::zeros({2, 3});
  return x;
}

TEST(Errors, WhatIsPrinted) {
  NDArray gone = NDArray::zeros({2});
  const NDArray taken = std::move(gone);
  std::ostringstream out;
  try {
    out << gone;
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.where.line(), __LINE__ - 3u);
    EXPECT_STREQ(error.where.file_name(), __FILE__);
  }
}

TEST(Errors, NothingIsNoCrash) {
  EXPECT_EQ(NDArray::from<float>({}).shape(), (Extents{0}));
  expect_here([] { unary(nullptr, two_three()); }, "unary: the operation has no name");
  random::Generator first(3), second = std::move(first);
  EXPECT_EQ(first.next().step, 0u);
  EXPECT_EQ(second.next().step, 1u);
}

TEST(Errors, TheLineOfTheCall) {
  const NDArray x = two_three(), y = NDArray::zeros({4});
  try {
    x + y;
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.where.line(), __LINE__ - 3u);
    const std::string place = std::string(error.where.file_name()) + ":" + std::to_string(error.where.line()) + ":";
    EXPECT_EQ(std::string(error.what()).rfind(place, 0), 0u) << error.what();
    EXPECT_EQ(error.message, "add: shapes {2, 3} and {4} do not broadcast");
  }
  try {
    reduce_max(x, {.axes = {2}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.where.line(), __LINE__ - 3u);
  }
}

TEST(Errors, EveryKindNamesTheLineOfTheCall) {
  const NDArray x = two_three(), y = NDArray::zeros({4}), whole = NDArray::zeros({2, 3}, i32);
  // Mixed shapes or types.
  expect_here([&] { x - y; }, "sub: shapes {2, 3} and {4} do not broadcast");
  expect_here([&] { maximum(x, y); }, "maximum: shapes {2, 3} and {4} do not broadcast");
  expect_here([&] { (void)(x < y); }, "less: shapes {2, 3} and {4} do not broadcast");
  expect_here([&] { matmul(x, x); }, "matmul: shapes {2, 3} and {2, 3} do not multiply");
  expect_here([&] { concat({x, y}); }, "concat: shapes {2, 3} and {4} differ beyond axis 0");
  expect_here([&] { stack({x, y}); }, "stack: shapes {2, 3} and {4} differ");
  expect_here([&] { x* whole; }, "mul: dtypes f32 and i32 of arrays of shapes {2, 3} and {2, 3} differ: cast one of them");
  expect_here([&] { whole + 0.5; }, "add: 0.5 is no i32");
  expect_here([&] { exp(whole); }, "exp: is not defined for i32");
  // An array that was moved from.
  NDArray gone = NDArray::zeros({2});
  const NDArray taken = std::move(gone);
  const std::string empty = ": the array is empty: nothing was assigned to it, or it was moved from";
  expect_here([&] { gone.to_vector<float>(); }, "to_vector" + empty);
  expect_here([&] { gone.item<float>(); }, "item" + empty);
  expect_here([&] { gone.data<float>(); }, "data" + empty);
  expect_here([&] { gone + taken; }, "add" + empty);
  expect_here([&] { gone += 1; }, "add" + empty);
  expect_here([&] { gone.fill(1); }, "fill" + empty);
  expect_here([&] { tanh(gone); }, "tanh" + empty);
  // Indices and axes.
  expect_here([&] { x[2]; }, "[]: index 2 is outside of axis 0 of shape {2, 3}");
  expect_here([&] { x[0][3]; }, "[]: index 3 is outside of axis 0 of shape {3}");
  expect_here([&] { x.at({0, 3}); }, "at: index 3 is outside of axis 1 of shape {2, 3}");
  expect_here([&] { x.slice(2, 0, 1); }, "slice: there is no axis 2: the array has 2");
  expect_here([&] { sum(x, {.axes = {2}}); }, "sum: there is no axis 2: the array has 2");
  expect_here([&] { softmax(x, {.axis = 5}); }, "softmax: there is no axis 5: the array has 2");
  expect_here([&] { take(x, NDArray::from({7})).wait(); }, "take: index 7 at {0} is outside of an axis of 2");
  // Assignments.
  expect_here([&] { x.assign(y); }, "assign: shapes {2, 3} and {4} do not broadcast");
  expect_here([&] { x[0] = y; }, "assign: shapes {3} and {4} do not broadcast");
  expect_here([&] { x[0] += x; }, "add: a result of shape {2, 3} does not fit into {3}");
  expect_here([&] { x[0] = whole[0]; }, "assign: dtypes f32 and i32 of arrays of shapes {3} and {3} differ: cast one of them");
  expect_here([&] { x[0] = y.slice(0, 0, 2); }, "assign: shapes {3} and {2} do not broadcast");
  try {
    View named = x[0];
    const View other = y.slice(0, 0, 2);
    named = other;
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.message, "assign: shapes {3} and {2} do not broadcast");
    EXPECT_EQ(error.where.line(), static_cast<unsigned>(__LINE__ - 6));  // where `named` was made
  }
  expect_here([&] { x.copy_to(y); }, "copy_to: shapes {2, 3} and {4} differ");
  // Devices.
  expect_here([&] { x + x.to(cpu(1)); }, "add: arrays of shapes {2, 3} and {2, 3} lie on cpu(1) and cpu(0)");
  // Making and reading.
  expect_here([&] { x.reshape({4}); }, "reshape: shape {2, 3} with 6 elements cannot become {4}");
  expect_here([&] { NDArray::zeros({2, -1}); }, "zeros: the shape {2, -1} has a negative extent");
  expect_here([&] { x.item<float>(); }, "item: the array of shape {2, 3} has 6 elements, not one");
}

TEST(Errors, ShapesAndTypes) {
  const NDArray x = two_three(), y = NDArray::zeros({4}), whole = NDArray::zeros({2, 3}, i32);
  EXPECT_EQ(error_of([&] { x + whole; }), "add: dtypes f32 and i32 of arrays of shapes {2, 3} and {2, 3} differ: cast one of them");
  EXPECT_EQ(error_of([&] { whole + 0.5; }), "add: 0.5 is no i32");
  EXPECT_EQ(error_of([&] { NDArray::zeros({1}, u8) - 300; }), "sub: 300 is no u8");
  EXPECT_EQ(error_of([&] { NDArray::full({1}, 2, boolean); }), "full: 2 is no bool");
  EXPECT_EQ(error_of([&] { where(x, x, x); }), "where: the condition is f32, not bool");
  EXPECT_EQ(error_of([&] { where(x > 0, x, y); }), "where: shapes {2, 3}, {2, 3} and {4} do not broadcast");
  EXPECT_EQ(error_of([&] { exp(whole); }), "exp: is not defined for i32");
  const std::string own = " without attributes (those with some are functions, such as leaky_relu(x, slope))";
  EXPECT_EQ(error_of([&] { unary("frobnicate", x); }), "frobnicate: there is no such elementwise operation on one array" + own);
  EXPECT_EQ(error_of([&] { unary("reduce_sum", x); }), "reduce_sum: there is no such elementwise operation on one array" + own);
  EXPECT_EQ(error_of([&] { unary("leaky_relu", x); }), "leaky_relu: there is no such elementwise operation on one array" + own);
  EXPECT_EQ(error_of([&] { maximum(1, 2); }), "maximum: one operand at least must be an array");
  EXPECT_EQ(error_of([&] { clip(x, 1, 0); }), "clip: low = 1 is above high = 0");
  EXPECT_EQ(error_of([&] { matmul(x, x); }), "matmul: shapes {2, 3} and {2, 3} do not multiply");
  EXPECT_EQ(error_of([&] { matmul(x, NDArray::zeros({})); }), "matmul: shapes {2, 3} and {} do not multiply");
  EXPECT_EQ(error_of([&] { matmul(x > 0, x > 0); }), "matmul: is not defined for bool");
  EXPECT_EQ(error_of([&] { concat({x, y}); }), "concat: shapes {2, 3} and {4} differ beyond axis 0");
  EXPECT_EQ(error_of([&] { concat({}); }), "concat: no arrays");
  EXPECT_EQ(error_of([&] { stack({x, x.transpose()}); }), "stack: shapes {2, 3} and {3, 2} differ");
  EXPECT_EQ(error_of([&] { split(x, 2, {.axis = 1}); }), "split: axis 1 of shape {2, 3} does not split into 2 equal parts");
  EXPECT_EQ(error_of([&] { tile(x, {2}); }), "tile: 1 numbers for an array of shape {2, 3}");
  EXPECT_EQ(error_of([&] { pad(x, {.before = {1}, .after = {1}}); }), "pad: 1 and 1 numbers for an array of shape {2, 3}");
  EXPECT_EQ(error_of([&] { all(x); }), "all: of f32: it is for bool");
  EXPECT_EQ(error_of([&] { random::uniform({2}, {}, 1, 1); }), "uniform: [1, 1) is empty");
  EXPECT_EQ(error_of([&] { random::normal({2}, {}, 0, -1); }), "normal: the deviation is -1");
  EXPECT_EQ(error_of([&] { random::bernoulli({2}, {}, 2); }), "bernoulli: the probability is 2");
  EXPECT_EQ(error_of([&] { random::uniform({2}, {}, 0, 1, i32); }), "uniform: is not defined for i32");
}

// The operation that the user called is named, not one that it is made of.
TEST(Errors, NamesAreTheUsers) {
  const NDArray x = two_three(), whole = NDArray::zeros({2, 3}, i32);
  const NDArray eight = NDArray::zeros({1, 1, 1, 1, 1, 1, 1, 1});
  EXPECT_EQ(error_of([&] { NDArray::ones({-1}); }), "ones: the shape {-1} has a negative extent");
  EXPECT_EQ(error_of([&] { sort(x, {.axis = 2}); }), "sort: there is no axis 2: the array has 2");
  EXPECT_EQ(error_of([&] { argsort(x, {.axis = 2}); }), "argsort: there is no axis 2: the array has 2");
  EXPECT_EQ(error_of([&] { stack({eight, eight}); }), "stack: arrays of shape {1, 1, 1, 1, 1, 1, 1, 1} cannot have more axes");
  EXPECT_EQ(error_of([&] { whole.fill(0.5); }), "fill: 0.5 is no i32");
  EXPECT_EQ(error_of([&] { x.broadcast_to({2, 2, 3}).fill(0); }), "fill: the array of shape {2, 2, 3} is broadcast: it can only be read");
  EXPECT_EQ(error_of([&] { clip(whole, 0.5, 1); }), "clip: 0.5 is no i32");
  EXPECT_EQ(error_of([&] { clip(x > 0, 0, 1); }), "clip: is not defined for bool");
  EXPECT_EQ(error_of([&] { leaky_relu(whole); }), "leaky_relu: is not defined for i32");
  EXPECT_EQ(error_of([&] { elu(whole); }), "elu: is not defined for i32");
  EXPECT_EQ(error_of([&] { NDArray().flatten(); }), "flatten: the array is empty: nothing was assigned to it, or it was moved from");
  EXPECT_EQ(error_of([&] { topk(x, {.k = -1}); }), "topk: k is -1, but axis 1 has 3 elements");
  EXPECT_EQ(error_of([&] { pad(NDArray::ones({1}), {.before = {INT64_MAX}, .after = {0}}); }), "pad: axis 0 is padded by more than an array can hold");
  const NDArray row = NDArray::ones({1}).broadcast_to({1, int64_t{1} << 40});  // no memory yet
  EXPECT_EQ(error_of([&] { row + row.transpose(); }), "add: the shape {1099511627776, 1099511627776} is too large");
  EXPECT_EQ(error_of([&] { tile(NDArray::ones({4}, u8), {int64_t{1} << 61}); }), "tile: axis 0 of shape {4} repeated 2305843009213693952 times is too large");
  EXPECT_EQ(error_of([&] { x.to(cpu(-1)); }), "to: there is no device cpu(-1)");
  EXPECT_EQ(error_of([&] { scatter(x, NDArray::zeros({1, 3}, i32), NDArray::zeros({1, 3}, i32), {0}); }),
            "scatter: dtypes f32 and i32 of arrays of shapes {1, 3} and {1, 3} differ: cast one of them");
  EXPECT_EQ(error_of([&] { x.transpose().mutable_data<float>(); }), "mutable_data: the array of shape {3, 2} is not contiguous in memory: take contiguous()");
  EXPECT_EQ(error_of([&] { x.mutable_data<int>(); }), "mutable_data: the array of shape {2, 3} is f32, not i32: cast it");
}

// Told when the value is read: the operation that the user called, also where it is a copy or a cast of its operand that finds no memory.
TEST(Errors, NoMemory) {
  const int64_t n = int64_t{1} << 44;  // there is so much address space, but not so much memory
  const NDArray wide = NDArray::ones({1}).broadcast_to({n}), half = NDArray::ones({1}, f16).broadcast_to({n}), bytes = NDArray::ones({1}, u8).broadcast_to({n});
  const NDArray one = NDArray::from({1});
  const struct {
    const char* op;
    std::function<void()> call;
    int element_bytes;
  } cases[] = {
      {"zeros", [&] { NDArray::zeros({n}).wait(); }, 4},
      {"add", [&] { (wide + 1).wait(); }, 4},
      {"mul", [&] { (wide * 2).wait(); }, 4},
      {"copy", [&] { wide.copy().wait(); }, 4},
      {"contiguous", [&] { wide.contiguous().wait(); }, 4},
      {"flatten", [&] { NDArray::ones({2, 1}).broadcast_to({2, n / 2}).flatten().wait(); }, 4},
      {"cast", [&] { wide.cast(f64).wait(); }, 8},
      {"mean", [&] { mean(wide).wait(); }, 4},
      {"sum", [&] { sum(half).wait(); }, 4},
      {"sum", [&] { sum(bytes).wait(); }, 8},
      {"argmax", [&] { argmax(wide).wait(); }, 4},
      {"softmax", [&] { softmax(wide).wait(); }, 4},
      {"sort", [&] { sort(wide).wait(); }, 4},
      {"topk", [&] { topk(wide, {.k = 2}).values.wait(); }, 4},
      {"to_string", [&] { to_string(wide); }, 4},
      {"to_vector", [&] { wide.to_vector<float>(); }, 4},
      {"save", [&] { save("none.npy", wide); }, 4},
      {"concat", [&] { concat({wide}).wait(); }, 4},
      {"scatter", [&] { scatter(wide, one, 1).wait(); }, 4},
      {"one_hot", [&] { one_hot(one, n).wait(); }, 4},
      {"tile", [&] { tile(NDArray::ones({1}), {n}).wait(); }, 4},
      {"pad", [&] { pad(NDArray::ones({1}), {.before = {0}, .after = {n - 1}}).wait(); }, 4},
      {"uniform", [&] { random::uniform({n}, {}).wait(); }, 4},
      {"normal", [&] { random::normal({n}, {}, 0, 1, f16).wait(); }, 4},
  };
  for (const auto& [op, call, element_bytes] : cases) {
    try {
      call();
      ADD_FAILURE() << op;
    } catch (const Error& error) {
      const std::string text = std::string(op) + ": no memory for " + std::to_string(n * element_bytes) + " bytes (called at ";
      EXPECT_EQ(error.message.find(text), 0u) << error.message;
      EXPECT_NE(error.message.find("errors_test.cc:"), std::string::npos) << error.message;
    }
  }
}

// A reshape that has to copy is nothing to write to, unless it has a name.
TEST(Errors, WritingToACopyThatNobodySees) {
  const NDArray x = NDArray::arange(0, 6).reshape({2, 3});
  const std::string lost = "reshape: this one, to {6}, is a copy: what is written to it would be lost";
  expect_here([&] { x.transpose().reshape({6}) = 0; }, lost);
  expect_here([&] { x.transpose().reshape({6}) += 1; }, lost);
  expect_here([&] { x.transpose().flatten() -= 1; }, lost);
  expect_here([&] { x.transpose().reshape({6}) *= 2; }, lost);
  expect_here([&] { x.transpose().reshape({6}) /= 2; }, lost);
  View named = x.transpose().reshape({6});
  named = 5;
  named += 1;
  EXPECT_EQ(doubles(named), std::vector<double>(6, 6));
  x.transpose().reshape({3, 2}) = 7;  // a view
  x.reshape({6}) += 1;
  EXPECT_EQ(doubles(x), std::vector<double>(6, 8));
}

TEST(Errors, TheLineOfTheCallThatFailedLater) {
  const int line = __LINE__ + 1;
  const NDArray bad = take(two_three(), NDArray::from({7}));
  try {
    bad.wait();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.message.find("take: index 7 at {0} is outside of an axis of 2 (called at "), 0u) << error.message;
    EXPECT_NE(error.message.find("errors_test.cc:" + std::to_string(line) + ":"), std::string::npos) << error.message;
    EXPECT_EQ(error.where.line(), static_cast<unsigned>(line) + 2);
  }
}

TEST(Errors, NoIndices) {
  const NDArray x = two_three();
  EXPECT_EQ(doubles(scatter(x, NDArray::zeros({2, 0}, i32), 5)), std::vector<double>(6, 0));
  EXPECT_EQ(doubles(scatter(x, NDArray::zeros({2, 0}, i64), NDArray::zeros({2, 0}), {1})), std::vector<double>(6, 0));
  NDArray::zeros({0, 3}).broadcast_to({2, 0, 3}).fill(1);
}

TEST(Errors, Assignments) {
  const NDArray x = two_three(), y = NDArray::zeros({4});
  EXPECT_EQ(error_of([&] { x.assign(y); }), "assign: shapes {2, 3} and {4} do not broadcast");
  EXPECT_EQ(error_of([&] { x[0].assign(x); }), "assign: an array of shape {2, 3} does not fit into {3}");
  EXPECT_EQ(error_of([&] { x[0] = y; }), "assign: shapes {3} and {4} do not broadcast");
  EXPECT_EQ(error_of([&] { x[0] += x; }), "add: a result of shape {2, 3} does not fit into {3}");
  EXPECT_EQ(error_of([&] { x.assign(x.cast(i32)); }), "assign: dtypes f32 and i32 of arrays of shapes {2, 3} and {2, 3} differ: cast one of them");
  EXPECT_EQ(error_of([&] { x.copy_to(y); }), "copy_to: shapes {2, 3} and {4} differ");
  EXPECT_EQ(error_of([&] { x + x.to(cpu(1)); }), "add: arrays of shapes {2, 3} and {2, 3} lie on cpu(1) and cpu(0)");
}

TEST(Errors, IndicesAndAxes) {
  const NDArray x = two_three();
  EXPECT_EQ(error_of([&] { x[2]; }), "[]: index 2 is outside of axis 0 of shape {2, 3}");
  EXPECT_EQ(error_of([&] { x[-3]; }), "[]: index -3 is outside of axis 0 of shape {2, 3}");
  EXPECT_EQ(error_of([&] { NDArray::zeros({})[0]; }), "[]: the array has no axes");
  EXPECT_EQ(error_of([&] { x.at({0, 3}); }), "at: index 3 is outside of axis 1 of shape {2, 3}");
  EXPECT_EQ(error_of([&] { x.at({0, 0, 0}); }), "at: 3 indices for an array of shape {2, 3}");
  EXPECT_EQ(error_of([&] { x.slice(2, 0, 1); }), "slice: there is no axis 2: the array has 2");
  EXPECT_EQ(error_of([&] { x.slice(0, 0, 1, 0); }), "slice: the step is 0: at least 1");
  EXPECT_EQ(error_of([&] { x.reshape({4}); }), "reshape: shape {2, 3} with 6 elements cannot become {4}");
  EXPECT_EQ(error_of([&] { x.reshape({-1, 4}); }), "reshape: shape {2, 3} with 6 elements cannot become {-1, 4}");
  EXPECT_EQ(error_of([&] { x.reshape({-1, -1}); }), "reshape: shape {2, 3} with 6 elements cannot become {-1, -1}");
  EXPECT_EQ(error_of([&] { x.transpose({0}); }), "transpose: 1 axes for an array of shape {2, 3}");
  EXPECT_EQ(error_of([&] { x.transpose({0, 0}); }), "transpose: axis 0 is there twice");
  EXPECT_EQ(error_of([&] { x.squeeze(0); }), "squeeze: axis 0 of shape {2, 3} has more than one element");
  EXPECT_EQ(error_of([&] { x.broadcast_to({2, 4}); }), "broadcast_to: shape {2, 3} does not broadcast to {2, 4}");
  EXPECT_EQ(error_of([&] { sum(x, {.axes = {0, -2}}); }), "sum: axis 0 is there twice");
  EXPECT_EQ(error_of([&] { softmax(x, {.axis = 5}); }), "softmax: there is no axis 5: the array has 2");
  EXPECT_EQ(error_of([&] { topk(x, {.k = 4}); }), "topk: k is 4, but axis 1 has 3 elements");
  EXPECT_EQ(error_of([&] { take(x, x); }), "take: the indices are f32, not i32 or i64");
  EXPECT_EQ(error_of([&] { gather(x, NDArray::zeros({3, 3}, i64)); }), "gather: shapes {2, 3} and {3, 3} differ beyond axis 1");
  EXPECT_EQ(error_of([&] { one_hot(NDArray::zeros({1}, i64), 0); }), "one_hot: depth is 0: at least 1");
}

TEST(Errors, Reading) {
  const NDArray x = two_three();
  EXPECT_EQ(error_of([&] { x.item<float>(); }), "item: the array of shape {2, 3} has 6 elements, not one");
  EXPECT_EQ(error_of([&] { x[0][0].item<int>(); }), "item: a whole number of a f32: ask for a float, or cast the array");
  const NDArray large = NDArray::full({}, 300, i32), negative = NDArray::full({}, -2, i64);
  EXPECT_EQ(error_of([&] { large.item<int8_t>(); }), "item: 300 is not in [-128, 127], which the type that was asked for holds");
  EXPECT_EQ(error_of([&] { large.item<bool>(); }), "item: 300 is not in [0, 1], which the type that was asked for holds");
  EXPECT_EQ(error_of([&] { negative.item<uint64_t>(); }), "item: -2 is not in [0, 9223372036854775807], which the type that was asked for holds");
  EXPECT_EQ(large.item<uint16_t>(), 300);
  EXPECT_EQ(negative.item<int8_t>(), -2);
  EXPECT_EQ(NDArray::full({}, INT64_MAX, i64).item<uint64_t>(), uint64_t{INT64_MAX});
  EXPECT_EQ(large.item<float>(), 300);
  EXPECT_EQ(error_of([&] { x.to_vector<double>(); }), "to_vector: the array of shape {2, 3} is f32, not f64: cast it");
  EXPECT_EQ(error_of([&] { x.transpose().data<float>(); }), "data: the array of shape {3, 2} is not contiguous in memory: take contiguous()");
}

TEST(Errors, EmptyAndMovedFromHandles) {
  NDArray x = NDArray::zeros({2}), none;
  NDArray taken = std::move(x);
  EXPECT_TRUE(x.empty());
  const std::string text = ": the array is empty: nothing was assigned to it, or it was moved from";
  EXPECT_EQ(error_of([&] { x + taken; }), "add" + text);
  EXPECT_EQ(error_of([&] { taken *= none; }), "mul" + text);
  EXPECT_EQ(error_of([&] { x.shape(); }), "shape" + text);
  EXPECT_EQ(error_of([&] { x[0]; }), "[]" + text);
  EXPECT_EQ(error_of([&] { none.to_vector<float>(); }), "to_vector" + text);
  EXPECT_EQ(error_of([&] { none.wait(); }), "wait" + text);
  EXPECT_EQ(error_of([&] { to_string(none); }), "to_string" + text);
  EXPECT_EQ(error_of([&] { sum(none); }), "sum" + text);
  EXPECT_EQ(error_of([&] { matmul(none, taken); }), "matmul" + text);
  EXPECT_EQ(error_of([&] { concat({taken, none}); }), "concat" + text);
  EXPECT_EQ(error_of([&] { sort(none); }), "sort" + text);
  EXPECT_EQ(error_of([&] { exp(none); }), "exp" + text);
}

TEST(Errors, Making) {
  EXPECT_EQ(error_of([&] { NDArray::zeros({2, -1}); }), "zeros: the shape {2, -1} has a negative extent");
  EXPECT_EQ(error_of([&] { NDArray::zeros({1, 1, 1, 1, 1, 1, 1, 1, 1}); }), "zeros: the shape has 9 axes: at most 8 are possible");
  EXPECT_EQ(error_of([&] { NDArray::zeros({int64_t{1} << 40, int64_t{1} << 40}); }), "zeros: the shape {1099511627776, 1099511627776} is too large");
  EXPECT_EQ(error_of([&] { NDArray::from(std::vector<float>{1, 2}, {3}); }), "from: 2 values do not fill the shape {3}");
  EXPECT_EQ(error_of([&] { NDArray::from({{1, 2}, {3}}); }), "from: rows of different lengths");
  EXPECT_EQ(error_of([&] { NDArray::arange(0, 1, 0); }), "arange: from 0 to 1 by 0 is no range");
}

}  // namespace
}  // namespace mxc

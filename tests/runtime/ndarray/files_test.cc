// Arrays in files: what was saved is loaded; what is wrong is said.
#include <gtest/gtest.h>

#include <fstream>

#include "tests/runtime/ndarray/expected.h"

namespace mxc {
namespace {

std::string file(const std::string& name) { return testing::TempDir() + "ndarray_files_" + name; }

TEST(Files, EveryTypeGoesThroughEveryFormat) {
  for (DType dtype : {f32, f64, f16, bf16, i8, u8, i32, i64, boolean}) {
    const NDArray x = NDArray::from({{0, 1, 2}, {3, 4, 5}}).cast(dtype), scalar = NDArray::full({}, 1, dtype);
    save(file("a.safetensors"), {{"x", x}, {"s", scalar}});
    const NDArray back = NDArray::load(file("a.safetensors"), "x");
    EXPECT_EQ(back.dtype(), dtype);
    expect_near(back, x, 0, to_string(dtype));
    if (dtype == bf16) continue;  // NumPy has none
    save(file("a.npz"), {{"x", x}, {"s", scalar}});
    save(file("a.npy"), x);
    for (const NDArray& loaded : {NDArray::load(file("a.npz"), "x"), NDArray::load(file("a.npy"))}) {
      EXPECT_EQ(loaded.dtype(), dtype);
      expect_near(loaded, x, 0, to_string(dtype));
    }
    EXPECT_EQ(NDArray::load(file("a.npz"), "s").shape(), Extents{});
  }
}

TEST(Files, ViewsAreSavedAsTheyLook) {
  save(file("t.npy"), NDArray::from({{1, 2}, {3, 4}}).transpose());
  EXPECT_EQ(NDArray::load(file("t.npy")).to_vector<int32_t>(), (std::vector<int32_t>{1, 3, 2, 4}));
}

TEST(Files, AllArraysInTheirOrder) {
  save(file("two.npz"), {{"b", NDArray::ones({1})}, {"a", NDArray::zeros({2})}});
  const NamedArrays arrays = load_arrays(file("two.npz"));
  ASSERT_EQ(arrays.size(), 2u);
  EXPECT_EQ(arrays[0].first, "b");
  EXPECT_EQ(arrays[1].second.shape(), (Extents{2}));
}

TEST(Files, WrongUse) {
  const NDArray x = NDArray::ones({2});
  const std::string two = file("two.npz"), one = file("one.npz"), none = file("none.npz");
  save(two, {{"b", x}, {"a", x}});
  save(one, {{"x", x}});
  EXPECT_EQ(NDArray::load(one).to_vector<float>(), (std::vector<float>{1, 1}));
  EXPECT_EQ(error_of([&] { NDArray::load(none); }), "load: " + none + ": No such file or directory");
  EXPECT_EQ(error_of([&] { NDArray::load(two, "c"); }), "load: " + two + ": no array 'c'; there are 'b', 'a'");
  EXPECT_EQ(error_of([&] { NDArray::load(two); }), "load: " + two + ": several arrays, and no name was given; there are 'b', 'a'");
  EXPECT_EQ(error_of([&] { NDArray::load("x.txt"); }), "load: x.txt: the name must end with .npz or .safetensors (.npy: NDArray::load)");
  save(file("x.npy"), x);
  EXPECT_EQ(error_of([&] { NDArray::load(file("x.npy"), "w"); }), "load: " + file("x.npy") + ": its array has no name, such as 'w'");
  EXPECT_EQ(error_of([&] { save("x.npz", x); }), "save: x.npz: one array without a name is saved as .npy");
  EXPECT_EQ(error_of([&] { save("x.npy", {{"x", x}}); }), "save: x.npy: named arrays are saved as .npz or .safetensors");
  EXPECT_EQ(error_of([&] { save(file("d.npz"), {{"x", x}, {"x", x}}); }), "save: " + file("d.npz") + ": two arrays are called 'x'");
  EXPECT_EQ(error_of([&] { save(file("d.npz"), {{"", x}}); }), "save: " + file("d.npz") + ": an array without a name");
  EXPECT_EQ(error_of([&] { save(file("b.npy"), x.cast(bf16)); }),
            "save: " + file("b.npy") + ": NumPy's formats have no bf16: cast to f32, or save as .safetensors");
  EXPECT_NE(error_of([&] { save("/nowhere/at/all.npy", x); }).find("No such file or directory"), std::string::npos);
  std::ofstream(file("short.npy")) << "no array";
  EXPECT_EQ(error_of([&] { NDArray::load(file("short.npy")); }), "load: " + file("short.npy") + ": byte 0: wrong magic, this is no NPY array");
}

}  // namespace
}  // namespace mxc

// Expected values: what NumPy computed (make_expected.py), and comparisons with them.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "mxc/ndarray.h"
#include "tests/runtime/error_line.h"

namespace mxc {

// An array of expected.npz.
inline const NDArray& stored(const std::string& name) {
  static const auto* arrays = [] {
    auto* map = new std::map<std::string, NDArray>;
    for (auto& [key, array] : load_arrays(MXC_NDARRAY_EXPECTED)) (*map)[key] = array;
    return map;
  }();
  auto found = arrays->find(name);
  if (found == arrays->end()) throw std::runtime_error("expected.npz has no " + name);
  return found->second;
}

inline std::vector<double> doubles(const NDArray& x) { return x.cast(f64).to_vector<double>(); }

// The same shape, and each element within `tolerance` of the expected one, relative to its magnitude or to 0.1 if that is less.
inline void expect_near(const NDArray& x, const NDArray& expected, double tolerance, const std::string& what) {
  ASSERT_EQ(x.shape(), expected.shape()) << what;
  const std::vector<double> got = doubles(x), want = doubles(expected);
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(want[i])) {
      ASSERT_TRUE(std::isnan(got[i])) << what << " element " << i;
    } else {
      ASSERT_LE(std::fabs(got[i] - want[i]), tolerance * std::max(std::fabs(want[i]), 1e-1)) << what << " element " << i << ": " << got[i] << " not " << want[i];
    }
  }
}
// Within a few roundings of f32.
inline void expect_close(const NDArray& x, const std::string& name) { expect_near(x, stored(name), 2e-6, name); }
// Exactly, of the same dtype.
inline void expect_same(const NDArray& x, const std::string& name) {
  EXPECT_EQ(to_string(x.dtype()), std::string(to_string(stored(name).dtype()))) << name;
  expect_near(x, stored(name), 0, name);
}

// The text of the error that a call throws, without places; "no error" if it throws none.
template <typename Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return without_call(error.message);
  }
  return "no error";
}

}  // namespace mxc

// What the tests of the data sources share: requests of a model and shorthand for reading.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/io/sources.h"
#include "tests/runtime/temp_dir.h"

namespace mxc::io {

inline Field floats(const std::string& name, std::vector<int64_t> shape) {
  return {name, plan::DType::f32, std::move(shape), 0, false};
}
inline Field classes(const std::string& name, int64_t bound) { return {name, plan::DType::i32, {}, bound, false}; }

template <typename T>
std::vector<T> read_rows(const Dataset& data, const std::string& field, const std::vector<int64_t>& rows) {
  const int index = data.find(field);
  if (index < 0) return {};
  std::vector<T> out(rows.size() * data.fields()[index].elements());
  EXPECT_TRUE(data.read(index, rows.data(), static_cast<int64_t>(rows.size()), out.data()).ok());
  return out;
}

// The one-line error of opening an address; empty if it opens.
inline std::string error_of(const std::string& address, const std::vector<Field>& inputs) {
  const auto opened = open_data(address, inputs);
  if (opened.ok()) return "";
  const std::string text(opened.status().message());
  EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  return text;
}

}  // namespace mxc::io

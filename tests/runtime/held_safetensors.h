// A safetensors file with all of its tensors' bytes in memory.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "runtime/io/safetensors.h"

namespace mxc::test {

inline absl::StatusOr<io::TensorFile> read_held(const std::string& path) {
  absl::StatusOr<io::TensorFile> file = io::read_safetensors(path);
  if (!file.ok()) return file;
  for (io::Tensor& tensor : file->tensors) EXPECT_TRUE(tensor.hold().ok()) << tensor.name;
  return file;
}

}  // namespace mxc::test

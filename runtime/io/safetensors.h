// The safetensors format: named tensors, plain row-major, little-endian, with a table of strings beside them.
//
//     u64 length of the header | header: JSON | bytes of the tensors
//     {"__metadata__": {"step": "12"}, "w": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...}
//
// Offsets count from the end of the header; the tensors' ranges must cover the data without gap or overlap.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/core/plan.h"

namespace mxc::io {

struct Tensor {
  std::string name;
  plan::DType dtype = plan::DType::f32;
  std::vector<int64_t> shape;
  // The bytes; or none, and `read` puts `size` of them from `begin` on at `out`: so no more than a part of a large tensor is held at a time.
  // `begin` is a multiple of `part`, and so is `size` unless it reaches the end.
  std::string bytes;
  std::function<absl::Status(uint64_t begin, uint64_t size, void* out)> read = nullptr;
  uint64_t part = 1;

  uint64_t size() const;  // bytes that dtype and shape say
  absl::Status get(uint64_t begin, uint64_t size, void* out) const;
  absl::Status hold();  // reads all of them into `bytes`
};

struct TensorFile {
  std::map<std::string, std::string> metadata;
  std::vector<Tensor> tensors;

  const Tensor* find(const std::string& name) const;
};

// The file stays open as long as one of its tensors lives, and is read by them (`Tensor::read`, any parts).
// Error: cannot be opened; a length, name, dtype, shape or range that is wrong, missing, doubled or overlapping; truncated.
absl::StatusOr<TensorFile> read_safetensors(const std::string& path);

// Writes atomically (atomic_file.h), the tensors in the given order, metadata sorted by key: same contents, same bytes.
// Error: a name that appears twice or is "__metadata__"; the file cannot be written; of `read`. Requires: bytes have the size that dtype
// and shape say, or are read.
absl::Status write_safetensors(const std::string& path, const TensorFile& file);

}  // namespace mxc::io

// NumPy's formats: an NPY array (header text plus raw numbers) and an NPZ archive, a zip file of them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/core/plan.h"

namespace mxc::io {

struct NpyArray {
  plan::DType dtype = plan::DType::f32;
  std::vector<int64_t> shape;
  std::string bytes;  // row-major, little-endian
};

// Reads NPY version 1, 2 or 3; arrays in Fortran's order and big-endian ones are turned into row-major, little-endian. `place` names the data in
// errors. Error: wrong magic, damaged header, another type than f32 f64 f16 i8 u8 bool i32 i64, truncated.
absl::StatusOr<NpyArray> parse_npy(const std::string& bytes, const std::string& place);

// An array of an archive. An error (unimplemented) if it is of a kind that is not read.
struct NpzEntry {
  std::string name;  // without ".npy"
  absl::StatusOr<NpyArray> array;
};

// The arrays of an archive in its own order; other files in it are left out. Error: the archive or an array is damaged, two arrays have one name.
absl::StatusOr<std::vector<NpzEntry>> read_npz_entries(const std::string& path);

// The arrays of an archive, all of them or an error, names without ".npy". Entries may be stored or deflated; checksums are checked.
absl::StatusOr<std::vector<std::pair<std::string, NpyArray>>> read_npz(const std::string& path);

// The bytes of an NPY (version 1) file and of an archive of stored entries, dated 1980-01-01: same arrays, same bytes.
// Requires: no bf16, which NumPy does not have; of an archive: less than 4 GiB in all.
std::string npy_bytes(const NpyArray& array);
// Error: a name that is no UTF-8 or too long, more arrays than an archive can hold: `path` names it.
absl::StatusOr<std::string> npz_bytes(const std::vector<std::pair<std::string, NpyArray>>& arrays, const std::string& path);

}  // namespace mxc::io

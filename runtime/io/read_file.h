// Whole files into memory, gzip unpacked by content and not by name.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace mxc::io {

// The bytes of a file. Error: `path: No such file or directory` and its like.
absl::StatusOr<std::string> read_file(const std::string& path);

// The same; contents that start with the gzip magic are unpacked.
// Zeros after the end are padding. Error: `path: byte N: compressed data end early` or `... are damaged`.
absl::StatusOr<std::string> read_file_unpacked(const std::string& path);

// Raw deflate data (no gzip or zlib header) of a known unpacked size. `place` names the data in errors.
absl::StatusOr<std::string> inflate_raw(const char* data, uint64_t bytes, uint64_t unpacked_bytes, const std::string& place);

bool file_exists(const std::string& path);

}  // namespace mxc::io

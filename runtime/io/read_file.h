// Whole files into memory, gzip unpacked by content and not by name.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace mxc::io {

// The bytes of a file. Error: `path: No such file or directory` and its like.
absl::StatusOr<std::string> read_file(const std::string& path);

// The same; contents that start with the gzip magic are unpacked.
// Zeros after the end are padding. Error: `path: byte N: compressed data end early` or `... are damaged`.
absl::StatusOr<std::string> read_file_unpacked(const std::string& path);

// A file that stays open to be read in places; what is no regular file (a pipe) is read whole at once. Several threads may read.
class OpenFile {
 public:
  static absl::StatusOr<std::shared_ptr<const OpenFile>> open(const std::string& path);
  ~OpenFile();

  uint64_t size() const { return size_; }  // when it was opened
  // Puts bytes [begin, begin + size) at `out`. Error: `path: byte N: the file ends early`, or the system's.
  absl::Status read(uint64_t begin, uint64_t size, void* out) const;

 private:
  OpenFile() = default;
  std::string path_;
  int file_ = -1;
  uint64_t size_ = 0;
  std::string contents_;  // if it has no file
};

// Raw deflate data (no gzip or zlib header) of a known unpacked size. `place` names the data in errors.
absl::StatusOr<std::string> inflate_raw(const char* data, uint64_t bytes, uint64_t unpacked_bytes, const std::string& place);

bool file_exists(const std::string& path);

}  // namespace mxc::io

// Files that appear whole or not at all: the bytes go to a temporary file in the same directory, are forced to disk, and the
// temporary then takes the final name. If anything fails the temporary is removed and a file of that name stays as it was.
// The file that was there hands on its permissions. A symbolic link stays and its target is replaced; a device, a pipe or the like is written as it is.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace mxc::io {

struct Piece {
  const void* data;
  uint64_t bytes;
  std::function<absl::Status(void* out)> make = nullptr;  // data null: makes the bytes when their turn comes; then they are forgotten
};

// Writes the pieces one after another. Error: `path: No space left on device` and its like, or what `make` says; nothing is left behind.
absl::Status write_file_atomically(const std::string& path, const std::vector<Piece>& pieces);

// An error if a file of this name could not be written now: it is a directory, or its own directory is missing or not writable.
absl::Status check_writable(const std::string& path);

}  // namespace mxc::io

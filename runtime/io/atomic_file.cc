// See atomic_file.h.
#include "runtime/io/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace mxc::io {
namespace {

std::string directory_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

bool write_all(int file, const Piece& piece) {
  const char* data = static_cast<const char*>(piece.data);
  uint64_t left = piece.bytes;
  while (left > 0) {
    const ssize_t wrote = write(file, data, std::min<uint64_t>(left, 1u << 30));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    data += wrote;
    left -= static_cast<uint64_t>(wrote);
  }
  return true;
}

// Makes the new name itself durable. A file system that cannot sync directories keeps its own promises.
void sync_directory(const std::string& path) {
  const int directory = open(directory_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return;
  fsync(directory);
  close(directory);
}

}  // namespace

absl::Status write_file_atomically(const std::string& path, const std::vector<Piece>& pieces) {
  const std::string temporary = absl::StrCat(path, ".", getpid(), ".part");
  const int file = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return absl::InvalidArgumentError(absl::StrCat(path, ": cannot write: ", std::strerror(errno)));
  bool good = true;
  for (const Piece& piece : pieces) good = good && write_all(file, piece);
  good = good && fsync(file) == 0;
  int reason = errno;
  const bool closed = close(file) == 0;
  if (good && !closed) reason = errno;
  good = good && closed;
  if (good && std::rename(temporary.c_str(), path.c_str()) == 0) {
    sync_directory(path);
    return absl::OkStatus();
  }
  if (good) reason = errno;
  unlink(temporary.c_str());
  return absl::InvalidArgumentError(absl::StrCat(path, ": cannot write: ", std::strerror(reason), "; nothing was changed"));
}

absl::Status check_writable(const std::string& path) {
  const std::string directory = directory_of(path);
  if (access(directory.c_str(), W_OK | X_OK) == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(path, ": cannot write: ", std::strerror(errno)));
}

}  // namespace mxc::io

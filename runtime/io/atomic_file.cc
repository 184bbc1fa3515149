// See atomic_file.h.
#include "runtime/io/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace mxc::io {
namespace {

std::string directory_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

absl::Status cannot_write(const std::string& path, int reason, const char* more = "") {
  return absl::InvalidArgumentError(absl::StrCat(path, ": cannot write: ", std::strerror(reason), more));
}

// Where the bytes for a path go.
struct Target {
  std::string path;
  bool special = false;     // a device, pipe or socket: it is written as it is
  std::optional<mode_t> mode;  // permissions of the file that is there
};

// Follows links, one whose target is not there yet included.
absl::StatusOr<Target> find_target(const std::string& path) {
  constexpr int kMostLinks = 40;  // as Linux follows
  struct stat info;
  const bool there = stat(path.c_str(), &info) == 0;
  if (there && S_ISDIR(info.st_mode)) return cannot_write(path, EISDIR);
  if (there && !S_ISREG(info.st_mode)) return Target{path, true, std::nullopt};
  std::string at = path;
  for (int links = 0; links <= kMostLinks; ++links) {
    char text[PATH_MAX];
    const ssize_t length = readlink(at.c_str(), text, sizeof text);
    if (length < 0) return Target{at, false, there ? std::optional<mode_t>(info.st_mode & 0777) : std::nullopt};  // a file, or nothing yet
    const std::string next(text, static_cast<size_t>(length));
    at = next[0] == '/' ? next : absl::StrCat(directory_of(at), "/", next);
  }
  return cannot_write(path, ELOOP);
}

absl::Status write_all(int file, const std::vector<Piece>& pieces, const std::string& path, const char* more) {
  std::vector<char> made;
  for (const Piece& piece : pieces) {
    if (piece.make != nullptr) {
      made.resize(std::max<size_t>(made.size(), piece.bytes));
      if (absl::Status status = piece.make(made.data()); !status.ok()) return status;
    }
    const char* data = piece.make != nullptr ? made.data() : static_cast<const char*>(piece.data);
    uint64_t left = piece.bytes;
    while (left > 0) {
      const ssize_t wrote = write(file, data, std::min<uint64_t>(left, 1u << 30));
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote <= 0) return cannot_write(path, errno, more);
      data += wrote;
      left -= static_cast<uint64_t>(wrote);
    }
  }
  return absl::OkStatus();
}

// Makes the new name itself durable. A file system that cannot sync directories keeps its own promises.
void sync_directory(const std::string& path) {
  const int directory = open(directory_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return;
  fsync(directory);
  close(directory);
}

absl::Status write_special(const std::string& path, const std::vector<Piece>& pieces) {
  const int file = open(path.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC);
  if (file < 0) return cannot_write(path, errno);
  absl::Status status = write_all(file, pieces, path, "");
  close(file);
  return status;
}

}  // namespace

absl::Status write_file_atomically(const std::string& path, const std::vector<Piece>& pieces) {
  const auto target = find_target(path);
  if (!target.ok()) return target.status();
  if (target->special) return write_special(path, pieces);
  const std::string temporary = absl::StrCat(target->path, ".", getpid(), ".part");
  const int file = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return cannot_write(path, errno);
  const char* unchanged = "; nothing was changed";
  absl::Status status = write_all(file, pieces, path, unchanged);
  const auto check = [&](bool good) {
    if (status.ok() && !good) status = cannot_write(path, errno, unchanged);
  };
  check(!target->mode.has_value() || fchmod(file, *target->mode) == 0);
  check(!status.ok() || fsync(file) == 0);
  check(close(file) == 0);
  check(!status.ok() || std::rename(temporary.c_str(), target->path.c_str()) == 0);
  if (status.ok()) {
    sync_directory(target->path);
  } else {
    unlink(temporary.c_str());
  }
  return status;
}

absl::Status check_writable(const std::string& path) {
  const auto target = find_target(path);
  if (!target.ok()) return target.status();
  // The slash: what is there must be a directory.
  const std::string place = target->special ? path : directory_of(target->path) + "/";
  return access(place.c_str(), target->special ? W_OK : W_OK | X_OK) == 0 ? absl::OkStatus() : cannot_write(path, errno);
}

}  // namespace mxc::io

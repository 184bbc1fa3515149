// See read_file.h. Unpacking is zlib's.
#include "runtime/io/read_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace mxc::io {
namespace {

constexpr int kGzipWindow = 15 + 16;  // zlib: largest window, gzip header
constexpr int kRawWindow = -15;       // zlib: largest window, no header

absl::Status system_error(const std::string& path) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", std::strerror(errno)));
}

// Unpacks one or several concatenated streams. Zeros after the last gzip stream are padding, as gzip takes them (tapes, blocks).
absl::StatusOr<std::string> unpack(const char* data, uint64_t bytes, int window, uint64_t size_hint, const std::string& place) {
  z_stream stream{};
  if (inflateInit2(&stream, window) != Z_OK) return absl::InternalError(absl::StrCat(place, ": zlib cannot start"));
  std::string out;
  out.resize(std::max<uint64_t>(size_hint, 4096));
  uint64_t used = 0, made = 0;
  int code = Z_OK;
  while (true) {
    if (made == out.size()) out.resize(out.size() * 2);
    const uint64_t feed = std::min<uint64_t>(bytes - used, 1u << 30);
    const uint64_t room = std::min<uint64_t>(out.size() - made, 1u << 30);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data + used));
    stream.avail_in = static_cast<uInt>(feed);
    stream.next_out = reinterpret_cast<Bytef*>(&out[made]);
    stream.avail_out = static_cast<uInt>(room);
    code = inflate(&stream, Z_NO_FLUSH);
    used += feed - stream.avail_in;
    made += room - stream.avail_out;
    const bool at_end = used == bytes;
    if (code == Z_STREAM_END && !at_end && window == kGzipWindow) {
      if (std::all_of(data + used, data + bytes, [](char byte) { return byte == 0; })) break;
      code = inflateReset(&stream);
      continue;
    }
    if (code == Z_STREAM_END || (code != Z_OK && code != Z_BUF_ERROR)) break;
    if (at_end && stream.avail_out != 0) break;
  }
  inflateEnd(&stream);
  if (code == Z_OK || code == Z_BUF_ERROR) {
    return absl::InvalidArgumentError(absl::StrCat(place, ": byte ", used, ": compressed data end early"));
  }
  if (code != Z_STREAM_END)
    return absl::InvalidArgumentError(absl::StrCat(place, ": byte ", used, ": compressed data are damaged"));
  out.resize(made);
  return out;
}

}  // namespace

bool file_exists(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0;
}

absl::StatusOr<std::shared_ptr<const OpenFile>> OpenFile::open(const std::string& path) {
  std::shared_ptr<OpenFile> opened(new OpenFile);
  opened->path_ = path;
  struct stat info;
  if (stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    auto contents = read_file(path);
    if (!contents.ok()) return contents.status();
    opened->contents_ = *std::move(contents);
    opened->size_ = opened->contents_.size();
    return opened;
  }
  opened->file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (opened->file_ < 0 || fstat(opened->file_, &info) != 0) return system_error(path);
  opened->size_ = static_cast<uint64_t>(info.st_size);
  return opened;
}

OpenFile::~OpenFile() {
  if (file_ >= 0) close(file_);
}

absl::Status OpenFile::read(uint64_t begin, uint64_t size, void* out) const {
  if (file_ < 0 && begin + size <= size_) {
    std::memcpy(out, contents_.data() + begin, size);
    return absl::OkStatus();
  }
  for (uint64_t made = 0; made < size;) {
    const ssize_t got = file_ < 0 ? 0 : pread(file_, static_cast<char*>(out) + made, size - made, static_cast<off_t>(begin + made));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error(path_);
    if (got == 0) return absl::InvalidArgumentError(absl::StrCat(path_, ": byte ", begin + made, ": the file ends early"));
    made += static_cast<uint64_t>(got);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> read_file(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return system_error(path);
  struct stat info;
  std::string out;
  if (fstat(file, &info) == 0 && info.st_size > 0) out.reserve(static_cast<size_t>(info.st_size) + 1);
  size_t made = 0;
  while (true) {
    if (made == out.size()) out.resize(std::max<size_t>({out.capacity(), made + 65536}));
    const ssize_t got = read(file, &out[made], out.size() - made);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      const absl::Status status = system_error(path);
      close(file);
      return status;
    }
    if (got == 0) break;
    made += static_cast<size_t>(got);
  }
  close(file);
  out.resize(made);
  return out;
}

absl::StatusOr<std::string> read_file_unpacked(const std::string& path) {
  auto bytes = read_file(path);
  if (!bytes.ok() || bytes->size() < 2 || (*bytes)[0] != '\x1f' || (*bytes)[1] != '\x8b') return bytes;
  return unpack(bytes->data(), bytes->size(), kGzipWindow, bytes->size() * 4, path);
}

absl::StatusOr<std::string> inflate_raw(const char* data, uint64_t bytes, uint64_t unpacked_bytes, const std::string& place) {
  // deflate shrinks at most about 1032 times, so that a false size in a header cannot reserve memory at will.
  if (unpacked_bytes / 1040 > bytes + 1) return absl::InvalidArgumentError(absl::StrCat(place, ": the stated size is impossible"));
  auto out = unpack(data, bytes, kRawWindow, unpacked_bytes + 1, place);
  if (out.ok() && out->size() != unpacked_bytes) {
    return absl::InvalidArgumentError(absl::StrCat(place, ": unpacks to ", out->size(), " bytes, not ", unpacked_bytes));
  }
  return out;
}

}  // namespace mxc::io

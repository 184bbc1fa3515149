// See keys.h.
#include "runtime/kv/keys.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/kv/zeromq_library.h"

namespace mxc::kv {

namespace {

constexpr size_t kKeyLength = 40;
constexpr size_t kMostBytes = 256;

// A file that is closed in the end.
struct File {
  int number = -1;
  ~File() {
    if (number >= 0) ::close(number);
  }
};

absl::Status failed(const char* what, const std::string& path) {
  return absl::InvalidArgumentError(absl::StrCat("cannot ", what, " the keys in ", path, ": ", ::strerror(errno)));
}

bool is_key(absl::string_view text) {
  return text.size() == kKeyLength && text.find_first_of(" \t\r\n") == absl::string_view::npos;
}

}  // namespace

absl::StatusOr<JobKeys> make_keys() {
  absl::StatusOr<const ZeroMq*> zmq = ZeroMq::load();
  if (!zmq.ok()) return zmq.status();
  char public_key[kKeyLength + 1] = {}, secret_key[kKeyLength + 1] = {};
  if ((*zmq)->curve_keypair(public_key, secret_key) != 0)
    return absl::UnimplementedError("this machine's libzmq was built without CURVE");
  return JobKeys{public_key, secret_key};
}

absl::Status write_keys(const std::string& path, const JobKeys& keys) {
  File file{::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)};
  if (file.number < 0) return failed("write", path);
  const std::string text = absl::StrCat("public ", keys.public_key, "\nsecret ", keys.secret_key, "\n");
  if (::write(file.number, text.data(), text.size()) != static_cast<ssize_t>(text.size())) return failed("write", path);
  return absl::OkStatus();
}

absl::StatusOr<JobKeys> read_keys(const std::string& path) {
  File file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  struct stat facts {};
  if (file.number < 0 || ::fstat(file.number, &facts) != 0) return failed("read", path);
  if ((facts.st_mode & 077) != 0)
    return absl::InvalidArgumentError(absl::StrCat("the keys in ", path, " may be read by others than their owner: chmod 600 it"));
  std::string text(kMostBytes, '\0');
  const ssize_t read = ::read(file.number, text.data(), text.size());
  if (read < 0) return failed("read", path);
  text.resize(static_cast<size_t>(read));
  JobKeys keys;
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> words = absl::StrSplit(line, absl::MaxSplits(' ', 1));
    if (words.first == "public" && is_key(words.second)) keys.public_key = std::string(words.second);
    if (words.first == "secret" && is_key(words.second)) keys.secret_key = std::string(words.second);
  }
  if (keys.public_key.empty() || keys.secret_key.empty())
    return absl::InvalidArgumentError(absl::StrCat(path, " is no file of keys: it has no line 'public KEY' and 'secret KEY'"));
  return keys;
}

}  // namespace mxc::kv

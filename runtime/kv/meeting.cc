// See meeting.h.
#include "runtime/kv/meeting.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace mxc::kv {

namespace {

constexpr char kWord[] = "scheduler ";  // before the address, in a line of its own
constexpr size_t kMostBytes = 4096;
constexpr Duration kLook = std::chrono::milliseconds(20);

absl::Status failed(const char* what, const std::string& path) {
  return absl::InvalidArgumentError(absl::StrCat("cannot ", what, " ", path, ": ", ::strerror(errno)));
}

}  // namespace

absl::StatusOr<std::string> private_folder(const std::string& below) {
  const std::string folder = absl::StrCat(below, "/mxc-", ::geteuid());
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return failed("make the folder", folder);
  struct stat facts {};
  if (::lstat(folder.c_str(), &facts) != 0) return failed("look at", folder);
  if (!S_ISDIR(facts.st_mode) || facts.st_uid != ::geteuid() || (facts.st_mode & 077) != 0)
    return absl::InvalidArgumentError(absl::StrCat(folder, " is no folder that this user alone may open: the job's keys would not be safe there"));
  return folder;
}

absl::StatusOr<Draft> Draft::make(const std::string& folder, const std::string& name, const JobKeys& keys) {
  const std::string place = absl::StrCat(folder, "/", name);
  Draft draft(absl::StrCat(place, ".", ::getpid()), place);
  ::unlink(draft.file_.c_str());  // of a process of an earlier time
  if (absl::Status status = write_keys(draft.file_, keys); !status.ok()) return status;
  draft.descriptor_ = ::open(draft.file_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (draft.descriptor_ < 0 || ::flock(draft.descriptor_, LOCK_EX | LOCK_NB) != 0) return failed("lock", draft.file_);
  return draft;
}

Draft::Draft(Draft&& other) noexcept
    : file_(std::exchange(other.file_, "")), place_(std::move(other.place_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

Draft::~Draft() {
  if (!file_.empty()) ::unlink(file_.c_str());
  if (descriptor_ >= 0) ::close(descriptor_);
}

absl::Status Draft::announce(const std::string& scheduler) {
  const std::string line = absl::StrCat(kWord, scheduler, "\n");
  if (::write(descriptor_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) return failed("write", file_);
  if (::rename(file_.c_str(), place_.c_str()) != 0) return failed("write", place_);
  file_.clear();
  return absl::OkStatus();
}

absl::StatusOr<std::optional<std::string>> find_meeting(const std::string& place) {
  const int descriptor = ::open(place.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (descriptor < 0) {
    if (errno == ENOENT) return std::nullopt;
    return failed("read", place);
  }
  const bool held = ::flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  std::string text(kMostBytes, '\0');
  const ssize_t size = held ? ::read(descriptor, text.data(), text.size()) : 0;
  ::close(descriptor);
  text.resize(static_cast<size_t>(std::max<ssize_t>(size, 0)));
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (absl::ConsumePrefix(&line, kWord)) return std::string(line);
  }
  return std::nullopt;
}

absl::StatusOr<std::string> wait_for_meeting(const std::string& place, Duration most) {
  const auto end = std::chrono::steady_clock::now() + most;
  while (true) {
    absl::StatusOr<std::optional<std::string>> found = find_meeting(place);
    if (!found.ok()) return found.status();
    if (found->has_value()) return **std::move(found);
    if (std::chrono::steady_clock::now() >= end)
      return absl::InvalidArgumentError(absl::StrCat("rank 0 has not come within ", most / std::chrono::seconds(1), " s: there is no ", place));
    std::this_thread::sleep_for(kLook);
  }
}

}  // namespace mxc::kv

// Meeting: how processes that another launcher than mxc's has started on one machine find their scheduler and the job's keys: a file in a folder that
// their user alone may open. No port has to be known, or free.
//
// Whoever holds the meeting, the scheduler, keeps the file locked while it lives, so that one that an earlier job of the same name has left is not taken for
// this job's.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/kv/keys.h"
#include "runtime/kv/transport.h"

namespace mxc::kv {

// BELOW/mxc-UID, made if it is not there. Error: it is there, and others than this user may open it.
absl::StatusOr<std::string> private_folder(const std::string& below);

// A meeting that nobody finds yet: a file with the keys. Unless it is announced, it goes with the object.
class Draft {
 public:
  static absl::StatusOr<Draft> make(const std::string& folder, const std::string& name, const JobKeys& keys);
  Draft(Draft&& other) noexcept;
  Draft& operator=(Draft&&) = delete;
  ~Draft();

  // The file with the keys (keys.h), and where it will be found.
  const std::string& file() const { return file_; }
  const std::string& place() const { return place_; }
  // Locked as long as this, or what has inherited it, is open.
  int descriptor() const { return descriptor_; }
  // From here on it is found.
  absl::Status announce(const std::string& scheduler);

 private:
  Draft(std::string file, std::string place) : file_(std::move(file)), place_(std::move(place)) {}

  std::string file_;  // empty: it has been announced
  std::string place_;
  int descriptor_ = -1;
};

// The scheduler's address; nothing: nobody holds a meeting there.
absl::StatusOr<std::optional<std::string>> find_meeting(const std::string& place);
// The same, waiting for it. Error: it has not come.
absl::StatusOr<std::string> wait_for_meeting(const std::string& place, Duration most);

}  // namespace mxc::kv

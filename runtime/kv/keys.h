// Keys of a job: one CURVE key pair, which all its members have and nobody else. Servers show its public half and let in those alone whose
// connections are made with it.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace mxc::kv {

// In Z85, 40 characters each. Empty: none.
struct JobKeys {
  std::string public_key, secret_key;
  bool empty() const { return public_key.empty(); }
};

// A new pair. Error: libzmq is not on this machine, or cannot do it.
absl::StatusOr<JobKeys> make_keys();

// A file with the two keys, a line each: "public KEY" and "secret KEY". Writing makes a new one that its owner alone may read; reading
// refuses one that others may read.
absl::Status write_keys(const std::string& path, const JobKeys& keys);
absl::StatusOr<JobKeys> read_keys(const std::string& path);

}  // namespace mxc::kv

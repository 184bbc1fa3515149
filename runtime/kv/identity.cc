// See identity.h.
#include "runtime/kv/identity.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "runtime/io/printable.h"
#include "runtime/kv/launchers.h"
#include "runtime/kv/wire.h"

namespace mxc::kv {

namespace {

constexpr int64_t kMostPatience = 1'000'000;  // seconds

absl::Status wrong(const char* name, const char* value, const char* expected) {
  return absl::InvalidArgumentError(absl::StrCat(name, "=", io::printable(value, io::kMostShown), ": ", expected, " is expected"));
}

template <typename T>
absl::Status read_number(const Environment& environment, const char* name, int64_t most, T& number) {
  if (environment(name) == nullptr) return absl::InvalidArgumentError(absl::StrCat("MXC_JOB is set, and ", name, " is not"));
  const absl::StatusOr<int64_t> read = number_in(environment, name, most);
  if (read.ok()) number = static_cast<T>(*read);
  return read.status();
}

absl::StatusOr<Identity> of_scheduler(const Environment& environment, Identity identity) {
  if (const char* meeting = environment("MXC_MEETING")) identity.meeting = meeting;
  if (absl::Status status = read_number(environment, "MXC_PUBLISH", 1 << 20, identity.publish); !status.ok()) return status;
  return identity;
}

absl::Status read_predecessors(const Environment& environment, Identity& identity) {
  if (absl::Status status = read_number(environment, "MXC_BEGAN_WITH", kMostMembers, identity.began_with); !status.ok()) return status;
  if (const char* gone = environment("MXC_GONE")) identity.gone = gone;
  const char* state = environment("MXC_STATE_BEFORE");
  if (state == nullptr) return absl::OkStatus();
  identity.before.state_dir = state;
  if (absl::Status status = read_number(environment, "MXC_SIZE_BEFORE", kMostMembers, identity.before.size); !status.ok()) return status;
  if (absl::Status status = read_number(environment, "MXC_SERVERS_BEFORE", identity.before.size, identity.before.servers); !status.ok()) return status;
  return identity.before.servers > 0 || identity.before.size == 0 ? absl::OkStatus() : wrong("MXC_SERVERS_BEFORE", "0", "at least 1");
}

// What becomes of the job when a process dies.
absl::Status read_policy(const Environment& environment, Identity& identity) {
  const char* policy = environment("MXC_ON_DEATH");
  identity.shrinks = policy != nullptr && std::string(policy) == "shrink";
  identity.waits = identity.shrinks || (policy != nullptr && std::string(policy) == "wait");
  if (policy != nullptr && !identity.waits && std::string(policy) != "abort") return wrong("MXC_ON_DEATH", policy, "abort, wait or shrink");
  if (!identity.waits || identity.is_scheduler) return absl::OkStatus();
  const char* state = environment("MXC_STATE");
  if (state == nullptr || *state == '\0')
    return absl::InvalidArgumentError(absl::StrCat("MXC_ON_DEATH=", policy, ", and no MXC_STATE says where servers keep their state"));
  identity.state_dir = state;
  if (identity.shrinks) {
    if (absl::Status status = read_predecessors(environment, identity); !status.ok()) return status;
  }
  return environment("MXC_RETURNS") == nullptr ? absl::OkStatus() : read_number(environment, "MXC_RETURNS", 1 << 20, identity.returns);
}

absl::StatusOr<Identity> of_mxc(const Environment& environment, const char* job) {
  Identity identity;
  if (!absl::SimpleHexAtoi(job, &identity.job)) return wrong("MXC_JOB", job, "a hexadecimal number");
  const char* role = environment("MXC_ROLE");
  identity.is_scheduler = role != nullptr && std::string(role) == "scheduler";
  if (role != nullptr && !identity.is_scheduler && std::string(role) != "worker")
    return wrong("MXC_ROLE", role, "worker or scheduler");
  if (absl::Status status = read_number(environment, "MXC_SIZE", kMostMembers, identity.size); !status.ok()) return status;
  const char* scheduler = environment("MXC_SCHEDULER");
  if (scheduler == nullptr) return absl::InvalidArgumentError("MXC_JOB is set, and MXC_SCHEDULER is not");
  identity.scheduler = scheduler;
  if (const char* keys = environment("MXC_KEYS")) identity.keys_file = keys;
  if (absl::Status status = read_insecure(environment, identity.insecure); !status.ok()) return status;
  if (absl::Status status = read_policy(environment, identity); !status.ok()) return status;
  if (identity.is_scheduler) return of_scheduler(environment, std::move(identity));
  if (absl::Status status = read_number(environment, "MXC_RANK", kMostMembers, identity.rank); !status.ok()) return status;
  if (identity.rank >= identity.size)
    return absl::InvalidArgumentError(
        absl::StrCat("MXC_RANK=", identity.rank, " and MXC_SIZE=", identity.size, " contradict each other"));
  if (absl::Status status = read_counts(environment, identity); !status.ok()) return status;
  return identity;
}

Place place_of(const Identity& identity) {
  Place place;
  place.name = identity.launcher;
  place.variables = absl::StrCat("MXC_RANK=", identity.rank, " of MXC_SIZE=", identity.size);
  place.rank = identity.rank;
  place.size = identity.size;
  return place;
}

absl::StatusOr<std::optional<Identity>> find_identity(const Environment& environment) {
  std::optional<Identity> own;
  if (const char* job = environment("MXC_JOB")) {
    absl::StatusOr<Identity> identity = of_mxc(environment, job);
    if (!identity.ok()) return identity.status();
    if (identity->is_scheduler) return std::optional(*std::move(identity));  // it may have been started by a worker of any launcher's
    own = *std::move(identity);
  }
  absl::StatusOr<std::vector<Place>> found = places(environment, own.has_value());
  if (!found.ok()) return found.status();
  if (own.has_value()) found->insert(found->begin(), place_of(*own));
  for (const Place& other : *found) {
    if (absl::Status status = check_alike(found->front(), other); !status.ok()) return status;
  }
  if (own.has_value()) return own;
  if (found->empty()) return std::nullopt;
  absl::StatusOr<Identity> identity = identity_of(environment, found->front());
  if (!identity.ok()) return identity.status();
  return std::optional(*std::move(identity));
}

}  // namespace

absl::StatusOr<std::optional<Identity>> detect_identity(const Environment& environment) {
  absl::StatusOr<std::optional<Identity>> identity = find_identity(environment);
  if (!identity.ok() || !identity->has_value() || environment("MXC_PATIENCE") == nullptr) return identity;
  if (absl::Status status = read_number(environment, "MXC_PATIENCE", kMostPatience, (*identity)->patience); !status.ok()) return status;
  return identity;
}

}  // namespace mxc::kv

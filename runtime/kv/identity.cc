// See identity.h. Variables of `mxc launch`: MXC_JOB (hexadecimal), MXC_ROLE (worker or scheduler), MXC_RANK, MXC_SIZE, MXC_SCHEDULER,
// MXC_KEYS, MXC_SHARDS, MXC_PUBLISH. They are not for users to set.
#include "runtime/kv/identity.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "runtime/io/printable.h"
#include "runtime/kv/wire.h"

namespace mxc::kv {

namespace {

// How other launchers tell how many processes they have started. Each of these would take itself for the only one.
struct Launcher {
  const char* name;
  const char* size;
};
constexpr Launcher kOthers[] = {{"Open MPI", "OMPI_COMM_WORLD_SIZE"},
                                {"Slurm", "SLURM_STEP_NUM_TASKS"},
                                {"PMI", "PMI_SIZE"},
                                {"torchrun", "WORLD_SIZE"},
                                {"DMLC", "DMLC_NUM_WORKER"}};

absl::Status wrong(const char* name, const char* value, const char* expected) {
  return absl::InvalidArgumentError(absl::StrCat(name, "=", io::printable(value, io::kMostShown), ": ", expected, " is expected"));
}

template <typename T>
absl::Status read_number(const Environment& environment, const char* name, T most, T& number) {
  const char* value = environment(name);
  if (value == nullptr) return absl::InvalidArgumentError(absl::StrCat("MXC_JOB is set, and ", name, " is not"));
  if (!absl::SimpleAtoi(value, &number) || number > most)
    return wrong(name, value, absl::StrCat("a whole number up to ", most).c_str());
  return absl::OkStatus();
}

absl::StatusOr<std::optional<Identity>> of_mxc(const Environment& environment, const char* job) {
  Identity identity;
  if (!absl::SimpleHexAtoi(job, &identity.job)) return wrong("MXC_JOB", job, "a hexadecimal number");
  const char* role = environment("MXC_ROLE");
  identity.is_scheduler = role != nullptr && std::string(role) == "scheduler";
  if (role != nullptr && !identity.is_scheduler && std::string(role) != "worker")
    return wrong("MXC_ROLE", role, "worker or scheduler");
  if (absl::Status status = read_number<uint32_t>(environment, "MXC_SIZE", kMostText, identity.size); !status.ok()) return status;
  const char* scheduler = environment("MXC_SCHEDULER");
  if (scheduler == nullptr) return absl::InvalidArgumentError("MXC_JOB is set, and MXC_SCHEDULER is not");
  identity.scheduler = scheduler;
  if (const char* keys = environment("MXC_KEYS")) identity.keys_file = keys;
  if (identity.is_scheduler) {
    if (absl::Status status = read_number(environment, "MXC_PUBLISH", 1 << 20, identity.publish); !status.ok()) return status;
    return identity;
  }
  if (absl::Status status = read_number<uint32_t>(environment, "MXC_RANK", kMostText, identity.rank); !status.ok()) return status;
  if (identity.rank >= identity.size)
    return absl::InvalidArgumentError(
        absl::StrCat("MXC_RANK=", identity.rank, " and MXC_SIZE=", identity.size, " contradict each other"));
  if (environment("MXC_SHARDS") == nullptr) return identity;
  if (absl::Status status = read_number<int64_t>(environment, "MXC_SHARDS", 1 << 20, identity.shards); !status.ok()) return status;
  return identity;
}

}  // namespace

absl::StatusOr<std::optional<Identity>> detect_identity(const Environment& environment) {
  if (const char* job = environment("MXC_JOB")) return of_mxc(environment, job);
  for (const Launcher& other : kOthers) {
    int64_t size = 0;
    const char* value = environment(other.size);
    if (value == nullptr || !absl::SimpleAtoi(value, &size) || size <= 1) continue;
    return absl::UnimplementedError(absl::StrCat("this process is one of ", size, " that ", other.name, " has started (",
                                                 other.size, "), which is not understood: start it with mxc launch"));
  }
  return std::nullopt;
}

}  // namespace mxc::kv

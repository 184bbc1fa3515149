// See launchers.h.
//
// Where processes meet: MXC_RENDEZVOUS=HOST:PORT, with any launcher. Or, if all of them are on one machine and something tells their job from others, a file
// there (meeting.h), which needs no free port. Or what the launcher says: torchrun's MASTER_ADDR and MASTER_PORT, DMLC_PS_ROOT_URI and DMLC_PS_ROOT_PORT, the
// first machine of a Slurm step with a port that follows from the step's number. Or MPI tells, where it
// has started the processes (mpi_meeting.h).
#include "runtime/kv/launchers.h"

#include <cstdlib>
#include <cstring>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "runtime/core/fnv.h"
#include "runtime/io/printable.h"
#include "runtime/kv/wire.h"

namespace mxc::kv {

namespace {

using Says = const Environment&;

bool is_set(Says environment, const char* name) {
  const char* value = environment(name);
  return value != nullptr && *value != '\0';
}

std::string text_of(Says environment, const char* name) { return is_set(environment, name) ? environment(name) : ""; }

absl::Status half(const char* is, const char* is_not) {
  return absl::InvalidArgumentError(absl::StrCat(is, " is set, and ", is_not, " is not"));
}

// "HOST:PORT" of two variables. Empty: neither is set.
absl::StatusOr<std::string> address_in(Says environment, const char* host, const char* port, int64_t more = 0) {
  if (!is_set(environment, host) && !is_set(environment, port)) return "";
  if (!is_set(environment, port)) return half(host, port);
  if (!is_set(environment, host)) return half(port, host);
  const absl::StatusOr<int64_t> number = number_in(environment, port, 65535 - more);
  if (!number.ok()) return number.status();
  return absl::StrCat(environment(host), ":", *number + more);
}

absl::StatusOr<std::string> no_address(Says) { return ""; }

// The ports below those that systems give to whoever asks for any.
constexpr int kFirstPort = 20000, kPorts = 10000;

absl::StatusOr<std::string> slurm_address(Says environment) {
  const std::string host = first_host(text_of(environment, "SLURM_STEP_NODELIST"));
  if (host.empty() || !is_set(environment, "SLURM_JOB_ID")) return "";
  const std::string step = absl::StrCat(environment("SLURM_JOB_ID"), ".", text_of(environment, "SLURM_STEP_ID"));
  return absl::StrCat(host, ":", kFirstPort + agreed_number(step) % kPorts);
}

// Where torchrun's agent keeps a store, it listens at the port itself, and the next one is for the job.
absl::StatusOr<std::string> torchrun_address(Says environment) {
  const bool taken = text_of(environment, "TORCHELASTIC_USE_AGENT_STORE") == "True";
  return address_in(environment, "MASTER_ADDR", "MASTER_PORT", taken ? 1 : 0);
}

absl::StatusOr<std::string> dmlc_address(Says environment) { return address_in(environment, "DMLC_PS_ROOT_URI", "DMLC_PS_ROOT_PORT"); }

bool slurm_is_here(Says environment, uint32_t) { return text_of(environment, "SLURM_STEP_NUM_NODES") == "1"; }

template <const char* kLocalSize>
bool as_many_here(Says environment, uint32_t size) {
  return text_of(environment, kLocalSize) == absl::StrCat(size);
}

constexpr char kOpenMpiHere[] = "OMPI_COMM_WORLD_LOCAL_SIZE", kTorchrunHere[] = "LOCAL_WORLD_SIZE";
bool unknown(Says, uint32_t) { return false; }

bool says_size(Says environment, const char* size) { return is_set(environment, size); }
bool by_hand(Says environment, const char*) { return is_set(environment, "MXC_RANK"); }
// An indexed job may as well be many trainings, each alone.
bool kubernetes(Says environment, const char* size) {
  return is_set(environment, "JOB_COMPLETION_INDEX") && (is_set(environment, size) || is_set(environment, "MXC_RENDEZVOUS"));
}

constexpr char kSlurm[] = "Slurm", kOpenMpi[] = "Open MPI";

}  // namespace

struct Launcher {
  const char* name;
  const char* rank;
  const char* other_rank;  // where some of its kind tell it; null
  const char* size;
  bool of_mxc;                     // its variables are mxc's own
  bool (*speaks)(Says, const char* size);
  bool (*is_here)(Says, uint32_t size);  // are all processes on this machine, for sure?
  const char* job[3];                    // what tells its job from others of this machine
  absl::StatusOr<std::string> (*address)(Says);
  bool by_mpi = false;  // can its processes speak by MPI?
};

namespace {

constexpr Launcher kLaunchers[] = {
    {"MXC_RANK", "MXC_RANK", nullptr, "MXC_SIZE", true, by_hand, unknown, {}, no_address},
    {kOpenMpi, "OMPI_COMM_WORLD_RANK", nullptr, "OMPI_COMM_WORLD_SIZE", false, says_size, as_many_here<kOpenMpiHere>, {"PMIX_NAMESPACE"}, no_address, true},
    {kSlurm, "SLURM_PROCID", nullptr, "SLURM_STEP_NUM_TASKS", false, says_size, slurm_is_here, {"SLURM_JOB_ID", "SLURM_STEP_ID"}, slurm_address},
    {"PMI", "PMI_RANK", nullptr, "PMI_SIZE", false, says_size, unknown, {}, no_address},
    {"Kubernetes", "JOB_COMPLETION_INDEX", nullptr, "MXC_SIZE", true, kubernetes, unknown, {}, no_address},
    {"torchrun", "RANK", nullptr, "WORLD_SIZE", false, says_size, as_many_here<kTorchrunHere>,
     {"MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID"}, torchrun_address},
    {"DMLC", "DMLC_WORKER_ID", "DMLC_TASK_ID", "DMLC_NUM_WORKER", false, says_size, unknown, {}, dmlc_address}};

// DMLC starts a scheduler and servers beside the workers. Those of mxc lie in the workers: a server has nothing to do.
absl::Status read_role(Says environment, Place& place) {
  const std::string role = text_of(environment, "DMLC_ROLE");
  place.is_scheduler = role == "scheduler";
  place.is_idle = role == "server" || (place.is_scheduler && place.size == 1);
  if (role.empty() || role == "worker" || role == "server" || role == "scheduler") return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("DMLC_ROLE=", io::printable(role, io::kMostShown), ": worker, server or scheduler is expected"));
}

absl::StatusOr<Place> place_by(const Launcher& launcher, Says environment) {
  Place place;
  place.launcher = &launcher;
  place.name = launcher.name;
  if (!is_set(environment, launcher.size)) return half(launcher.rank, launcher.size);
  const absl::StatusOr<int64_t> size = number_in(environment, launcher.size, kMostMembers);
  if (!size.ok()) return size.status();
  place.size = static_cast<uint32_t>(*size);
  if (launcher.address == dmlc_address) {
    if (absl::Status status = read_role(environment, place); !status.ok()) return status;
    if (place.is_scheduler || place.is_idle) return place;
  }
  if (place.size <= 1) return place;
  const char* variable = launcher.rank;
  if (!is_set(environment, variable) && launcher.other_rank != nullptr) variable = launcher.other_rank;
  if (!is_set(environment, variable)) return half(launcher.size, launcher.rank);
  const absl::StatusOr<int64_t> rank = number_in(environment, variable, kMostMembers);
  if (!rank.ok()) return rank.status();
  if (*rank >= *size)
    return absl::InvalidArgumentError(absl::StrCat(variable, "=", *rank, " and ", launcher.size, "=", *size, " contradict each other"));
  place.rank = static_cast<uint32_t>(*rank);
  place.variables = absl::StrCat(variable, "=", *rank, " of ", launcher.size, "=", *size);
  return place;
}

absl::Status find_rendezvous(Says environment, const Place& place, Identity& identity) {
  const Launcher& launcher = *place.launcher;
  identity.temporary = is_set(environment, "TMPDIR") ? environment("TMPDIR") : "/tmp";
  std::string name = launcher.name;
  bool told_apart = false;
  for (const char* variable : launcher.job) {
    if (variable == nullptr || !is_set(environment, variable)) continue;
    absl::StrAppend(&name, "/", environment(variable));
    told_apart = true;
  }
  absl::StatusOr<std::string> address = text_of(environment, "MXC_RENDEZVOUS");
  if (address->empty() && told_apart && launcher.is_here(environment, place.size)) {
    identity.meeting = absl::StrCat(absl::Hex(agreed_number(name), absl::kZeroPad16));
    identity.job = agreed_number(name);
    return absl::OkStatus();
  }
  if (address->empty()) address = launcher.address(environment);
  if (!address.ok()) return address.status();
  if (address->empty() && launcher.by_mpi) {
    identity.job = agreed_number(name);
    return absl::OkStatus();
  }
  if (address->empty()) {
    return absl::InvalidArgumentError(absl::StrCat("this process is one of ", place.size, " that ", place.name, " has started (", launcher.size, "), and nothing ",
                                                   "says where they meet: set MXC_RENDEZVOUS=HOST:PORT, the machine of rank 0 and a free port there"));
  }
  identity.scheduler = absl::StrCat("tcp://", *address);
  identity.job = agreed_number(absl::StrCat(name, "/", *address));
  return absl::OkStatus();
}

// Within Slurm, Open MPI starts its own daemons as a step, with a task a machine, and they hand on what Slurm has told them.
bool is_of_daemons(Says environment, const Place& place) {
  return place.name == kSlurm && text_of(environment, "SLURM_STEP_NUM_NODES") == absl::StrCat(place.size);
}

}  // namespace

absl::StatusOr<std::vector<Place>> places(const Environment& environment, bool of_mxc) {
  std::vector<Place> found;
  for (const Launcher& launcher : kLaunchers) {
    if ((launcher.of_mxc && of_mxc) || !launcher.speaks(environment, launcher.size)) continue;
    absl::StatusOr<Place> place = place_by(launcher, environment);
    if (!place.ok()) return place.status();
    if (place->size <= 1 && !place->is_idle) continue;
    if (!found.empty() && found[0].name == kOpenMpi && is_of_daemons(environment, *place)) continue;
    found.push_back(*std::move(place));
  }
  return found;
}

absl::Status check_alike(const Place& place, const Place& other) {
  if (place.is_scheduler || place.is_idle || other.is_scheduler || other.is_idle) return absl::OkStatus();
  if (place.rank == other.rank && place.size == other.size) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(place.name, " and ", other.name, " contradict each other: ", place.variables, ", ", other.variables,
                                                 "; unset the variables of the one that has not started this process"));
}

absl::StatusOr<Identity> identity_of(const Environment& environment, const Place& place) {
  Identity identity;
  identity.launcher = place.name;
  identity.rank = place.rank;
  identity.size = place.size;
  identity.is_scheduler = place.is_scheduler;
  identity.is_idle = place.is_idle;
  if (place.is_idle) return identity;
  identity.starts_scheduler = place.launcher->address != dmlc_address && place.rank == 0;
  identity.keys_file = text_of(environment, "MXC_KEYS");
  if (absl::Status status = read_insecure(environment, identity.insecure); !status.ok()) return status;
  if (absl::Status status = read_counts(environment, identity); !status.ok()) return status;
  if (absl::Status status = find_rendezvous(environment, place, identity); !status.ok()) return status;
  return identity;
}

std::string first_host(const std::string& list) {
  const size_t open = list.find('['), comma = list.find(',');
  if (open == std::string::npos || comma < open) return list.substr(0, comma);
  const size_t close = list.find(']', open);
  if (close == std::string::npos) return "";
  const size_t end = list.find_first_of("-,]", open + 1);
  const size_t after = list.find_first_of(",[", close);
  const std::string behind = list.substr(close + 1, after == std::string::npos ? after : after - close - 1);
  return absl::StrCat(list.substr(0, open), list.substr(open + 1, end - open - 1), behind);
}

absl::Status read_insecure(const Environment& environment, bool& insecure) {
  if (!is_set(environment, "MXC_INSECURE")) return absl::OkStatus();
  const absl::StatusOr<int64_t> number = number_in(environment, "MXC_INSECURE", 1);
  if (number.ok()) insecure = *number == 1;
  return number.status();
}

uint64_t agreed_number(const std::string& text) { return core::fnv(core::kFnv, text.data(), text.size()); }

absl::Status read_counts(const Environment& environment, Identity& identity) {
  for (auto [name, count] : {std::pair("MXC_SHARDS", &identity.shards), {"MXC_SERVERS", &identity.servers}}) {
    if (!is_set(environment, name)) continue;
    const absl::StatusOr<int64_t> read = number_in(environment, name, 1 << 20);
    if (!read.ok()) return read.status();
    *count = *read;
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> number_in(const Environment& environment, const char* name, int64_t most) {
  const char* value = environment(name);
  int64_t number = 0;
  if (absl::SimpleAtoi(value, &number) && number >= 0 && number <= most) return number;
  return absl::InvalidArgumentError(absl::StrCat(name, "=", io::printable(value, io::kMostShown), ": a whole number up to ", most, " is expected"));
}

}  // namespace mxc::kv

// See mpi_meeting.h.
#include "runtime/kv/mpi_meeting.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "runtime/kv/meeting.h"
#include "runtime/kv/reach.h"
#include "runtime/kv/start_scheduler.h"

namespace mxc::kv {

namespace {

constexpr size_t kMostText = 4096;
constexpr char kError[] = "error: ";
constexpr Duration kReached = std::chrono::seconds(2);

absl::Status failed(const char* why) { return absl::AbortedError(absl::StrCat("MPI: ", why)); }

// On all ranks what `root` says; an error of it, too.
absl::StatusOr<std::string> told_by(const mxc_mpi& mpi, int root, const absl::StatusOr<std::string>& says) {
  std::array<char, kMostText> bytes{};
  const std::string text = says.ok() ? *says : absl::StrCat(kError, says.status().message());
  text.copy(bytes.data(), bytes.size() - 1);
  if (const char* wrong = mpi.broadcast(root, bytes.data(), bytes.size())) return failed(wrong);
  absl::string_view told = bytes.data();
  if (absl::ConsumePrefix(&told, kError)) return absl::InvalidArgumentError(absl::StrCat("rank ", root, ": ", told));
  return std::string(told);
}

absl::StatusOr<JobKeys> keys_of(const Identity& identity) {
  if (!identity.keys_file.empty()) return read_keys(identity.keys_file);
  return identity.insecure ? JobKeys() : make_keys();
}

// Starts a scheduler that listens at all addresses. Returns where.
absl::StatusOr<std::string> start_for_all(const Identity& identity, const std::string& host, const JobKeys& keys) {
  SchedulerProcess process{identity.job, identity.size, tcp_address(host, "*"), identity.keys_file, "", -1, identity.insecure};
  if (!identity.keys_file.empty() || keys.empty()) return start_scheduler(process);
  const absl::StatusOr<std::string> folder = private_folder(identity.temporary);
  if (!folder.ok()) return folder.status();
  const absl::StatusOr<Draft> draft = Draft::make(*folder, absl::StrCat(absl::Hex(identity.job)), keys);
  if (!draft.ok()) return draft.status();
  process.keys_file = draft->file();
  return start_scheduler(process);
}

// What rank 0 tells, a line each: port, public key, secret key, and its addresses.
absl::StatusOr<std::string> offer(const Identity& identity) {
  const std::vector<std::string> addresses = own_addresses();
  if (addresses.empty()) return absl::InvalidArgumentError("this machine has no address by which others could reach it");
  const absl::StatusOr<JobKeys> keys = keys_of(identity);
  if (!keys.ok()) return keys.status();
  const absl::StatusOr<std::string> listens = start_for_all(identity, absl::StrContains(addresses[0], ':') ? "::" : "0.0.0.0", *keys);
  if (!listens.ok()) return listens.status();
  const absl::StatusOr<HostPort> scheduler = parse_host_port(*listens);
  if (!scheduler.ok()) return scheduler.status();
  const bool told = identity.keys_file.empty();
  return absl::StrCat(scheduler->port, "\n", told ? keys->public_key : "", "\n", told ? keys->secret_key : "", "\n", absl::StrJoin(addresses, "\n"));
}

}  // namespace

absl::StatusOr<MpiMeeting> meet_by_mpi(const mxc_mpi& mpi, const Identity& identity) {
  int rank = 0, ranks = 0;
  if (const char* wrong = mpi.start(&rank, &ranks)) return failed(wrong);
  if (absl::Status status = check_ranks(ranks, identity.size); !status.ok()) return status;
  const absl::StatusOr<std::string> offered = told_by(mpi, 0, rank == 0 ? offer(identity) : std::string());
  if (!offered.ok()) return offered.status();
  std::vector<std::string> lines = absl::StrSplit(*offered, '\n');
  const absl::StatusOr<HostPort> port = parse_host_port(absl::StrCat("*:", lines[0]));
  if (!port.ok() || lines.size() < 4) return failed("rank 0 is of another version of mxc");
  MpiMeeting meeting{"", {lines[1], lines[2]}};
  lines.erase(lines.begin(), lines.begin() + 3);
  const absl::StatusOr<std::string> reached = rank == 0 ? std::string() : first_that_answers(lines, port->port, kReached);
  const absl::StatusOr<std::string> reached_by_1 = told_by(mpi, 1, reached);
  if (!reached.ok()) return reached.status();
  if (!reached_by_1.ok()) return reached_by_1.status();
  meeting.scheduler = tcp_address(rank == 0 ? *reached_by_1 : *reached, absl::StrCat(port->port));
  if (!identity.keys_file.empty()) {
    absl::StatusOr<JobKeys> keys = read_keys(identity.keys_file);
    if (!keys.ok()) return keys.status();
    meeting.keys = *std::move(keys);
  }
  return meeting;
}

}  // namespace mxc::kv

// See machine_sums.h.
#include "runtime/kv/machine_sums.h"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/core/fnv.h"
#include "runtime/io/printable.h"
#include "runtime/kv/data_transport.h"

namespace mxc::kv {

namespace {

std::string this_machine() {
  std::string start;
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::getline(file, start);
  struct stat space = {};
  if (start.empty() || ::stat("/proc/self/ns/net", &space) != 0) return "";
  const std::string text = absl::StrCat(start, " ", space.st_dev, " ", space.st_ino, " ", ::getuid());
  return absl::StrFormat("%016x", core::fnv(core::kFnv, text.data(), text.size()));
}

// Empty: nothing.
std::string what_forbids(const MachineSums& job) {
  if (job.async) return "in dist_async, where each push is an update of its own";
  if (job.waits) return "in a job that goes on when processes die: what one had added up for others would be gone with it";
  if (job.compresses) return "with compression, which is of each shard by itself";
  if (is_mpi(job.transport)) return "over MPI, which moves between processes of a machine what it likes";
  if (!job.shares_memory) return "without shared memory";
  return "";
}

}  // namespace

absl::StatusOr<std::string> machine_to_add_in(const MachineSums& job) {
  if (job.asked == "off") return "";
  if (!job.asked.empty() && job.asked != "auto" && job.asked != "on")
    return absl::InvalidArgumentError(absl::StrCat("'", io::printable(job.asked, io::kMostShown), "' is none of auto, on, off"));
  std::string forbids = what_forbids(job);
  const std::string machine = forbids.empty() ? this_machine() : "";
  if (forbids.empty() && machine.empty()) forbids = "where the system does not tell what machine it is (/proc)";
  if (job.asked == "on" && !forbids.empty()) return absl::InvalidArgumentError(absl::StrCat("on: a machine's processes do not add up ", forbids));
  return machine;
}

}  // namespace mxc::kv

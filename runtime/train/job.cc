// See job.h.
#include "runtime/train/job.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/kv/kind.h"
#include "runtime/kv/machine_sums.h"

namespace mxc::train {

namespace {

// How many processes hold parameters: what the command line says, or else the launcher (0: neither), or else all.
absl::StatusOr<int64_t> servers_of(int64_t asked, int64_t launched, int64_t size) {
  if (asked > 0 && launched > 0 && asked != launched)
    return absl::InvalidArgumentError(absl::StrCat("--servers ", asked, ": the job was launched with --servers ", launched));
  const int64_t said = std::max(asked, launched);
  if (said > size) return absl::InvalidArgumentError(absl::StrCat("--servers ", said, ": the job has ", size, size == 1 ? " process" : " processes"));
  return said == 0 ? size : said;
}

}  // namespace

std::string by_launcher(const kv::Identity& identity) {
  return identity.launcher == kv::Identity().launcher ? "" : absl::StrCat(" (", identity.launcher, ")");
}

absl::StatusOr<Job> find_job(const Options& options, const kv::Environment& environment) {
  auto identity = kv::detect_identity(environment);
  if (!identity.ok()) return identity.status();
  Job job;
  job.shards = options.shards;
  job.transport = options.transport;
  job.shared_memory = options.shared_memory;
  const std::string& kind = options.kvstore;
  if (!options.compress.empty()) {
    auto parsed = kv::parse_compression(options.compress);
    if (!parsed.ok()) return absl::InvalidArgumentError(absl::StrCat("--compress: ", parsed.status().message()));
    job.compression = *parsed;
  }
  if (identity->has_value()) {
    const kv::Identity& place = **identity;
    job.rank = place.rank;
    job.size = place.size;
    job.began_with = std::max(place.size, place.began_with);
    if (job.shards > 0 && place.shards > 0 && job.shards != place.shards) {
      return absl::InvalidArgumentError(
          absl::StrCat("--shards ", job.shards, ": the job was launched with --shards ", place.shards));
    }
    if (job.shards == 0) job.shards = place.shards;
    if (job.size > 1 && (kind.empty() || kind == "local")) {
      return absl::InvalidArgumentError(absl::StrCat("this process is one of ", job.size, " of a job", by_launcher(place),
                                                     kind.empty() ? "" : ", which --kvstore local leaves out",
                                                     ": --kvstore dist_sync, dist_bounded:STEPS or dist_async says how they train together"));
    }
  }
  if (!kind.empty()) {
    auto parsed = kv::parse_kind(kind);
    if (!parsed.ok()) return absl::InvalidArgumentError(absl::StrCat("--kvstore: ", parsed.status().message()));
    if (parsed->distributed && !identity->has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--kvstore ", kind, ": no launcher has started this process as one of several; try: mxc launch -n 2 PROGRAM train ..."));
    }
    if (absl::Status status = kv::set_local(options.local, *parsed); !status.ok())
      return absl::InvalidArgumentError(absl::StrCat("--kvstore-local: ", status.message()));
    job.consistency = parsed->consistency;
  } else if (kv::StoreKind none; !kv::set_local(options.local, none).ok()) {
    return absl::InvalidArgumentError(absl::StrCat("--kvstore-local: ", kv::set_local(options.local, none).message()));
  }
  if (job.consistency.each_shard && job.compression.is_on()) return absl::InvalidArgumentError("--kvstore-local async does not go with --compress");
  if (job.size > 1 && (*identity)->waits && job.consistency != kv::Consistency()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--kvstore ", kind, ": the job was launched with --on-death=", kv::on_death(**identity), ", which is for dist_sync"));
  }
  auto machine = kv::machine_to_add_in({options.machine_sums, job.consistency.is_async(), job.compression.is_on(), identity->has_value() && (*identity)->waits,
                                        job.shared_memory, job.transport});
  if (!machine.ok()) return absl::InvalidArgumentError(absl::StrCat("--machine-sums ", machine.status().message()));
  job.machine = *std::move(machine);
  if (job.shards > 0 && job.shards < job.size) {
    return absl::InvalidArgumentError(absl::StrCat("--shards ", job.shards, ": there are ", job.size, " processes, and each has at least one shard"));
  }
  if (identity->has_value() && (*identity)->shrinks && options.servers > 0)
    return absl::InvalidArgumentError(absl::StrCat("--servers ", options.servers, ": with --on-death=shrink it is mxc launch that must know: mxc launch --servers ", options.servers));
  auto servers = servers_of(options.servers, identity->has_value() ? (*identity)->servers : 0, job.size);
  if (!servers.ok()) return servers.status();
  job.servers = *servers;
  // The last one of a job that has shrunk is still a server, of what it takes over.
  if (job.size > 1 || (identity->has_value() && (*identity)->before.size > 0)) job.identity = *std::move(identity);
  return job;
}

}  // namespace mxc::train

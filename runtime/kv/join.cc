// See join.h.
#include "runtime/kv/join.h"

#include <unistd.h>

#include <climits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/kv/keys.h"
#include "runtime/kv/zeromq.h"

namespace mxc::kv {

namespace {

std::string host_and_process() {
  char host[HOST_NAME_MAX + 1] = {};
  if (::gethostname(host, HOST_NAME_MAX) != 0) host[0] = '\0';
  return absl::StrCat("host ", host, ", process ", ::getpid());
}

}  // namespace

absl::StatusOr<ProcessOptions> process_options(const Identity& identity, const Consistency& consistency) {
  ProcessOptions options;
  options.job = identity.job;
  options.rank = identity.rank;
  options.size = identity.size;
  options.scheduler = options.member.scheduler = identity.scheduler;
  options.listen = "tcp://127.0.0.1:*";
  options.member.who = host_and_process();
  options.worker.consistency = consistency;
  ZeroMqOptions network;
  if (!identity.keys_file.empty()) {
    absl::StatusOr<JobKeys> keys = read_keys(identity.keys_file);
    if (!keys.ok()) return keys.status();
    network.keys = *std::move(keys);
  }
  options.endpoint = [network](int64_t largest) {
    ZeroMqOptions of_this = network;
    of_this.largest_frame = largest;
    return make_zeromq_transport(of_this);
  };
  return options;
}

}  // namespace mxc::kv

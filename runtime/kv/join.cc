// See join.h.
//
// A member advertises the address that its own packets to the scheduler bear, and no name: what a machine calls itself is often an address of the loopback
// interface to it, and another to others.
#include "runtime/kv/join.h"

#include <unistd.h>

#include <climits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/io/printable.h"
#include "runtime/kv/data_transport.h"
#include "runtime/kv/keys.h"
#include "runtime/kv/meeting.h"
#include "runtime/kv/memory_transport.h"
#include "runtime/kv/mpi_meeting.h"
#include "runtime/kv/reach.h"
#include "runtime/kv/start_scheduler.h"
#include "runtime/kv/tcp.h"
#include "runtime/kv/zeromq.h"

namespace mxc::kv {

namespace {

constexpr Duration kGathering = std::chrono::seconds(60);  // as the scheduler's
constexpr char kFreePort[] = "*";
constexpr int kDataThreads = 2;  // that send and receive what workers and servers say

std::string host_and_process() {
  char host[HOST_NAME_MAX + 1] = {};
  if (::gethostname(host, HOST_NAME_MAX) != 0) host[0] = '\0';
  return absl::StrCat("host ", host, ", process ", ::getpid());
}

// Where the scheduler is, and the keys.
struct Found {
  std::string scheduler;
  JobKeys keys;
};

absl::StatusOr<Found> hold_meeting(const Identity& identity, const std::string& folder) {
  const absl::StatusOr<JobKeys> keys = make_keys();
  if (!keys.ok()) return keys.status();
  absl::StatusOr<Draft> draft = Draft::make(folder, identity.meeting, *keys);
  if (!draft.ok()) return draft.status();
  const absl::StatusOr<std::string> address = start_scheduler(
      {identity.job, identity.size, tcp_address("127.0.0.1", kFreePort), draft->file(), draft->place(), draft->descriptor()});
  if (!address.ok()) return address.status();
  if (absl::Status status = draft->announce(*address); !status.ok()) return status;
  return Found{*address, *keys};
}

absl::StatusOr<Found> meet(const Identity& identity) {
  const absl::StatusOr<std::string> folder = private_folder(identity.temporary);
  if (!folder.ok()) return folder.status();
  if (identity.starts_scheduler) return hold_meeting(identity, *folder);
  const std::string place = absl::StrCat(*folder, "/", identity.meeting);
  const absl::StatusOr<std::string> address = wait_for_meeting(place, kGathering);
  if (!address.ok()) return address.status();
  absl::StatusOr<JobKeys> keys = read_keys(place);
  if (!keys.ok()) return keys.status();
  return Found{*address, *std::move(keys)};
}

// The scheduler's address with a numeric host.
absl::StatusOr<std::string> numeric_address(const std::string& scheduler) {
  const absl::StatusOr<HostPort> named = parse_host_port(scheduler);
  if (!named.ok()) return named.status();
  const absl::StatusOr<std::string> host = resolve(named->host, kGathering);
  if (!host.ok()) return host.status();
  if (!is_own_name(named->host) && is_own_name(*host)) {
    return absl::InvalidArgumentError(absl::StrCat(io::printable(named->host, io::kMostShown), " is ", *host,
                                                   " to its own machine, where others do not find it: give the address that it has to them"));
  }
  return tcp_address(*host, absl::StrCat(named->port));
}

absl::StatusOr<Found> find_at_address(const Identity& identity) {
  // What is wrong with the keys is said before anything is waited for.
  absl::StatusOr<JobKeys> keys = identity.keys_file.empty() ? JobKeys() : read_keys(identity.keys_file);
  if (!keys.ok()) return keys.status();
  const absl::StatusOr<std::string> listen = listening_address(identity.scheduler, identity.keys_file, identity.insecure);
  if (!listen.ok()) return listen.status();
  const absl::StatusOr<std::string> address = numeric_address(identity.scheduler);
  if (!address.ok()) return address.status();
  if (identity.starts_scheduler) {
    const absl::StatusOr<std::string> started = start_scheduler({identity.job, identity.size, *listen, identity.keys_file, "", -1, identity.insecure});
    if (!started.ok()) return started.status();
  }
  return Found{*address, *std::move(keys)};
}

absl::StatusOr<Found> be_told_by_mpi(const Identity& identity, const std::string& transport) {
  const absl::StatusOr<const mxc_mpi*> mpi = mpi_of_data_transport(transport);
  if (!mpi.ok()) {
    return absl::Status(mpi.status().code(), absl::StrCat("processes on several machines meet at MXC_RENDEZVOUS=HOST:PORT, the machine of rank 0 and a free port there, "
                                                          "or MPI tells them where: ", mpi.status().message()));
  }
  absl::StatusOr<MpiMeeting> meeting = meet_by_mpi(**mpi, identity);
  if (!meeting.ok()) return meeting.status();
  return Found{std::move(meeting->scheduler), std::move(meeting->keys)};
}

absl::StatusOr<Found> find(const Identity& identity, const std::string& transport) {
  if (!identity.scheduler.empty()) return find_at_address(identity);
  return identity.meeting.empty() ? be_told_by_mpi(identity, transport) : meet(identity);
}

using Endpoint = std::function<absl::StatusOr<std::unique_ptr<Transport>>(int64_t largest)>;

// What carries arrays between machines.
struct Network {
  std::function<absl::StatusOr<std::unique_ptr<Transport>>(int64_t largest, int also)> endpoint;
  std::function<bool(const std::string& address)> is_within = nullptr;  // does it stay in this process?
};

// `context`: see ZeroMqOptions.
Network over_zeromq(ZeroMqOptions options, std::shared_ptr<ZeroMqContext> context) {
  options.context = context;
  Network network;
  network.endpoint = [options](int64_t largest, int also) {
    ZeroMqOptions of_this = options;
    of_this.largest_frame = largest;
    of_this.also = also;
    return make_zeromq_transport(of_this);
  };
  if (context != nullptr) network.is_within = [context](const std::string& address) { return context->has(address); };
  return network;
}

Network over_tcp(bool secret) {
  const auto inboxes = std::make_shared<Inboxes>();
  return {[=](int64_t largest, int also) { return make_tcp_transport({.secret = secret, .largest_frame = largest, .also = also, .inboxes = inboxes}); },
          [=](const std::string& address) { return inboxes->find(address) != nullptr; }};
}

// Makes endpoints that go through memory where they can, and over this network where they cannot.
Endpoint near_and_far(const Network& network, bool shared_memory, uint32_t size) {
  return [network, shared_memory, size](int64_t largest) {
    MemoryTransportOptions near;
    near.on = shared_memory;
    near.largest_frame = largest;
    near.capacity = memory_capacity(size);
    near.is_within = network.is_within;
    near.other = [network, largest](int descriptor) { return network.endpoint(largest, descriptor); };
    return make_memory_transport(near);
  };
}

}  // namespace

absl::StatusOr<std::string> listening_address(const std::string& scheduler, const std::string& keys_file, bool insecure) {
  const absl::StatusOr<HostPort> named = parse_host_port(scheduler);
  if (!named.ok()) return named.status();
  const std::string port = absl::StrCat(named->port);
  if (is_own_name(named->host)) return tcp_address(named->host == "localhost" ? "127.0.0.1" : named->host, port);
  if (keys_file.empty() && !insecure) {
    return absl::InvalidArgumentError(absl::StrCat("refusing to meet at ", io::printable(named->host, io::kMostShown), ":", port, ", where other machines can ",
                                                   "connect, without keys: make some with mxc keygen FILE, and give all processes MXC_KEYS=FILE (or MXC_INSECURE=1: whoever can ",
                                                   "connect may take part)"));
  }
  return tcp_address(absl::StrContains(named->host, ':') ? "::" : "0.0.0.0", port);
}

absl::StatusOr<ProcessOptions> process_options(const Identity& identity, const Consistency& consistency, bool shared_memory, const std::string& transport) {
  const absl::StatusOr<Found> found = find(identity, transport);
  if (!found.ok()) return found.status();
  ZeroMqOptions network;
  network.insecure = identity.insecure;
  network.keys = found->keys;
  const absl::StatusOr<HostPort> scheduler = parse_host_port(found->scheduler);
  if (!scheduler.ok()) return scheduler.status();
  const absl::StatusOr<std::string> own = local_address(scheduler->host);
  if (!own.ok()) return own.status();
  ProcessOptions options;
  options.job = identity.job;
  options.rank = identity.rank;
  options.size = identity.size;
  options.scheduler = options.member.scheduler = found->scheduler;
  options.listen = tcp_address(*own, kFreePort);
  options.member.who = host_and_process();
  options.worker.consistency = consistency;
  options.member.waits = identity.waits;
  if (identity.waits) options.state = state_path(identity.state_dir, identity.rank);
  options.state_stays = identity.shrinks;
  options.before = identity.before;
  options.endpoint = [network](int64_t largest) {
    ZeroMqOptions of_this = network;
    of_this.largest_frame = largest;
    return make_zeromq_transport(of_this);
  };
  if (is_tcp(transport)) {
    options.data_endpoint = options.level1_endpoint = near_and_far(over_tcp(!network.keys.empty() || network.insecure), shared_memory, identity.size);
    return options;
  }
  // A process's worker and server have a context together: what they have to say to each other stays in the process.
  const absl::StatusOr<const ZeroMq*> zmq = ZeroMq::load();
  if (!zmq.ok()) return zmq.status();
  options.data_endpoint = near_and_far(over_zeromq(network, std::make_shared<ZeroMqContext>(**zmq, kDataThreads)), shared_memory, identity.size);
  // Whoever listens with keys has a context of its own.
  options.level1_endpoint = near_and_far(over_zeromq(network, nullptr), shared_memory, identity.size);
  if (absl::Status status = use_data_transport(transport, options); !status.ok()) return status;
  return options;
}

}  // namespace mxc::kv

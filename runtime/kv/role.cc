// See role.h. The address goes to whoever started it through a pipe; errors of the scheduler's own go there too, behind "error: ". Where nobody asks for the
// address, because it is known, they are shown.
#include "runtime/kv/role.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/kv/identity.h"
#include "runtime/kv/join.h"
#include "runtime/kv/keys.h"
#include "runtime/kv/scheduler_loop.h"
#include "runtime/kv/zeromq.h"

namespace mxc::kv {

void keep_role() {}

namespace {

void publish(int descriptor, const std::string& line) {
  const std::string text = absl::StrCat(line, "\n");
  [[maybe_unused]] ssize_t written = ::write(descriptor, text.data(), text.size());  // a launcher that has gone needs none
  ::close(descriptor);
}

absl::Status schedule(const Identity& identity, bool& published) {
  ZeroMqOptions options;
  options.insecure = identity.insecure;
  if (!identity.keys_file.empty()) {
    absl::StatusOr<JobKeys> keys = read_keys(identity.keys_file);
    if (!keys.ok()) return keys.status();
    options.keys = *std::move(keys);
  }
  absl::StatusOr<std::unique_ptr<Transport>> transport = make_zeromq_transport(options);
  if (!transport.ok()) return transport.status();
  const absl::StatusOr<std::string> listen =
      identity.publish < 0 ? listening_address(identity.scheduler, identity.keys_file, identity.insecure) : identity.scheduler;
  if (!listen.ok()) return listen.status();
  SchedulerOptions scheduling;
  scheduling.members = identity.size;
  scheduling.waits = identity.waits;
  scheduling.patience = std::chrono::seconds(identity.patience);
  return run_scheduler(*std::move(transport), identity.job, scheduling, *listen, [&](const std::string& address) {
    published = true;
    if (identity.publish >= 0) publish(identity.publish, address);
  });
}

}  // namespace
}  // namespace mxc::kv

extern "C" int mxc_run_role() {
  using namespace mxc::kv;
  const absl::StatusOr<std::optional<Identity>> identity = detect_identity([](const char* name) { return std::getenv(name); });
  if (identity.ok() && identity->has_value() && (*identity)->is_idle) return 0;
  if (!identity.ok() || !identity->has_value() || !(*identity)->is_scheduler) return -1;
  const Identity& own = **identity;
  bool published = false;
  const absl::Status status = schedule(own, published);
  if (!own.meeting.empty()) ::unlink(own.meeting.c_str());
  const std::string error = absl::StrCat("error: ", status.message());
  if (own.publish >= 0 && !published) publish(own.publish, error);
  if (own.publish < 0 && !status.ok()) std::fprintf(stderr, "%s\n", error.c_str());
  return status.ok() ? 0 : 1;
}

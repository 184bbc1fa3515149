// See data_transport.h.
#include "runtime/kv/data_transport.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/kv/mpi.h"

namespace mxc::kv {

namespace {

constexpr char kMpi[] = "mpi", kMpiFile[] = "mpi:", kTcp[] = "tcp", kZeroMq[] = "zeromq";

}  // namespace

absl::Status check_data_transport(const std::string& name) {
  if (name.empty() || name == kZeroMq || is_tcp(name) || (is_mpi(name) && name != kMpiFile)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("'", name, "' is no transport: zeromq, tcp, mpi or mpi:FILE"));
}

bool is_tcp(const std::string& name) { return name == kTcp; }
bool is_mpi(const std::string& name) { return name == kMpi || name.starts_with(kMpiFile); }

absl::StatusOr<const mxc_mpi*> mpi_of_data_transport(const std::string& name) {
  return load_mpi(name.starts_with(kMpiFile) ? name.substr(sizeof kMpiFile - 1) : std::string());
}

absl::Status use_data_transport(const std::string& name, ProcessOptions& options) {
  if (absl::Status status = check_data_transport(name); !status.ok()) return status;
  if (!is_mpi(name)) return absl::OkStatus();
  auto plugin = mpi_of_data_transport(name);
  if (!plugin.ok()) return plugin.status();
  auto process = join_mpi(*plugin, options.size);
  if (!process.ok()) return process.status();
  options.data_endpoint = [process = *std::move(process)](int64_t largest) -> absl::StatusOr<std::unique_ptr<Transport>> {
    return make_mpi_transport(process, largest);
  };
  options.listen = "mpi:";
  return absl::OkStatus();
}

}  // namespace mxc::kv

// See mpi_library.h.
#include "runtime/kv/mpi_library.h"

#include <dlfcn.h>
#include <unistd.h>

#include <climits>
#include <map>
#include <mutex>

#include "absl/strings/str_cat.h"

namespace mxc::kv {

namespace {

constexpr char kFile[] = "libmxc_mpi.so";

// The folder of the program, with a slash.
std::string own_folder() {
  char path[PATH_MAX];
  const ssize_t length = ::readlink("/proc/self/exe", path, sizeof path);
  const std::string program(path, length > 0 ? static_cast<size_t>(length) : 0);
  return program.substr(0, program.rfind('/') + 1);
}

absl::StatusOr<const mxc_mpi*> open_plugin(const std::string& file) {
  void* library = nullptr;
  std::string why;
  for (const std::string& path : file.empty() ? std::vector<std::string>{own_folder() + kFile, kFile} : std::vector<std::string>{file}) {
    library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);  // MPI's own plug-ins look for its symbols
    if (library != nullptr) break;
    why = ::dlerror();
  }
  if (library == nullptr) {
    return absl::UnimplementedError(absl::StrCat("MPI: ", why, file.empty() ? absl::StrCat("; ", kFile, " lies in lib/mxc of an mxc that was built where MPI is: "
                                                                                           "put it beside the program, or say --transport=mpi:FILE")
                                                                            : std::string()));
  }
  const auto entry = reinterpret_cast<mxc_mpi_entry>(::dlsym(library, "mxc_mpi_plugin"));
  const mxc_mpi* plugin = entry == nullptr ? nullptr : entry();
  if (plugin == nullptr || plugin->version != MXC_MPI_VERSION)
    return absl::UnimplementedError(absl::StrCat("MPI: ", file.empty() ? kFile : file, " is no plug-in of this version of mxc"));
  return plugin;
}

}  // namespace

absl::StatusOr<const mxc_mpi*> load_mpi(const std::string& file) {
  static std::mutex mutex;  // guards what follows
  static std::map<std::string, absl::StatusOr<const mxc_mpi*>> loaded;
  std::lock_guard lock(mutex);
  auto found = loaded.find(file);
  if (found == loaded.end()) found = loaded.emplace(file, open_plugin(file)).first;
  return found->second;
}

absl::Status check_ranks(int ranks, uint32_t size) {
  if (ranks == static_cast<int>(size)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("MPI's job has ", ranks, " ranks, and this one ", size, ": was it started by mpirun?"));
}

}  // namespace mxc::kv

// See state_folders.h.
#include "driver/state_folders.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "llvm/Support/FileSystem.h"
#include "runtime/kv/plan.h"
#include "runtime/kv/server_state.h"

namespace mxc::driver {

absl::Status StateFolders::open(const std::string& folder, bool shrinks, bool elsewhere) {
  folder_ = folder;
  shrinks_ = shrinks;
  if (elsewhere) return absl::OkStatus();
  struct stat info;
  if (stat(folder.c_str(), &info) != 0) return absl::InvalidArgumentError(absl::StrCat("--state: '", folder, "': ", strerror(errno)));
  if (!S_ISDIR(info.st_mode)) return absl::InvalidArgumentError(absl::StrCat("--state: '", folder, "' is no folder"));
  return absl::OkStatus();
}

absl::Status StateFolders::begin(int processes, int servers) {
  if (is_whole(now_)) {
    remove(before_);
    before_ = now_;
  } else {
    remove(now_);
  }
  now_ = {shrinks_ ? absl::StrCat(folder_, "/", ++count_) : folder_, processes, servers};
  if (shrinks_ && mkdir(now_.path.c_str(), 0700) != 0)
    return absl::InvalidArgumentError(absl::StrCat("--state: '", now_.path, "' cannot be made: ", strerror(errno)));
  return absl::OkStatus();
}

Variables StateFolders::variables() const {
  Variables variables = {{"MXC_STATE", now_.path}};
  if (before_.processes == 0) return variables;
  variables.push_back({"MXC_STATE_BEFORE", before_.path});
  variables.push_back({"MXC_SIZE_BEFORE", std::to_string(before_.processes)});
  variables.push_back({"MXC_SERVERS_BEFORE", std::to_string(before_.servers)});
  return variables;
}

bool StateFolders::is_whole(const Generation& generation) {
  for (int server = 0; server < generation.servers; ++server) {
    const uint32_t rank = kv::rank_of_server(static_cast<uint32_t>(server), generation.servers, generation.processes);
    if (access(kv::state_path(generation.path, rank).c_str(), F_OK) != 0) return false;
  }
  return generation.processes > 0;
}

void StateFolders::look() {
  if (before_.processes > 0 && is_whole(now_)) remove(before_);
}

void StateFolders::remove() {
  if (!shrinks_) return;  // processes remove their files themselves
  remove(before_);
  remove(now_);
}

void StateFolders::remove(Generation& generation) {
  if (generation.processes > 0) llvm::sys::fs::remove_directories(generation.path);
  generation = {};
}

}  // namespace mxc::driver

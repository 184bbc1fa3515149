// ResidualState: the residuals of a process's shards (shard_compression.h) in a job that waits for its dead, in a file beside its server's: those after the last step
// of each parameter, and those after the one before.
//
// A step's are kept before any of its contribution leaves. So if all values have a step, the file has the residuals after it: nobody has pushed more than one further.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/kv/identity.h"
#include "runtime/kv/state_file.h"

namespace mxc::train {

// Threads: any.
class ResidualState {
 public:
  // The memory of one parameter's residuals, of each of the process's shards; it outlives this.
  using Residuals = std::vector<std::span<char>>;

  // `program`: a number for it. A file that is made has the memory as it is now, after no step. Error: see kv::StateFile.
  static absl::StatusOr<std::unique_ptr<ResidualState>> open(const kv::Identity& identity, uint64_t program, std::vector<Residuals> kept);

  // One parameter's memory is as it is after so many steps; what is kept of such a step already stays, and is the same.
  void keep(uint32_t parameter, uint64_t steps);
  // Brings all memory to what was kept after so many steps. Error: it is not there.
  absl::Status restore(uint64_t steps) const;
  // The job is over.
  void remove() const { file_->remove(); }

 private:
  explicit ResidualState(std::vector<Residuals> kept) : kept_(std::move(kept)) {}
  void write(kv::StateFile& file, uint32_t parameter, uint64_t steps) const;

  const std::vector<Residuals> kept_;
  std::mutex mutex_;
  std::unique_ptr<kv::StateFile> file_;  // keep: under mutex_
};

}  // namespace mxc::train

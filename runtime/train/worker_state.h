// WorkerState: what a process that updates whole parameters itself (whole_update.h) must not forget when it dies, in a file beside its server's: parameters and
// optimizer state after the last update, and after the one before.
//
// Nothing of a step is pushed before the update of the step before is kept. So if all sums of a step are there, the file of each process has that step's update,
// or the one before, from which the sums make it again. All processes keep the same bits: those who go on without dead ones begin with rank 0's.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/kv/identity.h"
#include "runtime/kv/state_file.h"

namespace mxc::train {

class WorkerState {
 public:
  // `program`: a number for it. `kept`: the memory, which outlives this. Error: see kv::StateFile.
  static absl::StatusOr<std::unique_ptr<WorkerState>> open(const kv::Identity& identity, uint64_t program, std::vector<std::span<char>> kept);

  // The memory is as it is after so many updates.
  void keep(uint64_t updates);
  // Brings the memory to what was kept after so many updates, or one less; returns which. Error: neither is there.
  absl::StatusOr<uint64_t> restore(uint64_t updates) const;
  // The job is over.
  void remove() const { file_->remove(); }

 private:
  explicit WorkerState(std::vector<std::span<char>> kept) : kept_(std::move(kept)) {}

  const std::vector<std::span<char>> kept_;
  std::unique_ptr<kv::StateFile> file_;
};

}  // namespace mxc::train

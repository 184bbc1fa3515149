// Takeover: what the servers of a job had when some of its processes died, for the servers of those that go on without them.
//
// There are fewer servers then, and the keys are shared out otherwise: so each of the new servers reads the state files of all the old ones, and begins with
// its part of the values as they were after the last step that was in all of them. No value is more than one step ahead of that, and files have the last
// two of each. Files of the old servers do not change any more: all of the new ones find the same, and if one of these dies before each has made its own
// file, the old ones are taken over again.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/kv/identity.h"
#include "runtime/kv/plan.h"
#include "runtime/kv/server_state.h"

namespace mxc::kv {

class Takeover {
 public:
  // Requires: `before` are some; the processes before have ended; `now`, the plan of those that go on, lives as long as this. Nothing: not all values had been
  // initialised, the job begins anew. Error: a file cannot be read, or is not what it should be (state_file.h).
  static absl::StatusOr<std::optional<Takeover>> read(const Predecessors& before, uint64_t job, const CommunicationPlan& now);

  // That all values have.
  uint64_t step() const { return step_; }
  // Does a chunk of the plan of now have a value from before?
  bool has(uint32_t chunk) const;
  // Requires: it has.
  std::string value(uint32_t chunk) const;

 private:
  Takeover(std::unique_ptr<CommunicationPlan> before, const CommunicationPlan& now) : before_(std::move(before)), now_(&now) {}
  absl::StatusOr<bool> find_step();
  std::string_view value_before(uint32_t chunk) const;

  std::unique_ptr<CommunicationPlan> before_;  // the states refer to it
  const CommunicationPlan* now_;
  std::vector<std::unique_ptr<ServerState>> states_;  // by server before
  uint64_t step_ = 0;
};

}  // namespace mxc::kv

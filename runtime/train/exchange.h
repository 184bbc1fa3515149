// Exchange: where contributions of shards go, and updated values come from: this process itself, or the servers of a job.
//
// Keys are numbers, in the order in which they were given. Steps of a key count from 1. What is pushed and pulled is row-major.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/kv/process.h"
#include "runtime/train/job.h"
#include "runtime/train/key_updates.h"

namespace mxc::train {

class Exchange {
 public:
  virtual ~Exchange() = default;

  // Once, before what follows. `initial`: all keys' first values, in processes of rank 0; others' are not looked at.
  virtual absl::Status begin(std::vector<SharedKey> keys, int64_t shards, std::unique_ptr<KeyUpdates> updates,
                             std::vector<std::string> initial) = 0;

  // One sum for each of the parts of this process's shards (kv/tree.h); its weight: samples. `done`: they have been copied.
  virtual void push(uint32_t key, uint64_t step, std::vector<kv::PartOfKey> parts, int32_t priority, kv::Done done) = 0;
  // The value with so many steps in it, as the job's consistency has it, goes to `target`, which is the exchange's until `done`.
  virtual void pull(uint32_t key, uint64_t step, char* target, kv::Done done) = 0;
  // How many steps all of a key's value has; `steps` is the exchange's until `done`.
  virtual void ask(uint32_t key, uint64_t* steps, kv::Done done) = 0;

  // This process pushes nothing to the key from `step` on; one that is alone need not be told.
  virtual void finish(uint32_t, uint64_t) {}

  // Waits until what was pushed is in the values.
  virtual absl::Status flush() = 0;
  // Waits for all processes.
  virtual absl::Status barrier() = 0;
  // Nothing is pushed any more after `step` steps of each key in `steps`. Waits for all processes.
  virtual absl::Status close(const std::vector<uint64_t>& steps) = 0;
  // Ends the job in all processes, for this reason.
  virtual void fail(absl::Status why) = 0;
  // Why the job has failed; ok: it has not.
  virtual absl::Status status() const = 0;
  // What this process has exchanged; zeros if it is alone.
  virtual kv::Traffic traffic() const = 0;
  // What is under way ends with an error.
  virtual void stop() = 0;
};

std::unique_ptr<Exchange> make_own_exchange();
// Begins to look for the job's scheduler. Requires: job.identity.
absl::StatusOr<std::unique_ptr<Exchange>> join_exchange(const Job& job);

}  // namespace mxc::train

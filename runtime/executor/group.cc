// See group.h.
#include "runtime/executor/group.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/engine/core_status.h"

namespace mxc::executor {
absl::StatusOr<std::shared_ptr<Group>> Group::create(engine::Engine& engine, int threads, Device device) {
  std::shared_ptr<Group> group(new Group(engine, device));
  if (core::Status status = core::ThreadPool::create(threads, &group->pool_); !status.ok()) return engine::from_core(status);
  return group;
}

absl::Status Group::grow_arena(uint64_t bytes) {
  if (bytes <= bytes_) return absl::OkStatus();
  auto larger = std::make_shared<Region>(bytes);
  if (!larger->ok()) {
    return absl::ResourceExhaustedError(absl::StrCat("no memory for an arena of ", bytes, " bytes"));
  }
  bytes_ = bytes;
  newest_ = larger->base();
  ++runs;
  engine_.recover(memory_);
  engine_.push({.name = "grow the arena", .cheap = true}, {}, {memory_}, [self = shared_from_this(), larger, bytes] {
    self->arena_ = larger;
    self->mapped_ = bytes;
    return absl::OkStatus();
  });
  return absl::OkStatus();
}

SharedTensor* Group::find(const std::string& name) {
  for (SharedTensor& tensor : tensors) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

}  // namespace mxc::executor

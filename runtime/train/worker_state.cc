// See worker_state.h.
#include "runtime/train/worker_state.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"

namespace mxc::train {

namespace {

std::string path_of(const std::string& folder, uint32_t rank) { return absl::StrCat(folder, "/worker-", rank, ".state"); }

void copy(const kv::StateFile& from, uint32_t records, kv::StateFile& to) {
  for (uint32_t record = 0; record < records; ++record) {
    for (const std::optional<kv::StateFile::Copy>& copy : {from.before(record), from.newest(record)})
      if (copy.has_value()) to.write(record, copy->version, {{copy->bytes}});
  }
}

absl::Status missing(uint64_t updates) {
  return absl::InternalError(absl::StrCat("a process's state has neither parameters and optimizer state after ", updates, " updates, nor after one less"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<WorkerState>> WorkerState::open(const kv::Identity& identity, uint64_t program, std::vector<std::span<char>> kept) {
  std::vector<uint32_t> sizes;
  for (std::span<char> memory : kept) {
    if (memory.size() > UINT32_MAX) return absl::UnimplementedError(absl::StrCat("a tensor of ", memory.size(), " bytes in the state of a process: at most 4 GiB"));
    sizes.push_back(static_cast<uint32_t>(memory.size()));
  }
  std::unique_ptr<kv::StateFile> before;
  if (identity.before.size > 0) {
    auto read = kv::StateFile::read(path_of(identity.before.state_dir, 0), {identity.job, program, 0}, sizes);
    if (!read.ok()) return read.status();
    before = *std::move(read);
  }
  std::unique_ptr<WorkerState> made(new WorkerState(std::move(kept)));
  const auto records = static_cast<uint32_t>(sizes.size());
  auto file = kv::StateFile::open(path_of(identity.state_dir, identity.rank), {identity.job, program, identity.rank}, std::move(sizes),
                                  [&](kv::StateFile& fresh) {
                                    if (before != nullptr) copy(*before, records, fresh);
                                  });
  if (!file.ok()) return file.status();
  made->file_ = *std::move(file);
  return made;
}

void WorkerState::keep(uint64_t updates) {
  for (uint32_t record = 0; record < kept_.size(); ++record) {
    const std::string_view bytes(kept_[record].data(), kept_[record].size());
    file_->write(record, updates, {{bytes}});
  }
}

// A process that was killed while it kept an update has some tensors of that one, and of the others those of the one before.
absl::StatusOr<uint64_t> WorkerState::restore(uint64_t updates) const {
  uint64_t all_have = UINT64_MAX;
  for (uint32_t record = 0; record < kept_.size(); ++record) {
    const auto newest = file_->newest(record);
    if (!newest.has_value()) return missing(updates);
    all_have = std::min(all_have, newest->version);
  }
  bool whole = all_have == updates || all_have + 1 == updates;
  for (uint32_t record = 0; whole && record < kept_.size(); ++record) {
    const auto newest = file_->newest(record), before = file_->before(record);
    const auto& found = newest.has_value() && newest->version == all_have ? newest : before;
    whole = found.has_value() && found->version == all_have;
    if (whole) std::memcpy(kept_[record].data(), found->bytes.data(), found->bytes.size());
  }
  if (!whole) return missing(updates);
  return all_have;
}

}  // namespace mxc::train

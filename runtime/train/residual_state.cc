// See residual_state.h.
#include "runtime/train/residual_state.h"

#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"

namespace mxc::train {

absl::StatusOr<std::unique_ptr<ResidualState>> ResidualState::open(const kv::Identity& identity, uint64_t program, std::vector<Residuals> kept) {
  std::vector<uint32_t> sizes;
  for (const Residuals& residuals : kept) {
    uint64_t bytes = 0;
    for (std::span<char> memory : residuals) bytes += memory.size();
    if (bytes > UINT32_MAX) return absl::UnimplementedError(absl::StrCat("residuals of ", bytes, " bytes of a parameter in the state of a process: at most 4 GiB"));
    sizes.push_back(static_cast<uint32_t>(bytes));
  }
  std::unique_ptr<ResidualState> made(new ResidualState(std::move(kept)));
  const std::string path = absl::StrCat(identity.state_dir, "/residuals-", identity.rank, ".state");
  auto file = kv::StateFile::open(path, {identity.job, program, identity.rank}, std::move(sizes), [&](kv::StateFile& fresh) {
    for (uint32_t parameter = 0; parameter < made->kept_.size(); ++parameter) made->write(fresh, parameter, 0);
  });
  if (!file.ok()) return file.status();
  made->file_ = *std::move(file);
  return made;
}

void ResidualState::write(kv::StateFile& file, uint32_t parameter, uint64_t steps) const {
  std::vector<std::string_view> pieces;
  for (std::span<char> memory : kept_[parameter]) pieces.emplace_back(memory.data(), memory.size());
  file.write(parameter, steps, pieces);
}

// Who computes a step again must not write over the one before: that may be asked for again.
void ResidualState::keep(uint32_t parameter, uint64_t steps) {
  const std::lock_guard lock(mutex_);
  const auto newest = file_->newest(parameter);
  if (!newest.has_value() || newest->version < steps) write(*file_, parameter, steps);
}

absl::Status ResidualState::restore(uint64_t steps) const {
  for (uint32_t parameter = 0; parameter < kept_.size(); ++parameter) {
    const auto newest = file_->newest(parameter), before = file_->before(parameter);
    const auto& found = newest.has_value() && newest->version == steps ? newest : before;
    if (!found.has_value() || found->version != steps)
      return absl::InternalError(absl::StrCat("a process's state lacks what compression had left out after step ", steps));
    size_t at = 0;
    for (std::span<char> memory : kept_[parameter]) {
      std::memcpy(memory.data(), found->bytes.data() + at, memory.size());
      at += memory.size();
    }
  }
  return absl::OkStatus();
}

}  // namespace mxc::train

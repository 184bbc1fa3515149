// See kind.h.
#include "runtime/kv/kind.h"

#include <algorithm>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "runtime/io/printable.h"

namespace mxc::kv {

namespace {

std::string quoted(const std::string& name) { return absl::StrCat("'", io::printable(name, io::kMostShown), "'"); }

// Insertions, deletions and changes of letters.
size_t distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t changed = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

absl::StatusOr<StoreKind> parse_kind(const std::string& kind) {
  if (kind == "local") return StoreKind{};
  if (kind == "dist_sync") return StoreKind{true, {}};
  if (kind == "dist_async") return StoreKind{true, {.kind = Consistency::Kind::async}};
  absl::string_view rest = kind;
  uint64_t staleness = 0;
  if (absl::ConsumePrefix(&rest, "dist_bounded:")) {
    if (absl::SimpleAtoi(rest, &staleness) && staleness <= 1000) return StoreKind{true, {.staleness = staleness}};
    return absl::InvalidArgumentError(
        absl::StrCat(quoted(kind), ": a number of steps from 0 to 1000 is expected after dist_bounded:"));
  }
  std::string nearest = "local";
  for (const char* known : {"dist_sync", "dist_async", "dist_bounded:1"})
    nearest = distance(kind, known) < distance(kind, nearest) ? known : nearest;
  const std::string meant = distance(kind, nearest) <= kind.size() / 3
                                ? absl::StrCat("; did you mean '", nearest, "'?")
                                : ": one of local, dist_sync, dist_bounded:STEPS, dist_async";
  return absl::InvalidArgumentError(absl::StrCat("there is no kind ", quoted(kind), meant));
}

absl::Status set_local(const std::string& model, StoreKind& kind) {
  if (model.empty() || model == "sync") return absl::OkStatus();
  if (model != "async") return absl::InvalidArgumentError(absl::StrCat(quoted(model), " is neither sync nor async"));
  if (!kind.distributed || !kind.consistency.is_async())
    return absl::InvalidArgumentError("async is for dist_async: of the other kinds a step is one sum of all shards, and none can go before it");
  kind.consistency.each_shard = true;
  return absl::OkStatus();
}

}  // namespace mxc::kv

// See hold_out.h.
#include "runtime/io/hold_out.h"

#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "runtime/io/shuffle.h"

namespace mxc::io {
namespace {

// Some rows of a data set.
class Subset : public Dataset {
 public:
  Subset(std::shared_ptr<const Dataset> whole, std::vector<int64_t> rows) : whole_(std::move(whole)), rows_(std::move(rows)) {}

  int64_t count() const override { return static_cast<int64_t>(rows_.size()); }
  const std::vector<Field>& fields() const override { return whole_->fields(); }

  absl::Status read(int field, const int64_t* rows, int64_t n, void* out) const override {
    return whole_->read(field, rows_of_whole(rows, n).data(), n, out);
  }
  absl::Status read_varied(int field, const int64_t* rows, int64_t n, const Variation& variation, void* out) const override {
    return whole_->read_varied(field, rows_of_whole(rows, n).data(), n, variation, out);
  }

 private:
  std::vector<int64_t> rows_of_whole(const int64_t* rows, int64_t n) const {
    std::vector<int64_t> mapped(n);
    for (int64_t i = 0; i < n; ++i) mapped[i] = rows_[rows[i]];
    return mapped;
  }

  std::shared_ptr<const Dataset> whole_;
  std::vector<int64_t> rows_;
};

}  // namespace

DataSplits hold_out(std::unique_ptr<Dataset> whole, double fraction, uint64_t seed) {
  const std::vector<int64_t> order = shuffled(whole->count(), seed, 0, ShuffleStream::holdout);
  const int64_t held = std::llround(fraction * static_cast<double>(whole->count()));
  std::vector<bool> is_test(whole->count(), false);
  for (int64_t i = 0; i < held; ++i) is_test[order[i]] = true;
  std::vector<int64_t> train, test;
  for (int64_t row = 0; row < whole->count(); ++row) (is_test[row] ? test : train).push_back(row);

  const std::shared_ptr<const Dataset> shared = std::move(whole);
  DataSplits splits;
  if (!train.empty()) splits.train = std::make_unique<Subset>(shared, std::move(train));
  if (!test.empty()) splits.test = std::make_unique<Subset>(shared, std::move(test));
  return splits;
}

absl::StatusOr<DataSplits> hold_out(const Uri& uri, std::unique_ptr<Dataset> whole) {
  double fraction = 0;
  uint64_t seed = 0;
  if (const std::string* text = uri.find("holdout")) {
    if (!absl::SimpleAtod(*text, &fraction) || !(fraction > 0 && fraction < 1)) {
      return absl::InvalidArgumentError(absl::StrCat(uri.text, ": holdout must be a fraction between 0 and 1, not '", *text, "'"));
    }
  }
  if (const std::string* text = uri.find("holdout_seed"); text != nullptr && !absl::SimpleAtoi(*text, &seed)) {
    return absl::InvalidArgumentError(absl::StrCat(uri.text, ": holdout_seed must be a whole number, not '", *text, "'"));
  }
  DataSplits splits;
  if (fraction == 0) {
    splits.train = std::move(whole);
    return splits;
  }
  splits = hold_out(std::move(whole), fraction, seed);
  if (splits.train == nullptr || splits.test == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(uri.text, ": holdout leaves one side without samples"));
  }
  return splits;
}

}  // namespace mxc::io

// Data made of random numbers: no file, no memory. Element e of sample r of input number i is the draw (seed, stream i, r, e) of Philox.
#include <cmath>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "runtime/core/philox.h"
#include "runtime/core/plan_view.h"
#include "runtime/io/bind.h"
#include "runtime/io/hold_out.h"
#include "runtime/io/sources.h"

namespace mxc::io {
namespace {

using plan::DType;

constexpr int64_t kMostSamples = 100'000'000;  // their order in an epoch is in memory, 8 bytes each
constexpr double kPi = 3.14159265358979323846;

// How the numbers of an input are spread: uniform in [low, high), or standard normal.
struct Spread {
  bool normal = true;
  double low = 0, high = 0;
};

class RandomData : public Dataset {
 public:
  RandomData(std::vector<Field> fields, std::vector<Spread> spreads, int64_t count, uint64_t seed)
      : fields_(std::move(fields)), spreads_(std::move(spreads)), count_(count), seed_(seed) {}

  int64_t count() const override { return count_; }
  const std::vector<Field>& fields() const override { return fields_; }

  absl::Status read(int field, const int64_t* rows, int64_t n, void* out) const override {
    switch (fields_[field].dtype) {
      case DType::f32: fill(field, rows, n, static_cast<float*>(out)); break;
      case DType::f64: fill(field, rows, n, static_cast<double*>(out)); break;
      case DType::i32: fill(field, rows, n, static_cast<int32_t*>(out)); break;
      case DType::i64: fill(field, rows, n, static_cast<int64_t*>(out)); break;
      default: fill(field, rows, n, static_cast<uint8_t*>(out)); break;
    }
    return absl::OkStatus();
  }

 private:
  template <typename T>
  void fill(int field, const int64_t* rows, int64_t n, T* out) const {
    const core::PhiloxKey key = core::philox_key(seed_, 0, 0, static_cast<uint32_t>(field));
    const Spread& spread = spreads_[field];
    const int64_t elements = fields_[field].elements();
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t e = 0; e < elements; ++e) *out++ = static_cast<T>(number(spread, key, rows[i], e));
    }
  }

  static double number(const Spread& spread, core::PhiloxKey key, int64_t row, int64_t element) {
    const double u = core::philox_uniform(core::philox_draw64(key, row, 2 * element));
    if (!spread.normal) return spread.low + u * (spread.high - spread.low);
    // Box and Muller; 1 - u is above 0.
    const double v = core::philox_uniform(core::philox_draw64(key, row, 2 * element + 1));
    return std::sqrt(-2 * std::log(1 - u)) * std::cos(2 * kPi * v);
  }

  std::vector<Field> fields_;
  std::vector<Spread> spreads_;
  int64_t count_;
  uint64_t seed_;
};

// Reads LOW:HIGH, or takes the model's classes.
absl::StatusOr<Spread> spread_of(const Uri& uri, const Field& input) {
  Spread spread;
  if (const std::string* text = uri.find(input.name)) {
    const size_t colon = text->find(':');
    spread.normal = false;
    const bool good = colon != std::string::npos && absl::SimpleAtod(text->substr(0, colon), &spread.low) &&
                      absl::SimpleAtod(text->substr(colon + 1), &spread.high) && spread.low < spread.high &&
                      std::isfinite(spread.high - spread.low);
    if (!good) return absl::InvalidArgumentError(absl::StrCat(uri.text, ": ", input.name, " must be LOW:HIGH, not '", *text, "'"));
    if (is_floating(input.dtype)) return spread;
    const double most = input.dtype == DType::u8 ? 256 : input.dtype == DType::i32 ? 0x1p31 : 0x1p53;
    const double least = input.dtype == DType::u8 ? 0 : -most;
    const bool whole = spread.low == std::floor(spread.low) && spread.high == std::floor(spread.high);
    const bool classes = input.upper_bound == 0 || (spread.low >= 0 && spread.high <= static_cast<double>(input.upper_bound));
    if (whole && classes && spread.low >= least && spread.high <= most) return spread;
    const std::string range = input.upper_bound == 0 ? "" : absl::StrCat(" within the model's classes 0:", input.upper_bound);
    return absl::InvalidArgumentError(absl::StrCat(uri.text, ": ", input.name, " is ", core::dtype_name(input.dtype), ": ", *text,
                                                   " must be whole numbers", range));
  }
  if (is_floating(input.dtype)) return spread;
  if (input.upper_bound == 0 && input.dtype != DType::u8) {
    return absl::InvalidArgumentError(absl::StrCat(uri.text, ": how large the integers of '", input.name,
                                                   "' may be is not known; say it with ", input.name, "=LOW:HIGH"));
  }
  return Spread{false, 0, input.upper_bound == 0 ? 256.0 : static_cast<double>(input.upper_bound)};
}

}  // namespace

absl::StatusOr<DataSplits> open_random(const Uri& uri, const std::vector<Field>& inputs) {
  if (absl::Status status = check_parameters(uri, {"seed", "holdout", "holdout_seed"}, inputs); !status.ok()) return status;
  int64_t count = 0;
  if (!absl::SimpleAtoi(uri.path, &count) || count < 1) {
    return absl::InvalidArgumentError(absl::StrCat(uri.text, ": after random: comes the number of samples, not '", uri.path, "'"));
  }
  if (count > kMostSamples) {
    return absl::InvalidArgumentError(absl::StrCat(uri.text, ": at most ", kMostSamples, " samples are possible"));
  }
  uint64_t seed = 0;
  if (const std::string* text = uri.find("seed"); text != nullptr && !absl::SimpleAtoi(*text, &seed)) {
    return absl::InvalidArgumentError(absl::StrCat(uri.text, ": seed must be a whole number, not '", *text, "'"));
  }
  std::vector<Spread> spreads;
  for (const Field& input : inputs) {
    const bool known = input.dtype == DType::f32 || input.dtype == DType::f64 || input.dtype == DType::i32 ||
                       input.dtype == DType::i64 || input.dtype == DType::u8;
    if (!known)
      return absl::UnimplementedError(absl::StrCat("input '", input.name, "': data of type ", core::dtype_name(input.dtype)));
    auto spread = spread_of(uri, input);
    if (!spread.ok()) return spread.status();
    spreads.push_back(*spread);
  }
  return hold_out(uri, std::make_unique<RandomData>(inputs, std::move(spreads), count, seed));
}

}  // namespace mxc::io

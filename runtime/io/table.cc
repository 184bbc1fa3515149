// See table.h.
#include "runtime/io/table.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/core/plan_view.h"
#include "runtime/io/shuffle.h"

namespace mxc::io {
namespace {

using plan::DType;

// Calls `visit` with a null pointer of the C++ type of a dtype that a column or an input may have.
template <typename Visit>
bool with_type(DType dtype, Visit visit) {
  switch (dtype) {
    case DType::f32: visit(static_cast<float*>(nullptr)); return true;
    case DType::f64: visit(static_cast<double*>(nullptr)); return true;
    case DType::i8: visit(static_cast<int8_t*>(nullptr)); return true;
    case DType::boolean:
    case DType::u8: visit(static_cast<uint8_t*>(nullptr)); return true;
    case DType::i32: visit(static_cast<int32_t*>(nullptr)); return true;
    case DType::i64: visit(static_cast<int64_t*>(nullptr)); return true;
    case DType::f16:
    case DType::bf16: return false;
  }
  return false;
}

template <typename From, typename To>
void convert(const From* from, int64_t count, double divisor, To* to) {
  if constexpr (std::is_floating_point_v<To>) {
    if (std::is_same_v<From, uint8_t> && count > 256) {  // pictures: a table saves the divisions
      To quotient[256];
      for (int i = 0; i < 256; ++i) quotient[i] = static_cast<To>(i / divisor);
      for (int64_t i = 0; i < count; ++i) to[i] = quotient[static_cast<uint8_t>(from[i])];
      return;
    }
    if (divisor != 1) {
      for (int64_t i = 0; i < count; ++i) to[i] = static_cast<To>(static_cast<double>(from[i]) / divisor);
      return;
    }
  }
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<To>(from[i]);
}

class Table : public Dataset {
 public:
  Table(std::vector<Field> fields, std::shared_ptr<const std::vector<Column>> columns, int64_t count)
      : fields_(std::move(fields)), columns_(std::move(columns)), count_(count) {}

  int64_t count() const override { return count_; }
  const std::vector<Field>& fields() const override { return fields_; }

  absl::Status read(int field, const int64_t* rows, int64_t n, void* out) const override {
    const Column& column = (*columns_)[field];
    const int64_t elements = column.elements();
    with_type(column.stored, [&](auto* from_type) {
      with_type(fields_[field].dtype, [&](auto* to_type) {
        using From = std::remove_pointer_t<decltype(from_type)>;
        using To = std::remove_pointer_t<decltype(to_type)>;
        for (int64_t i = 0; i < n; ++i) {
          const int64_t row = rows_.empty() ? rows[i] : rows_[rows[i]];
          convert(reinterpret_cast<const From*>(column.bytes.data()) + row * elements, elements, column.divisor,
                  static_cast<To*>(out) + i * elements);
        }
      });
    });
    return absl::OkStatus();
  }

  std::unique_ptr<Table> subset(std::vector<int64_t> rows) const {
    auto table = std::make_unique<Table>(fields_, columns_, static_cast<int64_t>(rows.size()));
    table->rows_ = std::move(rows);
    return table;
  }

 private:
  std::vector<Field> fields_;
  std::shared_ptr<const std::vector<Column>> columns_;
  std::vector<int64_t> rows_;  // empty: all
  int64_t count_;
};

// What is wrong with a number as a value of an integer input, or nullopt.
template <typename From>
std::optional<std::string> integer_fault(From value, const Field& input) {
  double low = 0, high = 0;
  with_type(input.dtype, [&](auto* type) {
    using To = std::remove_pointer_t<decltype(type)>;
    low = static_cast<double>(std::numeric_limits<To>::lowest());
    high = static_cast<double>(std::numeric_limits<To>::max());
  });
  const double number = static_cast<double>(value);
  if (!(number == std::floor(number))) return absl::StrCat(number, " is not an integer");
  if (input.upper_bound > 0 && (number < 0 || number >= static_cast<double>(input.upper_bound))) {
    return absl::StrCat(static_cast<int64_t>(number), " is outside the model's classes [0, ", input.upper_bound, ")");
  }
  if (number < low || number > high) return absl::StrCat(number, " does not fit ", core::dtype_name(input.dtype));
  return std::nullopt;
}

absl::Status check_integers(const Column& column, const Field& input) {
  absl::Status status;
  with_type(column.stored, [&](auto* type) {
    using From = std::remove_pointer_t<decltype(type)>;
    const From* values = reinterpret_cast<const From*>(column.bytes.data());
    const int64_t elements = column.elements();
    const int64_t total = column.rows() * elements;
    for (int64_t i = 0; i < total; ++i) {
      if (auto fault = integer_fault(values[i], input)) {
        status = absl::InvalidArgumentError(absl::StrCat(column.place(i / elements, i % elements), ": ", input.name, " ", *fault));
        return;
      }
    }
  });
  return status;
}

std::string names_of(const std::vector<Column>& columns) {
  return absl::StrJoin(columns, ", ", [](std::string* out, const Column& column) {
    absl::StrAppend(out, column.name, " (", shape_text(column.shape), ")");
  });
}

bool agrees(const Column& column, const Field& input) {
  return shapes_agree(column.shape, input.shape) && (is_floating(input.dtype) || !is_floating(column.stored));
}

// Index of the column for inputs[i], -1 if an optional input has none.
class Binder {
 public:
  Binder(const Uri& uri, const std::vector<Field>& inputs, const std::vector<Column>& columns)
      : uri_(uri), inputs_(inputs), columns_(columns), chosen_(inputs.size(), -1), used_(columns.size(), false) {}

  absl::StatusOr<std::vector<int>> bind() {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const std::string* asked = uri_.find(inputs_[i].name);
      const int column = find(asked != nullptr ? *asked : inputs_[i].name);
      if (column < 0 && asked != nullptr) {
        return absl::InvalidArgumentError(
            absl::StrCat(uri_.text, ": there is no field '", *asked, "'; fields: ", names_of(columns_)));
      }
      if (column >= 0) take(i, column);
    }
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (chosen_[i] >= 0) continue;
      const int column = only_candidate(inputs_[i]);
      if (column >= 0) {
        take(i, column);
      } else if (!inputs_[i].optional) {
        return absl::InvalidArgumentError(absl::StrCat(uri_.text, ": no field for the model's input '", inputs_[i].name, "' (",
                                                       shape_text(inputs_[i].shape), " ", core::dtype_name(inputs_[i].dtype),
                                                       "); fields: ", names_of(columns_)));
      }
    }
    return chosen_;
  }

 private:
  int find(const std::string& name) const {
    for (size_t c = 0; c < columns_.size(); ++c) {
      if (columns_[c].name == name) return static_cast<int>(c);
    }
    return -1;
  }

  int only_candidate(const Field& input) const {
    int candidate = -1;
    for (size_t c = 0; c < columns_.size(); ++c) {
      if (used_[c] || !agrees(columns_[c], input)) continue;
      if (candidate >= 0) return -1;
      candidate = static_cast<int>(c);
    }
    return candidate;
  }

  void take(size_t input, int column) {
    chosen_[input] = column;
    used_[column] = true;
  }

  const Uri& uri_;
  const std::vector<Field>& inputs_;
  const std::vector<Column>& columns_;
  std::vector<int> chosen_;
  std::vector<bool> used_;
};

absl::Status check_parameters(const Uri& uri, const std::vector<std::string>& options, const std::vector<Field>& inputs) {
  for (const auto& [key, value] : uri.parameters) {
    bool known = false;
    for (const std::string& option : options) known |= option == key;
    for (const Field& input : inputs) known |= input.name == key;
    if (known) continue;
    std::vector<std::string> names = options;
    for (const Field& input : inputs) names.push_back(absl::StrCat(input.name, " (input)"));
    return absl::InvalidArgumentError(
        absl::StrCat(uri.text, ": unknown parameter '", key, "'; known: ", absl::StrJoin(names, ", ")));
  }
  return absl::OkStatus();
}

absl::Status check_column(const Uri& uri, const Column& column, const Field& input) {
  if (input.dtype == DType::f16 || input.dtype == DType::bf16) {
    return absl::UnimplementedError(absl::StrCat("input '", input.name, "': data of type ", core::dtype_name(input.dtype)));
  }
  if (!shapes_agree(column.shape, input.shape)) {
    return absl::InvalidArgumentError(absl::StrCat(uri.text, ": field '", column.name, "' has shape ", shape_text(column.shape),
                                                   ", the model's input '", input.name, "' wants ", shape_text(input.shape)));
  }
  return is_floating(input.dtype) ? absl::OkStatus() : check_integers(column, input);
}

std::vector<int64_t> without_ones(const std::vector<int64_t>& shape) {
  std::vector<int64_t> out;
  for (int64_t extent : shape) {
    if (extent != 1) out.push_back(extent);
  }
  return out;
}

}  // namespace

int64_t Column::elements() const {
  int64_t product = 1;
  for (int64_t extent : shape) product *= extent;
  return product;
}

int64_t Column::rows() const {
  const int64_t row_bytes = elements() * core::dtype_bytes(stored);
  return row_bytes == 0 ? 0 : static_cast<int64_t>(bytes.size()) / row_bytes;
}

bool shapes_agree(const std::vector<int64_t>& have, const std::vector<int64_t>& want) {
  const std::vector<int64_t> a = without_ones(have), b = without_ones(want);
  if (a == b) return true;
  int64_t products[2] = {1, 1};
  for (int64_t extent : a) products[0] *= extent;
  for (int64_t extent : b) products[1] *= extent;
  return products[0] == products[1] && (a.size() == 1 || b.size() == 1);
}

absl::StatusOr<std::unique_ptr<Dataset>> make_table(const Uri& uri, const std::vector<std::string>& options,
                                                    const std::vector<Field>& inputs, std::vector<Column> columns) {
  if (absl::Status status = check_parameters(uri, options, inputs); !status.ok()) return status;
  auto chosen = Binder(uri, inputs, columns).bind();
  if (!chosen.ok()) return chosen.status();

  std::vector<Field> fields;
  auto kept = std::make_shared<std::vector<Column>>();
  for (size_t i = 0; i < inputs.size(); ++i) {
    if ((*chosen)[i] < 0) continue;
    Column& column = columns[(*chosen)[i]];
    if (absl::Status status = check_column(uri, column, inputs[i]); !status.ok()) return status;
    fields.push_back(inputs[i]);
    const bool again = std::count(chosen->begin() + static_cast<int64_t>(i) + 1, chosen->end(), (*chosen)[i]) > 0;
    kept->push_back(again ? Column(column) : std::move(column));
    if (kept->back().rows() != kept->front().rows()) {
      return absl::InvalidArgumentError(absl::StrCat(uri.text, ": field '", kept->front().name, "' has ", kept->front().rows(),
                                                     " samples, '", kept->back().name, "' has ", kept->back().rows()));
    }
  }
  if (kept->empty()) return absl::InvalidArgumentError(absl::StrCat(uri.text, ": no field for any input of the model"));
  const int64_t count = kept->front().rows();
  if (count == 0) return absl::InvalidArgumentError(absl::StrCat(uri.text, ": there are no samples"));
  return std::make_unique<Table>(std::move(fields), std::move(kept), count);
}

DataSplits hold_out(std::unique_ptr<Dataset> whole, double fraction, uint64_t seed) {
  const Table& table = static_cast<const Table&>(*whole);
  const std::vector<int64_t> order = shuffled(table.count(), seed, 0, ShuffleStream::holdout);
  const int64_t held = std::llround(fraction * static_cast<double>(table.count()));
  std::vector<bool> is_test(table.count(), false);
  for (int64_t i = 0; i < held; ++i) is_test[order[i]] = true;
  std::vector<int64_t> train, test;
  for (int64_t row = 0; row < table.count(); ++row) (is_test[row] ? test : train).push_back(row);

  DataSplits splits;
  if (!train.empty()) splits.train = table.subset(std::move(train));
  if (!test.empty()) splits.test = table.subset(std::move(test));
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

absl::StatusOr<double> scale_of(const Uri& uri, double fallback) {
  const std::string* text = uri.find("scale");
  double scale = fallback;
  if (text != nullptr && (!absl::SimpleAtod(*text, &scale) || !(scale > 0) || !std::isfinite(scale))) {
    return absl::InvalidArgumentError(absl::StrCat(uri.text, ": scale must be a positive number, not '", *text, "'"));
  }
  return scale;
}

}  // namespace mxc::io

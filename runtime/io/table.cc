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
#include "runtime/core/plan_view.h"
#include "runtime/io/bind.h"

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
  Table(std::vector<Field> fields, std::vector<Column> columns, int64_t count)
      : fields_(std::move(fields)), columns_(std::move(columns)), count_(count) {}

  int64_t count() const override { return count_; }
  const std::vector<Field>& fields() const override { return fields_; }

  absl::Status read(int field, const int64_t* rows, int64_t n, void* out) const override {
    const Column& column = columns_[field];
    const int64_t elements = column.elements();
    with_type(column.stored, [&](auto* from_type) {
      with_type(fields_[field].dtype, [&](auto* to_type) {
        using From = std::remove_pointer_t<decltype(from_type)>;
        using To = std::remove_pointer_t<decltype(to_type)>;
        for (int64_t i = 0; i < n; ++i) {
          convert(reinterpret_cast<const From*>(column.bytes.data()) + rows[i] * elements, elements, column.divisor,
                  static_cast<To*>(out) + i * elements);
        }
      });
    });
    return absl::OkStatus();
  }

 private:
  std::vector<Field> fields_;
  std::vector<Column> columns_;
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

absl::Status check_column(const Uri& uri, const Column& column, const Field& input) {
  if (input.dtype == DType::f16 || input.dtype == DType::bf16) {
    return absl::UnimplementedError(absl::StrCat("input '", input.name, "': data of type ", core::dtype_name(input.dtype)));
  }
  if (column.stored == DType::f16) {
    return absl::UnimplementedError(absl::StrCat(uri.text, ": field '", column.name, "' is f16: data are f32, f64, or integers"));
  }
  if (!shapes_agree(column.shape, input.shape)) {
    return absl::InvalidArgumentError(absl::StrCat(uri.text, ": field '", column.name, "' has shape ", shape_text(column.shape),
                                                   ", the model's input '", input.name, "' wants ", shape_text(input.shape)));
  }
  return is_floating(input.dtype) ? absl::OkStatus() : check_integers(column, input);
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

absl::StatusOr<std::unique_ptr<Dataset>> make_table(const Uri& uri, const std::vector<std::string>& options,
                                                    const std::vector<Field>& inputs, std::vector<Column> columns) {
  if (absl::Status status = check_parameters(uri, options, inputs); !status.ok()) return status;
  std::vector<Field> offered;
  for (const Column& column : columns) offered.push_back({column.name, column.stored, column.shape, 0, false});
  auto chosen = bind_fields(uri, inputs, offered);
  if (!chosen.ok()) return chosen.status();

  std::vector<Field> fields;
  std::vector<Column> kept;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if ((*chosen)[i] < 0) continue;
    Column& column = columns[(*chosen)[i]];
    if (absl::Status status = check_column(uri, column, inputs[i]); !status.ok()) return status;
    fields.push_back(inputs[i]);
    const bool again = std::count(chosen->begin() + static_cast<int64_t>(i) + 1, chosen->end(), (*chosen)[i]) > 0;
    kept.push_back(again ? Column(column) : std::move(column));
    if (kept.back().rows() != kept.front().rows()) {
      return absl::InvalidArgumentError(absl::StrCat(uri.text, ": field '", kept.front().name, "' has ", kept.front().rows(),
                                                     " samples, '", kept.back().name, "' has ", kept.back().rows()));
    }
  }
  if (kept.empty()) return absl::InvalidArgumentError(absl::StrCat(uri.text, ": no field for any input of the model"));
  const int64_t count = kept.front().rows();
  if (count == 0) return absl::InvalidArgumentError(absl::StrCat(uri.text, ": there are no samples"));
  return std::make_unique<Table>(std::move(fields), std::move(kept), count);
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

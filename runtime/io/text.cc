// Windows of a text, for models of what comes next. A byte is a number, so that no vocabulary has to go with a checkpoint.
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "runtime/io/hold_out.h"
#include "runtime/io/read_file.h"
#include "runtime/io/sources.h"
#include "runtime/io/table.h"

namespace mxc::io {
namespace {

// Windows of `length` bytes of `text`, `stride` apart, the first at `start`.
Column make_column(const char* name, const std::string& path, const std::string& text, int64_t start, int64_t length,
                   int64_t stride, int64_t rows) {
  Column column;
  column.name = name;
  column.shape = {length};
  for (int64_t row = 0; row < rows; ++row) column.bytes.append(text, start + row * stride, length);
  column.place = [=](int64_t row, int64_t element) { return absl::StrCat(path, ": byte ", start + row * stride + element); };
  return column;
}

}  // namespace

absl::StatusOr<DataSplits> open_text(const Uri& uri, const std::vector<Field>& inputs) {
  int64_t length = 0;
  for (const Field& input : inputs) {
    if (length == 0 && input.shape.size() == 1) length = input.shape[0];
  }
  if (length == 0)
    return absl::InvalidArgumentError(absl::StrCat(uri.text, ": no input of the model has one axis (the places in a text)"));
  int64_t stride = length;
  if (const std::string* text = uri.find("stride"); text != nullptr && (!absl::SimpleAtoi(*text, &stride) || stride < 1)) {
    return absl::InvalidArgumentError(absl::StrCat(uri.text, ": stride must be a positive whole number, not '", *text, "'"));
  }
  auto text = read_file_unpacked(uri.path);
  if (!text.ok()) return text.status();
  const int64_t size = static_cast<int64_t>(text->size());
  if (size < length + 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(uri.path, ": the text has ", size, " bytes, a window of the model and its successor ", length + 1));
  }
  const int64_t rows = (size - length - 1) / stride + 1;
  std::vector<Column> columns;
  columns.push_back(make_column("text", uri.path, *text, 0, length, stride, rows));
  columns.push_back(make_column("next", uri.path, *text, 1, length, stride, rows));
  auto whole = make_table(uri, {"stride", "holdout", "holdout_seed"}, inputs, std::move(columns));
  if (!whole.ok()) return whole.status();
  return hold_out(uri, *std::move(whole));
}

}  // namespace mxc::io

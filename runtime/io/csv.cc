// CSV: rows of numbers, one sample each. The address says which columns make which input (sources.h); here the file is cut into
// cells, the columns are assigned, and only the cells that are asked for must be numbers. Columns count from 0 in addresses
// and messages, lines from 1.
#include <charconv>
#include <cmath>
#include <cstring>

#include "absl/strings/charconv.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/io/hold_out.h"
#include "runtime/io/printable.h"
#include "runtime/io/read_file.h"
#include "runtime/io/sources.h"
#include "runtime/io/table.h"

namespace mxc::io {
namespace {

// A cell: a piece of the file's text, without surrounding blanks and quotes.
struct Cell {
  const char* begin;
  const char* end;
  std::string text() const { return std::string(begin, end); }
};

// What is written like a number. One too large is infinite, one too small 0.
bool parse_any(const Cell& cell, double* value) {
  const char* begin = cell.begin;
  if (begin != cell.end && *begin == '+') ++begin;
  const auto result = std::from_chars(begin, cell.end, *value);
  if (result.ec == std::errc::result_out_of_range) {
    absl::from_chars(begin, cell.end, *value);  // the largest number, or one next to 0
    *value = std::fabs(*value) > 1 ? HUGE_VAL : std::copysign(0.0, *value);
  }
  return result.ec != std::errc::invalid_argument && result.ptr == cell.end;
}

// Finite ones alone: nobody trains on purpose on a column with a NaN in it.
bool parse_number(const Cell& cell, double* value) { return parse_any(cell, value) && std::isfinite(*value); }

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

Cell trimmed(const char* begin, const char* end) {
  while (begin != end && is_blank(*begin)) ++begin;
  while (begin != end && is_blank(end[-1])) --end;
  if (end - begin >= 2 && *begin == '"' && end[-1] == '"') return {begin + 1, end - 1};
  return {begin, end};
}

// Cuts a line at its commas; a comma inside quotes does not count.
void split_line(const char* begin, const char* end, std::vector<Cell>* cells) {
  cells->clear();
  bool quoted = false;
  const char* start = begin;
  for (const char* p = begin; p != end; ++p) {
    if (*p == '"') quoted = !quoted;
    if (*p != ',' || quoted) continue;
    cells->push_back(trimmed(start, p));
    start = p + 1;
  }
  cells->push_back(trimmed(start, end));
}

// Walks over the lines of a text that are not blank.
class Lines {
 public:
  explicit Lines(const std::string& text) : at_(text.data()), end_(text.data() + text.size()) {
    if (text.compare(0, 3, "\xef\xbb\xbf") == 0) at_ += 3;
  }
  // False at the end of the text.
  bool next(std::vector<Cell>* cells) {
    while (at_ < end_) {
      const char* stop = static_cast<const char*>(std::memchr(at_, '\n', end_ - at_));
      if (stop == nullptr) stop = end_;
      const char* begin = at_;
      at_ = stop + 1;
      ++number_;
      bool blank = true;
      for (const char* p = begin; p != stop && blank; ++p) blank = is_blank(*p);
      if (blank) continue;
      split_line(begin, stop, cells);
      return true;
    }
    return false;
  }
  int64_t number() const { return number_; }

 private:
  const char* at_;
  const char* end_;
  int64_t number_ = 0;
};

// The columns of a file and which input takes which.
struct Layout {
  int64_t line = 0;  // of the first row
  int64_t width = 0;
  std::string separator;  // what seems to stand between the cells instead of commas; empty: nothing
  bool has_header = false;
  bool may_have_header = false;             // nobody said that the first row, a sample, is none
  std::vector<std::string> names;           // of the header; empty without one
  std::vector<std::vector<int64_t>> taken;  // by input; empty: an optional input that is not there
};

// A guess why there are so few columns.
std::string other_separator(const Layout& layout) {
  return layout.separator.empty() ? "" : absl::StrCat("; commas must stand between the cells, not ", layout.separator);
}

absl::StatusOr<int64_t> find_column(const Uri& uri, const Layout& layout, const std::string& text) {
  for (size_t c = 0; c < layout.names.size(); ++c) {
    if (layout.names[c] == text) return static_cast<int64_t>(c);
  }
  int64_t number = 0;
  if (!absl::SimpleAtoi(text, &number) || number < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(uri.path, ": there is no column '", text, "'",
                     layout.has_header ? " in the header" : " (the file has no header: use numbers)"));
  }
  if (number >= layout.width) {
    return absl::InvalidArgumentError(absl::StrCat(uri.path, ":", layout.line, ": there is no column ", number, "; columns are 0 to ",
                                                   layout.width - 1, other_separator(layout)));
  }
  return number;
}

// "0-3,7,area"
absl::StatusOr<std::vector<int64_t>> parse_columns(const Uri& uri, const Layout& layout, const std::string& text) {
  std::vector<int64_t> columns;
  const std::vector<std::string> parts = absl::StrSplit(text, ',');
  for (const std::string& part : parts) {
    const size_t dash = part.find('-', 1);
    auto whole = find_column(uri, layout, part);
    if (whole.ok() || dash == std::string::npos) {
      if (!whole.ok()) return whole.status();
      columns.push_back(*whole);
      continue;
    }
    auto first = find_column(uri, layout, part.substr(0, dash));
    if (!first.ok()) return first.status();
    auto last = find_column(uri, layout, part.substr(dash + 1));
    if (!last.ok()) return last.status();
    if (*last < *first) return absl::InvalidArgumentError(absl::StrCat(uri.text, ": the range ", part, " runs backwards"));
    for (int64_t c = *first; c <= *last; ++c) columns.push_back(c);
  }
  return columns;
}

// The input that gets the columns nobody asked for, or -1.
absl::StatusOr<int> heir_of(const Uri& uri, const std::vector<Field>& inputs, const Layout& layout) {
  int heir = -1;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!layout.taken[i].empty() || (inputs[i].optional && inputs.size() > 1)) continue;
    if (heir >= 0) {
      return absl::InvalidArgumentError(absl::StrCat(uri.text, ": say which columns the inputs '", inputs[heir].name, "' and '",
                                                     inputs[i].name, "' take, for example ?", inputs[i].name, "=",
                                                     layout.width - inputs[i].elements()));
    }
    heir = static_cast<int>(i);
  }
  return heir;
}

absl::Status assign_columns(const Uri& uri, const std::vector<Field>& inputs, Layout* layout) {
  layout->taken.resize(inputs.size());
  std::vector<bool> used(layout->width, false);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (const std::string* text = uri.find(inputs[i].name)) {
      auto columns = parse_columns(uri, *layout, *text);
      if (!columns.ok()) return columns.status();
      layout->taken[i] = *std::move(columns);
    } else if (inputs[i].elements() == 1) {
      for (size_t c = 0; c < layout->names.size(); ++c) {
        if (layout->names[c] == inputs[i].name) layout->taken[i] = {static_cast<int64_t>(c)};
      }
    }
    for (int64_t c : layout->taken[i]) used[c] = true;
  }
  auto heir = heir_of(uri, inputs, *layout);
  if (!heir.ok()) return heir.status();
  if (*heir >= 0) {
    for (int64_t c = 0; c < layout->width; ++c) {
      if (!used[c]) layout->taken[*heir].push_back(c);
    }
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int64_t have = static_cast<int64_t>(layout->taken[i].size());
    if (have == inputs[i].elements() || (have == 0 && inputs[i].optional)) continue;
    return absl::InvalidArgumentError(absl::StrCat(uri.path, ":", layout->line, ": the model's input '", inputs[i].name, "' wants ",
                                                   inputs[i].elements(), " columns (", shape_text(inputs[i].shape), "), ",
                                                   *heir == static_cast<int>(i) ? "left are " : "given are ", have,
                                                   other_separator(*layout)));
  }
  return absl::OkStatus();
}

absl::StatusOr<Layout> read_layout(const Uri& uri, const std::vector<Field>& inputs, const std::string& text) {
  Layout layout;
  Lines lines(text);
  std::vector<Cell> cells;
  if (!lines.next(&cells)) return absl::InvalidArgumentError(absl::StrCat(uri.path, ": the file is empty"));
  layout.line = lines.number();
  layout.width = static_cast<int64_t>(cells.size());
  if (layout.width == 1) {
    const std::string row = cells[0].text();
    layout.separator = absl::StrContains(row, ';') ? "';'" : absl::StrContains(row, '\t') ? "tabs" : "";
  }
  const std::string* header = uri.find("header");
  const std::string mode = header == nullptr ? "auto" : *header;
  if (mode != "auto" && mode != "yes" && mode != "no") {
    return absl::InvalidArgumentError(absl::StrCat(uri.text, ": header must be auto, yes or no, not '", mode, "'"));
  }
  // One number, be it a nan, and it is a sample: a gap or a slip in the first row must not cost it.
  double ignored = 0;
  bool numbers = false, text_there = false;
  for (const Cell& cell : cells) {
    numbers |= parse_any(cell, &ignored);
    text_there |= cell.begin != cell.end;
  }
  layout.has_header = mode == "yes" || (mode == "auto" && text_there && !numbers);
  layout.may_have_header = mode == "auto" && !layout.has_header;
  if (layout.has_header) {
    for (const Cell& cell : cells) layout.names.push_back(cell.text());
  }
  if (absl::Status status = assign_columns(uri, inputs, &layout); !status.ok()) return status;
  return layout;
}

template <typename T>
void append(std::string* bytes, T value) {
  bytes->append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Appends one cell to a column; the error text if it is not a number of the column's kind.
std::string append_cell(const Cell& cell, Column* column) {
  double value = 0;
  if (!parse_number(cell, &value)) return absl::StrCat("'", printable(cell.text(), kMostShown), "' is not a number");
  if (column->stored == plan::DType::f32) {
    if (std::isinf(static_cast<float>(value))) return absl::StrCat("'", printable(cell.text(), kMostShown), "' is too large for f32");
    append(&column->bytes, static_cast<float>(value));
  } else if (column->stored == plan::DType::f64) {
    append(&column->bytes, value);
  } else {
    if (value != std::floor(value) || std::fabs(value) > 9e15) return absl::StrCat(column->name, " ", value, " is not an integer");
    append(&column->bytes, static_cast<int64_t>(value));
  }
  return "";
}

absl::Status read_rows(const Uri& uri, const std::string& text, const Layout& layout,
                       const std::vector<std::vector<int64_t>>& taken, std::vector<Column>* columns,
                       std::vector<int64_t>* line_of_row) {
  Lines lines(text);
  std::vector<Cell> cells;
  if (layout.has_header) lines.next(&cells);
  while (lines.next(&cells)) {
    if (static_cast<int64_t>(cells.size()) != layout.width) {
      return absl::InvalidArgumentError(
          absl::StrCat(uri.path, ":", lines.number(), ": ", cells.size(), " cells, the rows above have ", layout.width));
    }
    for (size_t i = 0; i < columns->size(); ++i) {
      for (int64_t c : taken[i]) {
        const std::string fault = append_cell(cells[c], &(*columns)[i]);
        if (fault.empty()) continue;
        const bool first = line_of_row->empty() && layout.may_have_header;
        return absl::InvalidArgumentError(absl::StrCat(uri.path, ":", lines.number(), ": column ", c, ": ", fault,
                                                       first ? "; if this row is a header, say header=yes" : ""));
      }
    }
    line_of_row->push_back(lines.number());
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<DataSplits> open_csv(const Uri& uri, const std::vector<Field>& inputs) {
  auto text = read_file_unpacked(uri.path);
  if (!text.ok()) return text.status();
  auto scale = scale_of(uri, 1);
  if (!scale.ok()) return scale.status();
  auto layout = read_layout(uri, inputs, *text);
  if (!layout.ok()) return layout.status();

  std::vector<Column> columns;
  std::vector<std::vector<int64_t>> taken;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (layout->taken[i].empty()) continue;
    Column column;
    column.name = inputs[i].name;
    column.shape = inputs[i].shape;
    column.divisor = *scale;
    column.stored = !is_floating(inputs[i].dtype)         ? plan::DType::i64
                    : inputs[i].dtype == plan::DType::f64 ? plan::DType::f64
                                                          : plan::DType::f32;
    columns.push_back(std::move(column));
    taken.push_back(layout->taken[i]);
  }
  auto line_of_row = std::make_shared<std::vector<int64_t>>();
  if (absl::Status status = read_rows(uri, *text, *layout, taken, &columns, line_of_row.get()); !status.ok()) return status;
  for (size_t i = 0; i < columns.size(); ++i) {
    columns[i].place = [path = uri.path, line_of_row, mine = taken[i]](int64_t row, int64_t element) {
      return absl::StrCat(path, ":", (*line_of_row)[row], ": column ", mine[element]);
    };
  }
  // The parameters INPUT=COLUMNS have done their work: the table binds by name.
  Uri plain = uri;
  std::erase_if(plain.parameters, [&](const auto& parameter) {
    for (const Field& input : inputs) {
      if (input.name == parameter.first) return true;
    }
    return false;
  });
  auto whole = make_table(plain, {"header", "scale", "holdout", "holdout_seed"}, inputs, std::move(columns));
  if (!whole.ok()) return whole.status();
  return hold_out(uri, *std::move(whole));
}

}  // namespace mxc::io

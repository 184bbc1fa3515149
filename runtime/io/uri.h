// Where data comes from, as the user writes it: `scheme:path?key=value&key=value`, for example
// `csv:digits.csv.gz?label=64&scale=16`. Percent escapes (%3F) stand for characters that the form reserves.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace mxc::io {

struct Uri {
  std::string text;    // as written, for messages
  std::string scheme;  // "csv"
  std::string path;    // "digits.csv.gz"
  std::vector<std::pair<std::string, std::string>> parameters;

  // The value of a parameter, or nullptr.
  const std::string* find(const std::string& key) const;
};

// Error (invalid argument): no scheme, an empty path, a parameter without `=` or given twice, a bad percent escape.
absl::StatusOr<Uri> parse_uri(const std::string& text);

}  // namespace mxc::io

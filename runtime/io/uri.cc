// See uri.h.
#include "runtime/io/uri.h"

#include <cctype>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace mxc::io {
namespace {

absl::StatusOr<std::string> unescape(const std::string& text, const std::string& whole) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 2 >= text.size() || !std::isxdigit(static_cast<unsigned char>(text[i + 1])) ||
        !std::isxdigit(static_cast<unsigned char>(text[i + 2]))) {
      return absl::InvalidArgumentError(absl::StrCat(whole, ": '%' must be followed by two hexadecimal digits"));
    }
    out += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16));
    i += 2;
  }
  return out;
}

}  // namespace

const std::string* Uri::find(const std::string& key) const {
  for (const auto& [name, value] : parameters) {
    if (name == key) return &value;
  }
  return nullptr;
}

absl::StatusOr<Uri> parse_uri(const std::string& text) {
  Uri uri;
  uri.text = text;
  const size_t colon = text.find(':');
  if (colon == std::string::npos || colon == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(text, ": a data source is written SCHEME:PATH, for example mnist:DIR or csv:FILE?label=64"));
  }
  uri.scheme = text.substr(0, colon);
  const size_t question = text.find('?', colon);
  auto path = unescape(text.substr(colon + 1, question == std::string::npos ? question : question - colon - 1), text);
  if (!path.ok()) return path.status();
  uri.path = *path;
  if (uri.path.empty()) return absl::InvalidArgumentError(absl::StrCat(text, ": the path is empty"));
  if (question == std::string::npos) return uri;

  const std::vector<std::string> parts = absl::StrSplit(text.substr(question + 1), '&', absl::SkipEmpty());
  for (const std::string& part : parts) {
    const size_t equals = part.find('=');
    if (equals == std::string::npos || equals == 0) {
      return absl::InvalidArgumentError(absl::StrCat(text, ": '", part, "' is not of the form key=value"));
    }
    auto key = unescape(part.substr(0, equals), text);
    if (!key.ok()) return key.status();
    auto value = unescape(part.substr(equals + 1), text);
    if (!value.ok()) return value.status();
    if (uri.find(*key) != nullptr) return absl::InvalidArgumentError(absl::StrCat(text, ": '", *key, "' is given twice"));
    uri.parameters.emplace_back(*key, *value);
  }
  return uri;
}

}  // namespace mxc::io

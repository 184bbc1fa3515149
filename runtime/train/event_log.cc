// See event_log.h.
#include "runtime/train/event_log.h"

#include <cerrno>
#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace mxc::train {

std::string json_string(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", c);
      out += escape;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string json_number(double value) {
  if (!std::isfinite(value)) return "null";
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

Event::Event(const std::string& kind) : text_("{\"event\":" + json_string(kind)) {}

Event& Event::add(const std::string& key, int64_t value) {
  text_ += "," + json_string(key) + ":" + std::to_string(value);
  return *this;
}

Event& Event::add(const std::string& key, double value) {
  text_ += "," + json_string(key) + ":" + json_number(value);
  return *this;
}

Event& Event::add(const std::string& key, const std::string& value) {
  text_ += "," + json_string(key) + ":" + json_string(value);
  return *this;
}

Event& Event::add(const std::string& key, const std::vector<std::string>& names, const std::vector<double>& values) {
  text_ += "," + json_string(key) + ":{";
  for (size_t i = 0; i < names.size() && i < values.size(); ++i) {
    text_ += (i == 0 ? "" : ",") + json_string(names[i]) + ":" + json_number(values[i]);
  }
  text_ += "}";
  return *this;
}

std::string Event::line() const { return text_ + "}\n"; }

EventLog::~EventLog() {
  if (file_ != nullptr) std::fclose(file_);
}

absl::Status EventLog::open(const std::string& path, bool append) {
  path_ = path;
  file_ = std::fopen(path.c_str(), append ? "ae" : "we");
  if (file_ == nullptr) return absl::InvalidArgumentError(absl::StrCat(path, ": cannot write: ", std::strerror(errno)));
  return absl::OkStatus();
}

void EventLog::write(const Event& event) {
  if (file_ == nullptr) return;
  const std::string line = event.line();
  std::fwrite(line.data(), 1, line.size(), file_);
}

void EventLog::flush() {
  if (file_ != nullptr) std::fflush(file_);
}

absl::Status EventLog::status() const {
  if (file_ == nullptr || std::ferror(file_) == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(path_, ": the log could not be written whole"));
}

}  // namespace mxc::train

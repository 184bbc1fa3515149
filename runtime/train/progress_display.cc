// See progress_display.h.
#include "runtime/train/progress_display.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace mxc::train {
namespace {

constexpr double kLiveSeconds = 0.1;  // between two rewritings of the live line
constexpr double kPlainSeconds = 10;  // between two plain lines
constexpr int kColumn = 14;

std::string formatted(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string right(const std::string& text, size_t width) {
  return text.size() >= width ? " " + text : std::string(width - text.size(), ' ') + text;
}

size_t width_of(const std::string& heading) { return std::max<size_t>(kColumn, heading.size() + 2); }

}  // namespace

std::string duration_text(double seconds) {
  const int64_t whole = static_cast<int64_t>(std::llround(seconds));
  char text[64];
  if (whole < 60) {
    std::snprintf(text, sizeof text, "%d s", static_cast<int>(whole));
  } else if (whole < 3600) {
    std::snprintf(text, sizeof text, "%d:%02d", static_cast<int>(whole / 60), static_cast<int>(whole % 60));
  } else {
    std::snprintf(text, sizeof text, "%lld:%02d:%02d", static_cast<long long>(whole / 3600), static_cast<int>(whole / 60 % 60),
                  static_cast<int>(whole % 60));
  }
  return text;
}

ProgressDisplay::ProgressDisplay(FILE* out, bool terminal, std::vector<std::string> train, std::vector<std::string> test)
    : out_(out), terminal_(terminal), train_(std::move(train)), test_(std::move(test)), start_(std::chrono::steady_clock::now()) {}

double ProgressDisplay::seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

void ProgressDisplay::clear_live() {
  if (live_) std::fputs("\r\033[K", out_);
  live_ = false;
}

void ProgressDisplay::epoch_starts() {
  start_ = std::chrono::steady_clock::now();
  shown_ = 0;
}

bool ProgressDisplay::is_due() const { return seconds() - shown_ >= (terminal_ ? kLiveSeconds : kPlainSeconds); }

void ProgressDisplay::step(int64_t epoch, int64_t epochs, int64_t seen, int64_t total, int64_t done_now,
                           const std::vector<double>& means) {
  if (!is_due()) return;
  const double now = shown_ = seconds();
  const double rate = static_cast<double>(done_now) / std::max(now, 1e-9);
  std::string line = "epoch " + std::to_string(epoch + 1) + "/" + std::to_string(epochs) + "  " +
                     std::to_string(seen * 100 / std::max<int64_t>(1, total)) + "%  " + formatted("%.0f samples/s", rate);
  for (size_t i = 0; i < means.size(); ++i) line += "  " + train_[i] + " " + formatted("%.4f", means[i]);
  const double left = static_cast<double>(total - seen) + static_cast<double>(epochs - epoch - 1) * static_cast<double>(total);
  line += "  left " + duration_text(left / std::max(rate, 1e-9));
  clear_live();
  std::fputs(line.c_str(), out_);
  if (!terminal_) std::fputc('\n', out_);
  live_ = terminal_;
  std::fflush(out_);
}

void ProgressDisplay::epoch_ends(int64_t epoch, const EpochResult& result) {
  clear_live();
  std::string header = "epoch", row = right(std::to_string(epoch + 1), 5);
  const auto add = [&](const char* prefix, const std::vector<std::string>& names, const std::vector<double>& values) {
    for (size_t i = 0; i < names.size(); ++i) {
      const std::string heading = prefix + names[i];
      header += right(heading, width_of(heading));
      row += right(i < values.size() ? formatted("%.4f", values[i]) : "-", width_of(heading));
    }
  };
  add("train ", train_, result.train);
  if (!result.test.empty()) add("test ", test_, result.test);
  header += right("seconds", 10);
  row += right(formatted("%.2f", seconds()), 10);
  if (!header_done_) std::fprintf(out_, "%s\n", header.c_str());
  header_done_ = true;
  std::fprintf(out_, "%s\n", row.c_str());
  std::fflush(out_);
}

void ProgressDisplay::say(const std::string& line) {
  clear_live();
  std::fprintf(out_, "%s\n", line.c_str());
  std::fflush(out_);
}

}  // namespace mxc::train

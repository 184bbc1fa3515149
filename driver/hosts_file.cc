// See hosts_file.h.
#include "driver/hosts_file.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "runtime/io/printable.h"

namespace mxc::driver {

namespace {

constexpr int kMostSlots = 1024;

// A name that begins with a dash would be a flag to ssh.
bool is_name(absl::string_view text) {
  return !text.empty() && text[0] != '-' && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return absl::ascii_isalnum(c) || absl::string_view("-._:@%[]").find(static_cast<char>(c)) != absl::string_view::npos;
  });
}

}  // namespace

absl::StatusOr<std::vector<Host>> parse_hosts(const std::string& path, absl::string_view text) {
  std::vector<Host> hosts;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    const absl::string_view content = line.substr(0, line.find('#'));
    const std::vector<absl::string_view> words = absl::StrSplit(content, absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
    if (words.empty()) continue;
    Host host{std::string(words[0]), 1};
    absl::string_view slots = words.size() > 1 ? words[1] : "";
    const bool counted = words.size() == 1 || (absl::ConsumePrefix(&slots, "slots=") && absl::SimpleAtoi(slots, &host.slots) &&
                                               host.slots >= 1 && host.slots <= kMostSlots);
    if (!is_name(host.name) || !counted || words.size() > 2) {
      return absl::InvalidArgumentError(absl::StrCat(path, ":", number, ": '", io::printable(std::string(content), io::kMostShown),
                                                     "': a line is HOST or HOST slots=N, with up to ", kMostSlots, " slots"));
    }
    hosts.push_back(std::move(host));
  }
  if (hosts.empty()) return absl::InvalidArgumentError(absl::StrCat(path, ": there is no host in it"));
  return hosts;
}

absl::StatusOr<std::vector<std::string>> spread(const std::string& path, const std::vector<Host>& hosts, int workers) {
  std::vector<std::string> places;
  for (const Host& host : hosts) places.insert(places.end(), static_cast<size_t>(host.slots), host.name);
  if (workers == 0) workers = static_cast<int>(places.size());
  if (static_cast<size_t>(workers) > places.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("-n ", workers, ": the hosts of ", path, " have ", places.size(), places.size() == 1 ? " slot" : " slots"));
  }
  places.resize(static_cast<size_t>(workers));
  return places;
}

}  // namespace mxc::driver

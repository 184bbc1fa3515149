// See remote.h.
#include "driver/remote.h"

#include <signal.h>

#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/kv/reach.h"

namespace mxc::driver {

namespace {

// A word that any shell leaves as it is.
std::string as_word(const std::string& word) {
  std::string text = "'";
  for (char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

// The name by which ssh is asked for a host may have a user before it, and an IPv6 address brackets around it.
std::string machine_of(const std::string& host) {
  std::string name = host.substr(host.rfind('@') + 1);
  if (name.size() > 2 && name.front() == '[' && name.back() == ']') name = name.substr(1, name.size() - 2);
  return name;
}

}  // namespace

std::string remote_command(const std::vector<std::string>& command, const std::string& folder, const Variables& variables) {
  // Becomes the program. Before that it leaves a listener behind, which knows the program by this shell's number; one that finds no keys any more knows that the
  // program has ended.
  std::string inner = absl::StrCat(
      "exec 3<&0; (while read -r s <&3; do kill -s \"$s\" $$; done; [ -e \"$MXC_KEYS\" ] && kill -s KILL $$; rm -f \"$MXC_KEYS\") </dev/null >/dev/null 2>&1 & "
      "exec 3<&- </dev/null; cd ",
      as_word(folder), " || exit 1; exec ",
      absl::StrJoin(command, " ", [](std::string* out, const std::string& word) { *out += as_word(word); }));
  std::string exports;
  for (const auto& [name, value] : variables) absl::StrAppend(&exports, "export ", name, "=", as_word(value), "; ");
  const std::string outer = absl::StrCat(
      "MXC_KEYS=$(mktemp) || exit 1; export MXC_KEYS; trap 'rm -f \"$MXC_KEYS\"' EXIT; IFS=' ' read -r p s; "
      "printf 'public %s\\nsecret %s\\n' \"$p\" \"$s\" >\"$MXC_KEYS\"; ",
      exports, "sh -c ", as_word(inner), "; c=$?; rm -f \"$MXC_KEYS\"; exit $c");
  return absl::StrCat("exec sh -c ", as_word(outer));
}

std::string keys_line(const kv::JobKeys& keys) { return absl::StrCat(keys.public_key, " ", keys.secret_key, "\n"); }

std::string signal_line(int signal) {
  switch (signal) {
    case SIGINT: return "INT\n";
    case SIGTERM: return "TERM\n";
    case SIGKILL: return "KILL\n";
    default: return "";
  }
}

absl::StatusOr<std::vector<std::string>> addresses_to(const std::vector<std::string>& hosts) {
  std::map<std::string, std::string> known;
  std::string of_others;
  for (const std::string& host : hosts) {
    const std::string machine = machine_of(host);
    if (kv::is_own_name(machine) || known.contains(host)) continue;
    const absl::StatusOr<std::string> address = kv::resolve(machine, kv::Duration(0));
    const absl::StatusOr<std::string> own = address.ok() ? kv::local_address(*address) : address;
    if (!own.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(own.status().message(), "; --address says by which address the hosts reach this machine"));
    }
    known[host] = *own;
    if (of_others.empty()) of_others = *own;
  }
  std::vector<std::string> addresses;
  for (const std::string& host : hosts) {
    const auto found = known.find(host);
    addresses.push_back(found != known.end() ? found->second : of_others.empty() ? "127.0.0.1" : of_others);
  }
  return addresses;
}

}  // namespace mxc::driver

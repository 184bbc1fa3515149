// See start_scheduler.h.
//
// The process has threads by now: between fork and exec nothing is called that takes locks, and all words are made before.
#include "runtime/kv/start_scheduler.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

extern "C" char** environ;

namespace mxc::kv {

namespace {

constexpr char kSelf[] = "/proc/self/exe";
constexpr auto kTimeToCome = std::chrono::seconds(20);

absl::Status cannot(absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("the job's scheduler cannot start: ", why));
}

// This process's variables, with those of the scheduler instead of mxc's; how patient the job is, its user has said.
std::vector<std::string> variables_of(const SchedulerProcess& process, int published) {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable)
    if (!absl::StartsWith(*variable, "MXC_") || absl::StartsWith(*variable, "MXC_PATIENCE=")) variables.push_back(*variable);
  variables.push_back(absl::StrCat("MXC_JOB=", absl::Hex(process.job)));
  variables.push_back("MXC_ROLE=scheduler");
  variables.push_back(absl::StrCat("MXC_SIZE=", process.size));
  variables.push_back(absl::StrCat("MXC_SCHEDULER=", process.listen));
  variables.push_back(absl::StrCat("MXC_PUBLISH=", published));
  if (!process.keys_file.empty()) variables.push_back(absl::StrCat("MXC_KEYS=", process.keys_file));
  if (process.insecure) variables.push_back("MXC_INSECURE=1");
  if (!process.meeting.empty()) variables.push_back(absl::StrCat("MXC_MEETING=", process.meeting));
  return variables;
}

// The child's child becomes the scheduler. Does not return.
[[noreturn]] void become_scheduler(char* const* variables, int published, int kept) {
  if (::fork() != 0) ::_exit(0);
  for (int number : {SIGINT, SIGTERM, SIGHUP}) ::signal(number, SIG_IGN);
  const int nothing = ::open("/dev/null", O_RDWR);
  for (int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nothing, standard);
  ::fcntl(published, F_SETFD, 0);
  if (kept >= 0) ::fcntl(kept, F_SETFD, 0);
  char name[] = "mxc-scheduler";
  char* const arguments[] = {name, nullptr};
  ::execve(kSelf, arguments, variables);
  ::_exit(127);
}

// The line that it says, or an error.
absl::StatusOr<std::string> answer(int descriptor) {
  const auto end = std::chrono::steady_clock::now() + kTimeToCome;
  std::string text;
  while (!absl::StrContains(text, '\n')) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
    pollfd wait = {descriptor, POLLIN, 0};
    if (left <= 0) return cannot("it does not say where it listens");
    if (::poll(&wait, 1, static_cast<int>(left)) < 0 && errno != EINTR) return cannot(::strerror(errno));
    if (wait.revents == 0) continue;
    char buffer[256];
    const ssize_t size = ::read(descriptor, buffer, sizeof buffer);
    if (size == 0) return cannot("it has ended without a word");
    if (size > 0) text.append(buffer, static_cast<size_t>(size));
  }
  absl::string_view line = absl::string_view(text).substr(0, text.find('\n'));
  if (absl::ConsumePrefix(&line, "error: ")) return cannot(line);
  return std::string(line);
}

}  // namespace

absl::StatusOr<std::string> start_scheduler(const SchedulerProcess& process) {
  int published[2];
  if (::pipe2(published, O_CLOEXEC) != 0) return cannot(::strerror(errno));
  const std::vector<std::string> variables = variables_of(process, published[1]);
  std::vector<char*> pointers;
  for (const std::string& variable : variables) pointers.push_back(const_cast<char*>(variable.c_str()));
  pointers.push_back(nullptr);
  const pid_t child = ::fork();
  if (child == 0) become_scheduler(pointers.data(), published[1], process.kept);
  const int why = errno;
  ::close(published[1]);
  while (child > 0 && ::waitpid(child, nullptr, 0) < 0 && errno == EINTR) continue;
  absl::StatusOr<std::string> address = child < 0 ? cannot(::strerror(why)) : answer(published[0]);
  ::close(published[0]);
  return address;
}

}  // namespace mxc::kv

// See child.h.
#include "driver/child.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "driver/remote.h"

namespace mxc::driver {

namespace {

constexpr int kSshFailed = 255;

absl::Status failed(absl::string_view what, int why) { return absl::InvalidArgumentError(absl::StrCat(what, ": ", ::strerror(why))); }

// Pairs of descriptors, reading end first, of which those that are still here are closed in the end.
struct Ends {
  int out[2] = {-1, -1}, err[2] = {-1, -1}, failure[2] = {-1, -1}, control[2] = {-1, -1};
  ~Ends() {
    for (int* pair : {out, err, failure, control})
      for (int i = 0; i < 2; ++i)
        if (pair[i] >= 0) close(pair[i]);
  }
  bool open(bool controlled) {
    return pipe2(out, O_CLOEXEC) == 0 && pipe2(err, O_CLOEXEC) == 0 && pipe2(failure, O_CLOEXEC) == 0 &&
           (!controlled || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control) == 0);
  }
};

[[noreturn]] void become(const ChildCommand& command, const Ends& ends, char* const* words, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  setpgid(0, 0);  // a terminal's Ctrl-C reaches it once, through mxc
  for (int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) signal(number, SIG_DFL);
  dup2(ends.out[1], STDOUT_FILENO);
  dup2(ends.err[1], STDERR_FILENO);
  if (command.controlled) dup2(ends.control[1], STDIN_FILENO);
  if (command.kept >= 0) fcntl(command.kept, F_SETFD, 0);
  for (const auto& [name, value] : command.variables) setenv(name.c_str(), value.c_str(), 1);
  execvp(words[0], words);
  const int why = errno;
  [[maybe_unused]] ssize_t written = write(ends.failure[1], &why, sizeof why);
  _exit(127);
}

// Ends the connection to a program elsewhere: that is what ends it.
void hang_up(Child& child) {
  if (child.control >= 0) close(std::exchange(child.control, -1));
}

}  // namespace

Lines::Lines(int descriptor) : descriptor_(descriptor) { fcntl(descriptor, F_SETFL, O_NONBLOCK); }
Lines::~Lines() { close(descriptor_); }

std::vector<std::string> Lines::read() {
  char buffer[4096];
  ssize_t size = 0;
  while (open_ && (size = ::read(descriptor_, buffer, sizeof buffer)) > 0) text_.append(buffer, static_cast<size_t>(size));
  if (size == 0) open_ = false;
  std::vector<std::string> lines;
  for (size_t end; (end = text_.find('\n')) != std::string::npos; text_.erase(0, end + 1)) lines.push_back(text_.substr(0, end));
  if (!open_ && !text_.empty()) lines.push_back(std::exchange(text_, ""));
  return lines;
}

// A failure to run it comes back through a pipe that closes otherwise.
absl::Status start(Child& child, const ChildCommand& command) {
  Ends ends;
  if (!ends.open(command.controlled)) return failed("the system grants no pipe", errno);
  std::vector<char*> words;
  for (const std::string& word : command.words) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const pid_t parent = getpid();
  child.process = fork();
  if (child.process == 0) become(command, ends, words.data(), parent);
  int why = child.process < 0 ? errno : 0;
  child.out = std::make_unique<Lines>(std::exchange(ends.out[0], -1));
  child.err = std::make_unique<Lines>(std::exchange(ends.err[0], -1));
  child.control = std::exchange(ends.control[0], -1);
  close(std::exchange(ends.failure[1], -1));
  if (child.process >= 0 && read(ends.failure[0], &why, sizeof why) <= 0) return absl::OkStatus();
  return failed(absl::StrCat("cannot run '", command.words[0], "'"), why);
}

bool has_ended(Child& child) {
  int status;
  if (!child.status && child.process > 0 && waitpid(child.process, &status, WNOHANG) == child.process) child.status = status;
  if (child.status) hang_up(child);
  return child.status.has_value() || child.process <= 0;
}

int signal_of(const Child& child) {
  if (WIFSIGNALED(*child.status)) return WTERMSIG(*child.status);
  const int code = WEXITSTATUS(*child.status);
  // A program that was asked to stop may end with the same exit code as one that SIGINT has ended: it is taken to have heeded it.
  return !child.host.empty() && code > 128 && code < 128 + NSIG && code != 128 + SIGINT ? code - 128 : 0;
}

int code_of(const Child& child) {
  const int signal = signal_of(child);
  return signal != 0 ? 128 + signal : WEXITSTATUS(*child.status);
}

bool was_killed(const Child& child) { return child.status && signal_of(child) != 0; }

std::string how_it_ended(const std::string& who, const Child& child) {
  const int signal = signal_of(child), code = code_of(child);
  const std::string how = signal != 0 ? absl::StrCat("was ended by signal ", signal, " (", ::strsignal(signal), ")") : absl::StrCat("ended with exit code ", code);
  if (child.host.empty()) return absl::StrCat(who, " (process ", child.process, ") ", how);
  return absl::StrCat(who, " (host ", child.host, ") ", how, code == kSshFailed ? ", as ssh does when it fails itself" : "");
}

void tell(const Child& child, const std::string& line) {
  if (child.control >= 0) send(child.control, line.data(), line.size(), MSG_NOSIGNAL);
}

void end(Child& child, int signal) {
  if (has_ended(child)) return;
  if (child.host.empty()) {
    signal == SIGKILL ? cut(child) : (void)kill(child.process, signal);
    return;
  }
  tell(child, signal_line(signal));
  if (signal == SIGKILL) hang_up(child);
}

void cut(Child& child) {
  if (has_ended(child)) return;
  kill(child.process, SIGKILL);
  int status;
  if (waitpid(child.process, &status, 0) == child.process) child.status = status;
  hang_up(child);
}

}  // namespace mxc::driver

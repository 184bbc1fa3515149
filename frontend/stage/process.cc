// posix fork and exec: the limits are set in the child, between the two; see process.h.
#include "frontend/stage/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>

namespace mxc::frontend {

namespace {

// What runProcess waits for: a process in the foreground; negative: a group of tools; 0: nothing. Written with signals blocked, read by
// handlers of the same thread.
std::atomic<pid_t> running{0};

// Blocks all signals while it lives, so that none comes between a fork and what must be known of the child.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before_);
  }
  ~BlockedSignals() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;
  const sigset_t& before() const { return before_; }

 private:
  sigset_t before_;
};

// While it lives, SIGINT and SIGQUIT do nothing here.
class IgnoredInterrupts {
 public:
  explicit IgnoredInterrupts(bool active) : active_(active) {
    struct sigaction ignore {};
    ignore.sa_handler = SIG_IGN;
    if (active_) sigaction(SIGINT, &ignore, &interrupt_), sigaction(SIGQUIT, &ignore, &quit_);
  }
  ~IgnoredInterrupts() {
    if (active_) sigaction(SIGINT, &interrupt_, nullptr), sigaction(SIGQUIT, &quit_, nullptr);
  }
  IgnoredInterrupts(const IgnoredInterrupts&) = delete;
  IgnoredInterrupts& operator=(const IgnoredInterrupts&) = delete;

 private:
  bool active_;
  struct sigaction interrupt_ {
  }, quit_{};
};

std::vector<pid_t> childrenOfThisProcess() {
  std::string self = std::to_string(getpid());
  std::ifstream list("/proc/self/task/" + self + "/children");
  std::vector<pid_t> children;
  for (pid_t child; list >> child;) children.push_back(child);
  return children;
}

// While it lives, orphans among the descendants of this process become its children, also those in a session of their own. When it goes,
// all that have come are ended; children that were there before stay.
class Descendants {
 public:
  explicit Descendants(bool active) : active_(active) {
    if (!active_) return;
    before_ = childrenOfThisProcess();
    prctl(PR_GET_CHILD_SUBREAPER, &was_reaper_);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
  }
  ~Descendants() {
    if (!active_) return;
    for (int generation = 0; generation < kMostGenerations && endChildren(); ++generation) {
    }
    prctl(PR_SET_CHILD_SUBREAPER, was_reaper_);
  }
  Descendants(const Descendants&) = delete;
  Descendants& operator=(const Descendants&) = delete;

 private:
  static constexpr int kMostGenerations = 1000;

  // False: there were none. The children of those that end become children of this process.
  bool endChildren() {
    bool any = false;
    for (pid_t child : childrenOfThisProcess()) {
      if (std::find(before_.begin(), before_.end(), child) != before_.end()) continue;
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
      any = true;
    }
    return any;
  }

  bool active_;
  int was_reaper_ = 0;
  std::vector<pid_t> before_;
};

// In the child: nothing here may allocate. Reports errno of a failed exec through `report`.
[[noreturn]] void becomeProgram(char* const* argv, const ProcessOptions& options, const sigset_t& mask, int report) {
  for (int number : {SIGINT, SIGQUIT, SIGTERM, SIGHUP}) {  // this process's handlers are not the child's
    struct sigaction action {};
    if (sigaction(number, nullptr, &action) == 0 && action.sa_handler != SIG_IGN) signal(number, SIG_DFL);
  }
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  if (!options.foreground) {
    setpgid(0, 0);  // an interrupt at the terminal reaches mxc alone, which ends the group
    prctl(PR_SET_PDEATHSIG, SIGKILL);
  }
  if (options.memory_limit_bytes) {
    rlimit limit{static_cast<rlim_t>(options.memory_limit_bytes), static_cast<rlim_t>(options.memory_limit_bytes)};
    setrlimit(RLIMIT_AS, &limit);
    rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
  }
  if (options.stdout_to_stderr) dup2(STDERR_FILENO, STDOUT_FILENO);
  execvp(argv[0], argv);
  int code = errno;
  if (::write(report, &code, sizeof code) < 0) _exit(126);
  _exit(127);
}

// Forks; the child becomes the program. -1 with errno after a failure.
pid_t start(char* const* argv, const ProcessOptions& options, int report) {
  BlockedSignals blocked;
  pid_t child = fork();
  if (child == 0) becomeProgram(argv, options, blocked.before(), report);
  if (child > 0 && !options.foreground) setpgid(child, child);  // whoever comes first, the child or this
  if (child > 0) running = options.foreground ? child : -child;
  return child;
}

// Waits for `child`; kills its group when the time is over.
int waitFor(pid_t child, const ProcessOptions& options, bool& timed_out) {
  using Clock = std::chrono::steady_clock;
  auto deadline = Clock::now() + std::chrono::seconds(options.time_limit_seconds);
  int status = 0;
  for (int nap_us = 500;; nap_us = nap_us < 20000 ? nap_us * 2 : nap_us) {
    pid_t ended = waitpid(child, &status, options.time_limit_seconds ? WNOHANG : 0);
    if (ended == child || (ended < 0 && errno != EINTR)) return status;
    if (!options.time_limit_seconds) continue;
    if (Clock::now() >= deadline && !timed_out) {
      timed_out = true;
      kill(-child, SIGKILL);
    }
    usleep(nap_us);
  }
}

}  // namespace

ProcessResult runProcess(const std::vector<std::string>& arguments, const ProcessOptions& options) {
  ProcessResult result;
  if (options.verbose) std::fprintf(stderr, "%s\n", shellLine(arguments).c_str());
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  int report[2];
  if (pipe2(report, O_CLOEXEC) != 0) {
    result.error = strerror(errno);
    return result;
  }
  Descendants descendants(options.end_descendants);
  pid_t child = start(argv.data(), options, report[1]);
  int fork_error = errno;
  IgnoredInterrupts ignored(options.foreground && child > 0);
  close(report[1]);
  int code = 0;
  bool failed = child < 0 || read(report[0], &code, sizeof code) == sizeof code;
  close(report[0]);
  int status = child < 0 ? 0 : waitFor(child, options, result.timed_out);
  running = 0;
  if (failed) {
    result.error = strerror(child < 0 ? fork_error : code);
    return result;
  }
  result.started = true;
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  return result;
}

void endRunningProcess(int signal) {
  pid_t process = running.exchange(0);
  if (process == 0) return;
  kill(process, process < 0 ? SIGKILL : signal);
  waitpid(process < 0 ? -process : process, nullptr, 0);
}

std::string shellLine(const std::vector<std::string>& arguments) {
  std::string line;
  for (const std::string& argument : arguments) {
    bool plain = !argument.empty() && argument.find_first_of(" \t\n'\"\\$`*?[]{}()<>|&;!#~") == std::string::npos;
    std::string text = argument;
    for (size_t i = 0; !plain && (i = text.find('\'', i)) != std::string::npos; i += 4) text.replace(i, 1, "'\\''");
    line += (line.empty() ? "" : " ") + (plain ? text : "'" + text + "'");
  }
  return line;
}

}  // namespace mxc::frontend

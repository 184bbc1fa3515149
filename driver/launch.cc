// See launch.h. Everything that is started dies with this process (PR_SET_PDEATHSIG), however that ends.
#include "driver/launch.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <random>

#include "driver/files.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include "runtime/kv/keys.h"

namespace mxc::driver {

using frontend::Fault;
using Clock = std::chrono::steady_clock;

namespace {

constexpr auto kTimeToCome = std::chrono::seconds(20);        // of the scheduler, which comes before the program's own main
constexpr auto kTimeToEnd = std::chrono::milliseconds(2500);  // of those who have heard that the job has failed
constexpr auto kTimeToDie = std::chrono::milliseconds(500);   // after SIGTERM
constexpr int kInterrupted = 130;  // exit code of a worker that has stopped because it was asked to, as the standard trainer's
constexpr int kLookMilliseconds = 20;                         // between looks at who has ended

// The first SIGINT or SIGTERM is for the workers, who may want to save: it is handed on, and mxc waits for them. After it mxc's own handlers are back: the
// next ends mxc, and all with it. One at a time: what a handler writes is global.
volatile std::sig_atomic_t stop_signal = 0;
struct sigaction before_stop[2];
constexpr int kStopSignals[] = {SIGINT, SIGTERM};

class StopSignals {
 public:
  StopSignals() {
    stop_signal = 0;
    struct sigaction action = {};
    action.sa_handler = [](int number) {
      stop_signal = number;
      restore();
    };
    sigfillset(&action.sa_mask);
    for (size_t i = 0; i < 2; ++i) sigaction(kStopSignals[i], nullptr, &before_stop[i]);
    for (size_t i = 0; i < 2; ++i)
      if (before_stop[i].sa_handler != SIG_IGN) sigaction(kStopSignals[i], &action, nullptr);
  }
  ~StopSignals() { restore(); }
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

 private:
  static void restore() {
    for (size_t i = 0; i < 2; ++i) sigaction(kStopSignals[i], &before_stop[i], nullptr);
  }
};

// A pipe's reading end, cut into lines.
class Lines {
 public:
  explicit Lines(int descriptor) : descriptor_(descriptor) { fcntl(descriptor, F_SETFL, O_NONBLOCK); }
  ~Lines() { close(descriptor_); }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;

  int descriptor() const { return descriptor_; }
  bool open() const { return open_; }

  // The whole lines that are there; at the end of the stream the rest, too.
  std::vector<std::string> read() {
    char buffer[4096];
    ssize_t size = 0;
    while (open_ && (size = ::read(descriptor_, buffer, sizeof buffer)) > 0) text_.append(buffer, static_cast<size_t>(size));
    if (size == 0) open_ = false;
    std::vector<std::string> lines;
    for (size_t end; (end = text_.find('\n')) != std::string::npos; text_.erase(0, end + 1)) lines.push_back(text_.substr(0, end));
    if (!open_ && !text_.empty()) lines.push_back(std::exchange(text_, ""));
    return lines;
  }

 private:
  const int descriptor_;
  bool open_ = true;
  std::string text_;
};

struct Child {
  pid_t process = -1;
  std::optional<int> status;  // as waitpid has it, once it has ended
  std::unique_ptr<Lines> out, err;
};

using Variables = std::vector<std::pair<std::string, std::string>>;

class Job {
 public:
  Job(const LaunchOptions& options, DiagnosticPrinter& printer) : options_(options), printer_(printer) {}
  ~Job() {
    for (Child& child : workers_) end(child, SIGKILL);
    end(scheduler_, SIGKILL);
  }

  int run() {
    if (!work_.error().empty()) return fail(Fault::input, work_.error());
    if (!check_program() || !make_keys()) return printer_.exitCode();
    const std::string address = start_scheduler();
    if (address.empty()) return printer_.exitCode();
    for (int rank = 0; rank < options_.workers; ++rank) {
      if (!start_worker(rank, address)) return printer_.exitCode();
    }
    watch();
    return exit_code_;
  }

 private:
  int fail(Fault fault, const std::string& message) {
    printer_.error(fault, message);
    return printer_.exitCode();
  }

  // A program that makes no store would be started once too often, as the scheduler that it cannot be.
  bool check_program() {
    auto bytes = readWholeFile(options_.command[0]);
    if (!bytes) {
      consumeError(bytes.takeError());
      return true;  // found through PATH, or not at all: starting it tells
    }
    const llvm::StringRef program = *bytes;
    if (!program.starts_with("\177ELF") || program.contains("MXC_PUBLISH")) return true;
    fail(Fault::input, "'" + options_.command[0] + "' makes no KVStore: there is nothing that its processes would share");
    return false;
  }

  bool make_keys() {
    auto keys = kv::make_keys();
    keys_file_ = work_.file("keys");
    absl::Status status = keys.ok() ? kv::write_keys(keys_file_, *keys) : keys.status();
    std::random_device random;
    job_ = llvm::utohexstr((uint64_t{random()} << 32) | random(), /*LowerCase=*/true);
    if (!status.ok()) fail(Fault::unsupported, std::string(status.message()));
    return status.ok();
  }

  Variables variables(const std::string& role, const std::string& scheduler) const {
    return {{"MXC_JOB", job_},
            {"MXC_ROLE", role},
            {"MXC_SIZE", std::to_string(options_.workers)},
            {"MXC_SCHEDULER", scheduler},
            {"MXC_KEYS", keys_file_}};
  }

  // Starts the program. `kept`: a descriptor that it inherits, or -1. A failure to run it comes back through a pipe that closes otherwise.
  bool start(Child& child, const Variables& variables, int kept) {
    int out[2], err[2], failure[2];
    if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0 || pipe2(failure, O_CLOEXEC) != 0) {
      fail(Fault::input, std::string("the system grants no pipe: ") + strerror(errno));
      return false;
    }
    std::vector<char*> arguments;
    for (const std::string& word : options_.command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    const pid_t parent = getpid();
    child.process = fork();
    if (child.process == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(127);
      setpgid(0, 0);  // a terminal's Ctrl-C reaches it once, through mxc
      for (int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) signal(number, SIG_DFL);
      dup2(out[1], STDOUT_FILENO);
      dup2(err[1], STDERR_FILENO);
      if (kept >= 0) fcntl(kept, F_SETFD, 0);
      for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
      execvp(arguments[0], arguments.data());
      const int why = errno;
      [[maybe_unused]] ssize_t written = write(failure[1], &why, sizeof why);
      _exit(127);
    }
    for (int end : {out[1], err[1], failure[1]}) close(end);
    child.out = std::make_unique<Lines>(out[0]);
    child.err = std::make_unique<Lines>(err[0]);
    int why = child.process < 0 ? errno : 0;
    const bool failed = child.process < 0 || read(failure[0], &why, sizeof why) > 0;
    close(failure[0]);
    if (failed) fail(Fault::input, "cannot run '" + options_.command[0] + "': " + strerror(why));
    return !failed;
  }

  // Returns its address; empty after an error.
  std::string start_scheduler() {
    int published[2];
    if (pipe2(published, O_CLOEXEC) != 0)
      return fail(Fault::input, std::string("the system grants no pipe: ") + strerror(errno)), "";
    Variables variables = this->variables("scheduler", "tcp://127.0.0.1:*");
    variables.push_back({"MXC_PUBLISH", std::to_string(published[1])});
    const bool started = start(scheduler_, variables, published[1]);
    close(published[1]);
    Lines answer(published[0]);
    if (!started) return "";
    const Clock::time_point end = Clock::now() + kTimeToCome;
    while (answer.open() && Clock::now() < end) {
      pollfd wait = {answer.descriptor(), POLLIN, 0};
      poll(&wait, 1, kLookMilliseconds);
      for (const std::string& line : answer.read()) {
        if (llvm::StringRef(line).starts_with("error: "))
          return fail(Fault::input, "the job's scheduler cannot start: " + line.substr(7)), "";
        return line;
      }
    }
    return fail(Fault::input, "'" + options_.command[0] + "' does not become the job's scheduler: does its main make a KVStore?"),
           "";
  }

  bool start_worker(int rank, const std::string& scheduler) {
    Variables variables = this->variables("worker", scheduler);
    variables.push_back({"MXC_RANK", std::to_string(rank)});
    if (options_.shards > 0) variables.push_back({"MXC_SHARDS", std::to_string(options_.shards)});
    workers_.emplace_back();
    return start(workers_.back(), variables, -1);
  }

  void show(int rank, Lines& lines, FILE* to) {
    for (const std::string& line : lines.read()) {
      if (options_.workers > 1) fprintf(to, "[%d] ", rank);
      fprintf(to, "%s\n", line.c_str());
    }
    fflush(to);
  }

  void show_all() {
    for (int rank = 0; rank < static_cast<int>(workers_.size()); ++rank) {
      show(rank, *workers_[rank].out, stdout);
      show(rank, *workers_[rank].err, stderr);
    }
    for (const std::string& line : scheduler_.err->read()) fprintf(stderr, "[scheduler] %s\n", line.c_str());
  }

  static bool has_ended(Child& child) {
    int status;
    if (!child.status && child.process > 0 && waitpid(child.process, &status, WNOHANG) == child.process) child.status = status;
    return child.status.has_value();
  }

  static void end(Child& child, int signal) {
    if (child.process <= 0 || has_ended(child)) return;
    kill(child.process, signal);
    int status;
    if (signal == SIGKILL && waitpid(child.process, &status, 0) == child.process) child.status = status;
  }

  static int code_of(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

  // The first that ends badly decides what the job ends with; of several that are met at once, one that a signal has ended, for the others may have ended
  // because of it. A scheduler says by its exit code that the job has failed: who made it fail is one of the workers.
  void note_ends() {
    for (bool fresh = true; fresh;) {  // until all are known that ended before any that is
      fresh = !scheduler_.status && has_ended(scheduler_);
      for (Child& child : workers_) fresh |= !child.status && has_ended(child);
    }
    for (bool by_signal : {true, false}) {
      if (by_signal && scheduler_.status && WIFSIGNALED(*scheduler_.status)) note_failure("the job's scheduler", scheduler_);
      for (size_t rank = 0; rank < workers_.size(); ++rank) {
        const Child& child = workers_[rank];
        if (child.status && *child.status != 0 && WIFSIGNALED(*child.status) == by_signal) note_failure("rank " + std::to_string(rank), child);
      }
    }
  }

  void note_failure(const std::string& who, const Child& child) {
    if (exit_code_ != 0) return;
    exit_code_ = code_of(*child.status);
    failed_at_ = Clock::now();
    const int signal = signal_ = WIFSIGNALED(*child.status) ? WTERMSIG(*child.status) : 0;
    const std::string how = signal ? "was ended by signal " + std::to_string(signal) + " (" + strsignal(signal) + ")"
                                   : "ended with exit code " + std::to_string(exit_code_);
    first_ = who + " (process " + std::to_string(child.process) + ") " + how;
  }

  void watch() {
    bool told = false;
    int handed_on = 0;
    while (true) {
      std::vector<pollfd> wait;
      for (Child& child : workers_) {
        if (child.out->open()) wait.push_back({child.out->descriptor(), POLLIN, 0});
        if (child.err->open()) wait.push_back({child.err->descriptor(), POLLIN, 0});
      }
      poll(wait.data(), wait.size(), kLookMilliseconds);
      if (stop_signal != 0 && handed_on == 0) {
        handed_on = stop_signal;
        for (Child& child : workers_) end(child, handed_on);
      }
      note_ends();
      show_all();
      if (std::all_of(workers_.begin(), workers_.end(), [](const Child& child) { return child.status.has_value(); })) break;
      if (exit_code_ == 0) continue;
      const auto since = Clock::now() - failed_at_;
      if (since > kTimeToEnd && !std::exchange(told, true)) {
        for (Child& child : workers_) end(child, SIGTERM);
      }
      if (since > kTimeToEnd + kTimeToDie) {
        for (Child& child : workers_) end(child, SIGKILL);
      }
    }
    show_all();
    if (handed_on != 0 && signal_ == handed_on) raise(handed_on);  // they have not heeded it, and neither does mxc
    const bool as_asked = handed_on != 0 && exit_code_ == kInterrupted;
    if (exit_code_ != 0 && !as_asked) printer_.error(Fault::input, first_);
  }

  const LaunchOptions& options_;
  DiagnosticPrinter& printer_;
  WorkDirectory work_;
  std::string job_, keys_file_;
  Child scheduler_;
  std::vector<Child> workers_;
  int exit_code_ = 0;
  int signal_ = 0;  // that ended the first that failed; 0: none did
  Clock::time_point failed_at_;
  std::string first_;  // who failed first, and how
};

}  // namespace

int launch(const LaunchOptions& options, DiagnosticPrinter& printer) {
  const StopSignals stop;
  return Job(options, printer).run();
}

}  // namespace mxc::driver

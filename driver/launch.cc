// See launch.h. Everything that is started dies with this process, however that ends (child.h).
#include "driver/launch.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <random>

#include "driver/child.h"
#include "driver/files.h"
#include "driver/job_hosts.h"
#include "driver/remote.h"
#include "driver/state_folders.h"
#include "driver/stop_signals.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FileSystem.h"
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

class Job {
  using OnDeath = LaunchOptions::OnDeath;

 public:
  Job(const LaunchOptions& options, DiagnosticPrinter& printer) : options_(options), printer_(printer) {}
  ~Job() {
    for (Child& child : workers_) end(child, SIGKILL);
    const Clock::time_point last = Clock::now() + kTimeToDie;
    for (Child& child : workers_) {
      while (!child.host.empty() && !has_ended(child) && Clock::now() < last) poll(nullptr, 0, kLookMilliseconds);
      cut(child);
    }
    cut(scheduler_);
  }

  int run() {
    if (!work_.error().empty()) return fail(Fault::input, work_.error());
    if (!find_hosts() || !check_program() || !open_state() || !make_keys() || !start_all()) return printer_.exitCode();
    watch();
    return exit_code_;
  }

 private:
  int fail(Fault fault, const std::string& message) {
    printer_.error(fault, message);
    return printer_.exitCode();
  }

  bool find_hosts() {
    const absl::Status status = hosts_.read(options_);
    began_with_ = count_ = hosts_.here() ? options_.workers : hosts_.size();
    if (!status.ok()) fail(Fault::input, std::string(status.message()));
    else if (options_.servers > count_)
      fail(Fault::usage, "--servers " + std::to_string(options_.servers) + ": the job has " + std::to_string(count_) + (count_ == 1 ? " process" : " processes"));
    return !printer_.failed();
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

  bool open_state() {
    if (options_.on_death == OnDeath::abort) return true;
    const absl::Status status = states_.open(options_.state_dir.empty() ? work_.path() : options_.state_dir, options_.on_death == OnDeath::shrink, !hosts_.here());
    if (!status.ok()) fail(Fault::input, std::string(status.message()));
    return status.ok();
  }

  bool start_all() {
    if (options_.on_death != OnDeath::abort) {
      if (absl::Status status = states_.begin(count_, servers()); !status.ok()) return fail(Fault::input, std::string(status.message())), false;
    }
    address_ = start_scheduler(address_.empty() ? hosts_.listening() : address_);
    if (address_.empty()) return false;
    for (int rank = 0; rank < count_; ++rank) {
      workers_.emplace_back();
      if (!start_worker(rank)) return false;
    }
    return true;
  }

  bool make_keys() {
    auto keys = kv::make_keys();
    keys_file_ = work_.file("keys");
    absl::Status status = keys.ok() ? kv::write_keys(keys_file_, *keys) : keys.status();
    if (keys.ok()) keys_ = *keys;
    std::random_device random;
    job_ = llvm::utohexstr((uint64_t{random()} << 32) | random(), /*LowerCase=*/true);
    if (!status.ok()) fail(Fault::unsupported, std::string(status.message()));
    return status.ok();
  }

  Variables variables(const std::string& role, const std::string& scheduler) const {
    return {{"MXC_JOB", job_},
            {"MXC_ROLE", role},
            {"MXC_SIZE", std::to_string(count_)},
            {"MXC_SCHEDULER", scheduler},
            {"MXC_PATIENCE", std::to_string(options_.patience)},
            {"MXC_ON_DEATH", on_death_name(options_.on_death)}};
  }

  bool start(Child& child, const ChildCommand& command) {
    const absl::Status status = driver::start(child, command);
    if (!status.ok()) fail(Fault::input, std::string(status.message()));
    return status.ok();
  }

  // Returns its address; empty after an error.
  std::string start_scheduler(const std::string& at) {
    int published[2];
    if (pipe2(published, O_CLOEXEC) != 0)
      return fail(Fault::input, std::string("the system grants no pipe: ") + strerror(errno)), "";
    Variables variables = this->variables("scheduler", at);
    variables.push_back({"MXC_KEYS", keys_file_});
    variables.push_back({"MXC_PUBLISH", std::to_string(published[1])});
    const bool started = start(scheduler_, {options_.command, variables, published[1]});
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
    while (!has_ended(scheduler_) && Clock::now() < end) poll(nullptr, 0, kLookMilliseconds);
    if (!address_.empty() && is_replaced(scheduler_)) return address_;  // killed before it spoke: it is another's turn
    return fail(Fault::input, "'" + options_.command[0] + "' does not become the job's scheduler: does its main make a KVStore?"),
           "";
  }

  // Those who are left may be fewer than were asked for.
  int servers() const { return options_.servers > 0 ? std::min(static_cast<int>(options_.servers), count_) : count_; }

  bool start_worker(int rank) {
    Child& child = workers_[rank];
    Variables variables = this->variables("worker", hosts_.seen_from(rank, address_));
    variables.push_back({"MXC_RANK", std::to_string(rank)});
    if (options_.shards > 0) variables.push_back({"MXC_SHARDS", std::to_string(options_.shards)});
    if (options_.servers > 0) variables.push_back({"MXC_SERVERS", std::to_string(servers())});
    if (options_.on_death != OnDeath::abort) add_state(child, variables);
    if (!hosts_.here()) return start_remote(child, hosts_.of(rank), variables);
    variables.push_back({"MXC_KEYS", keys_file_});
    return start(child, {options_.command, variables});
  }

  void add_state(const Child& child, Variables& variables) const {
    for (auto& variable : states_.variables()) variables.push_back(std::move(variable));
    if (options_.on_death == OnDeath::wait) return variables.push_back({"MXC_RETURNS", std::to_string(child.returns)});
    variables.push_back({"MXC_RETURNS", std::to_string(shrunk_)});
    variables.push_back({"MXC_BEGAN_WITH", std::to_string(began_with_)});
    if (!gone_.empty()) variables.push_back({"MXC_GONE", gone_});
  }

  // Has a signal ended it, unasked, and may another process take its place?
  bool is_replaced(const Child& child) const {
    const bool over = scheduler_.status && signal_of(scheduler_) == 0;
    const bool died = was_killed(child) && signal_of(child) != stop_.received();
    if (over || exit_code_ != 0 || !died) return false;
    if (options_.on_death == OnDeath::shrink && &child != &scheduler_) return stop_.received() == 0 && count_left() > 0;
    return options_.on_death != OnDeath::abort && returns_ < options_.returns;
  }

  // Workers that a signal has not ended.
  int count_left() const {
    return static_cast<int>(std::count_if(workers_.begin(), workers_.end(), [](const Child& child) { return !was_killed(child); }));
  }

  // Goes on without those who have died: all others are ended, whatever they are doing, and as many are started anew. False: they could not be.
  bool shrink() {
    const int left = count_left();
    std::string dead;
    for (size_t rank = 0; rank < workers_.size(); ++rank) {
      if (!was_killed(workers_[rank])) continue;
      dead += (dead.empty() ? "" : ", ") + how_it_ended(named(rank), workers_[rank]);
      gone_ = named(rank) + " (process " + std::to_string(workers_[rank].process) + ")";
    }
    fprintf(stderr, "mxc: %s; the job goes on with %d %s\n", dead.c_str(), left, left == 1 ? "process" : "processes");
    for (Child& child : workers_) cut(child);
    cut(scheduler_);
    show_all();
    workers_.clear();
    scheduler_ = {};
    count_ = left;
    ++shrunk_;
    return start_all();
  }

  // False: another could not be started.
  bool replace_dead() {
    if (is_replaced(scheduler_)) {
      const std::string before = how_it_ended("the job's scheduler", scheduler_);
      scheduler_ = {};
      if (start_scheduler(address_).empty()) return false;
      tell_replaced(before, scheduler_);
    }
    if (options_.on_death == OnDeath::shrink)
      return std::any_of(workers_.begin(), workers_.end(), [this](const Child& child) { return is_replaced(child); }) ? shrink() : true;
    for (int rank = 0; rank < static_cast<int>(workers_.size()); ++rank) {
      Child& child = workers_[rank];
      if (!is_replaced(child)) continue;
      show(rank, *child.out, stdout);
      show(rank, *child.err, stderr);
      const std::string before = how_it_ended(named(rank), child);
      Child next;
      next.returns = child.returns + 1;
      child = std::move(next);
      if (!start_worker(rank)) return false;
      tell_replaced(before, child);
    }
    return true;
  }

  void tell_replaced(const std::string& before, const Child& child) {
    const std::string next = child.host.empty() ? "process " + std::to_string(child.process) : "another";
    fprintf(stderr, "mxc: %s; %s takes its place (%d of %d)\n", before.c_str(), next.c_str(), ++returns_, options_.returns);
  }

  bool start_remote(Child& child, const std::string& host, const Variables& variables) {
    llvm::SmallString<256> folder;
    if (std::error_code error = llvm::sys::fs::current_path(folder)) return fail(Fault::input, "there is no current folder: " + error.message()), false;
    ChildCommand command{options_.ssh};
    command.words.push_back(host);
    command.words.push_back(remote_command(options_.command, folder.str().str(), variables));
    command.controlled = true;
    child.host = host;
    if (!start(child, command)) return false;
    tell(child, keys_line(keys_));
    return true;
  }

  void show(int rank, Lines& lines, FILE* to) {
    for (const std::string& line : lines.read()) {
      if (began_with_ > 1) fprintf(to, "[%d] ", rank);
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

  // The first that ends badly decides what the job ends with; of several that are met at once, one that a signal has ended, for the others may have ended
  // because of it. A scheduler says by its exit code that the job has failed: who made it fail is one of the workers.
  void note_ends() {
    for (bool fresh = true; fresh;) {  // until all are known that ended before any that is
      fresh = !scheduler_.status && has_ended(scheduler_);
      for (Child& child : workers_) fresh |= !child.status && has_ended(child);
    }
    for (bool by_signal : {true, false}) {
      if (by_signal && was_killed(scheduler_) && !is_replaced(scheduler_)) note_failure("the job's scheduler", scheduler_);
      for (size_t rank = 0; rank < workers_.size(); ++rank) {
        const Child& child = workers_[rank];
        if (child.status && *child.status != 0 && !is_replaced(child) && (signal_of(child) != 0) == by_signal) note_failure(named(rank), child);
      }
    }
  }

  void note_failure(const std::string& who, const Child& child) {
    // News of ends come from other machines in any order: there, too, a signal goes before exits that may follow from it.
    const bool goes_before = !child.host.empty() && signal_of(child) != 0 && signal_ == 0 && !told_;
    if (exit_code_ != 0 && !goes_before) return;
    if (exit_code_ == 0) failed_at_ = Clock::now();
    exit_code_ = code_of(child);
    signal_ = signal_of(child);
    first_ = how_it_ended(who, child);
    if (options_.on_death != OnDeath::abort && signal_ != 0 && returns_ == options_.returns)
      first_ += "; " + std::to_string(returns_) + " processes have been replaced, and --returns allows no more";
  }

  static std::string named(size_t rank) { return "rank " + std::to_string(rank); }

  void watch() {
    int handed_on = 0;
    while (true) {
      std::vector<pollfd> wait;
      for (Child& child : workers_) {
        if (child.out->open()) wait.push_back({child.out->descriptor(), POLLIN, 0});
        if (child.err->open()) wait.push_back({child.err->descriptor(), POLLIN, 0});
      }
      poll(wait.data(), wait.size(), kLookMilliseconds);
      if (stop_.received() != 0 && handed_on == 0) {
        handed_on = stop_.received();
        for (Child& child : workers_) end(child, handed_on);
      }
      note_ends();
      show_all();
      states_.look();
      if (!replace_dead()) {
        exit_code_ = printer_.exitCode();
        return;
      }
      if (std::all_of(workers_.begin(), workers_.end(), [](const Child& child) { return child.status.has_value(); })) break;
      if (exit_code_ == 0) continue;
      const auto since = Clock::now() - failed_at_;
      if (since > kTimeToEnd && !std::exchange(told_, true)) {
        for (Child& child : workers_) end(child, SIGTERM);
      }
      if (since > kTimeToEnd + kTimeToDie) {
        for (Child& child : workers_) end(child, SIGKILL);
      }
      if (since > kTimeToEnd + 2 * kTimeToDie) {
        for (Child& child : workers_) cut(child);
      }
    }
    show_all();
    if (exit_code_ == 0) states_.remove();
    if (handed_on != 0 && signal_ == handed_on) raise(handed_on);  // they have not heeded it, and neither does mxc
    const bool as_asked = handed_on != 0 && exit_code_ == kInterrupted;
    if (exit_code_ != 0 && !as_asked) printer_.error(Fault::input, first_);
  }

  const LaunchOptions& options_;
  DiagnosticPrinter& printer_;
  const StopSignals stop_;
  WorkDirectory work_;
  std::string job_, keys_file_;
  StateFolders states_;
  std::string address_;  // of the scheduler
  kv::JobKeys keys_;
  int count_ = 0;                               // of workers
  int began_with_ = 0;                          // so many of them
  JobHosts hosts_;
  Child scheduler_;
  std::vector<Child> workers_;
  int exit_code_ = 0;
  int returns_ = 0;    // processes that have been started again
  int shrunk_ = 0;     // times
  std::string gone_;   // who has died last
  int signal_ = 0;     // that ended the first that failed; 0: none did
  bool told_ = false;  // those that have not ended by themselves have been asked to
  Clock::time_point failed_at_;
  std::string first_;  // who failed first, and how
};

}  // namespace

const char* on_death_name(LaunchOptions::OnDeath policy) { return kOnDeathNames[static_cast<size_t>(policy)]; }

int launch(const LaunchOptions& options, DiagnosticPrinter& printer) {
  return Job(options, printer).run();
}

}  // namespace mxc::driver

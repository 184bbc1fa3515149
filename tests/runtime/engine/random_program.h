// Random programs of operations, drawn before they run so that every engine gets the same, and a machine that runs them. The data are
// plain integers that only the engine protects: under ThreadSanitizer a missing order is a report.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/runtime/engine/engines.h"

namespace mxc::engine {

struct Command {
  // renew: a variable's only handle is dropped, with operations of it queued, and another takes its place.
  enum Kind { plain, asynchronous, staged, recover, nested, renew, ask } kind;
  Traits traits;
  std::vector<size_t> reads, mutates;  // staged: reads[i] and mutates[i] are touched in item i
  bool fails, throws;                  // throws: fails by an exception
  uint32_t fails_at;                   // staged: in this item
  uint64_t salt;
};

using RandomNumbers = std::mt19937_64;

inline std::vector<size_t> some_of(RandomNumbers& random, size_t variables, size_t at_most) {
  std::vector<size_t> chosen(random() % (at_most + 1));
  for (size_t& v : chosen) v = random() % variables;
  return chosen;
}

inline std::vector<Command> random_program(uint64_t seed, size_t variables, size_t length, bool with_errors) {
  RandomNumbers random(seed);
  std::vector<Command> program(length);
  for (Command& c : program) {
    const uint64_t kind = random() % 40;
    c.kind = kind < 4   ? Command::asynchronous
             : kind < 12 ? Command::staged
             : kind < 14 ? Command::nested
             : kind < 15 ? Command::renew
             : kind < 17 ? Command::ask
                         : Command::plain;
    if (with_errors && random() % 12 == 0) c.kind = Command::recover;
    c.traits = {"op", static_cast<Lane>(random() % kLanes), static_cast<int32_t>(random() % 5), random() % 3 == 0, random() % 6 == 0, random() % 4 == 0,
                random() % 3 == 0};
    c.reads = some_of(random, variables, 4);
    c.mutates = some_of(random, variables, 3);
    if (c.kind == Command::staged) {
      // Distinct variables, as many read as mutated: item i reads one and mutates another.
      std::vector<size_t> all(variables);
      for (size_t i = 0; i < variables; ++i) all[i] = i;
      std::shuffle(all.begin(), all.end(), random);
      const size_t items = 1 + random() % (variables / 2);
      c.reads.assign(all.begin(), all.begin() + static_cast<long>(items));
      c.mutates.assign(all.begin() + static_cast<long>(items), all.begin() + static_cast<long>(2 * items));
    }
    if (c.kind == Command::recover || c.kind == Command::renew || c.kind == Command::ask) c.mutates = {random() % variables};
    c.fails = with_errors && random() % 15 == 0;
    c.throws = random() % 2 == 0;
    c.fails_at = static_cast<uint32_t>(random() % (c.reads.size() + 1));
    c.salt = random();
  }
  return program;
}

class Machine {
 public:
  Machine(Engine& engine, size_t variables) : engine_(engine) {
    for (size_t i = 0; i < variables; ++i) slots_.push_back(new_slot(i));
  }
  ~Machine() { join_helpers(); }

  void push(const Command& c) {
    switch (c.kind) {
      case Command::plain: return engine_.push(c.traits, handles(c.reads), handles(c.mutates), work(c));
      case Command::nested:  // pushes from a body come in a place that depends on timing: it touches variables of its own only
        return engine_.push(c.traits, handles(c.reads), handles(c.mutates), [this, &c, work = work(c)] {
          Variable own = engine_.variable("own");
          auto value = std::make_shared<uint64_t>(0);
          for (int i = 0; i < 3; ++i) engine_.push(c.traits, {}, {own}, [value] { return ++*value, absl::OkStatus(); });
          return work();
        });
      case Command::asynchronous:
        return engine_.push_async(c.traits, handles(c.reads), handles(c.mutates), [this, &c, work = work(c)](Completion done) {
          if (c.fails && c.throws) throw std::runtime_error("start");  // drops the completion
          if (c.salt % 2 == 0) return done(work());
          std::lock_guard<std::mutex> lock(helpers_mutex_);
          helpers_.emplace_back([work, done = std::move(done)]() mutable { done(work()); });
        });
      case Command::staged: return push_staged(c);
      case Command::recover: return engine_.recover(slots_[c.mutates[0]].variable, c.throws ? Forget::passing : Forget::everything);
      case Command::ask: return engine_.ask(slots_[c.mutates[0]].variable);
      case Command::renew: {
        Slot& slot = slots_[c.mutates[0]];
        retired_.push_back(slot.value);
        slot = new_slot(c.salt);
        return;
      }
    }
  }

  // Failures, and values and errors of all variables, once everything has ended, and the values of those that were dropped.
  std::vector<std::string> outcome() {
    std::vector<std::string> result = {std::to_string(engine_.untold().operations) + " failures", std::string(engine_.wait_all().message())};
    for (const Slot& slot : slots_) {
      const absl::Status status = engine_.wait(slot.variable);
      result.push_back(std::to_string(*slot.value) + " " + std::string(status.message()));
    }
    for (const std::shared_ptr<uint64_t>& value : retired_) result.push_back(std::to_string(*value));
    retired_.clear();
    join_helpers();
    return result;
  }

 private:
  struct Slot {
    Variable variable;
    std::shared_ptr<uint64_t> value;
  };
  using Values = std::vector<std::shared_ptr<uint64_t>>;

  Slot new_slot(uint64_t value) { return {engine_.variable("v"), std::make_shared<uint64_t>(value)}; }

  void join_helpers() {
    std::vector<std::thread> helpers;
    {
      std::lock_guard<std::mutex> lock(helpers_mutex_);
      helpers.swap(helpers_);
    }
    for (std::thread& thread : helpers) thread.join();
  }

  std::vector<Variable> handles(const std::vector<size_t>& indices) const {
    std::vector<Variable> result;
    for (size_t i : indices) result.push_back(slots_[i].variable);
    return result;
  }
  Values values(const std::vector<size_t>& indices) const {
    Values result;
    for (size_t i : indices) result.push_back(slots_[i].value);
    return result;
  }

  static uint64_t mix(uint64_t a, uint64_t b) { return (a ^ (b + 0x9e3779b97f4a7c15 + (a << 6) + (a >> 2))) * 0xff51afd7ed558ccd; }

  static absl::Status failure(const Command& c) {
    if (c.throws && c.kind != Command::asynchronous) throw std::runtime_error(std::to_string(c.salt));
    return absl::InternalError(std::to_string(c.salt));
  }

  struct Work {
    const Command& c;
    Values reads, mutates;
    absl::Status operator()() const {
      uint64_t value = c.salt;
      for (const auto& x : reads) value = mix(value, *x);
      for (const auto& x : mutates) *x = mix(*x, value);
      return c.fails ? failure(c) : absl::OkStatus();
    }
  };
  Work work(const Command& c) const { return {c, values(c.reads), values(c.mutates)}; }

  // Item i reads reads[i] and mutates mutates[i], but holds what it read until the end, and from every third item on what it
  // mutated: all shapes of overlapping holds, which forget errors of all kinds.
  void push_staged(const Command& c) {
    const uint32_t items = static_cast<uint32_t>(c.reads.size());
    std::vector<Hold> holds;
    for (uint32_t i = 0; i < items; ++i) {
      const auto forget = [&](uint32_t shift) { return static_cast<Forget>((c.salt >> (i + shift) % 60) % 3); };
      holds.push_back({slots_[c.reads[i]].variable, false, i, c.salt >> i & 1 ? items - 1 : i, forget(7)});
      holds.push_back({slots_[c.mutates[i]].variable, true, i, i % 3 == 0 ? std::min(i + 2, items - 1) : i, forget(19)});
    }
    engine_.push_staged(c.traits, holds, items,
                        [&c, reads = values(c.reads), mutates = values(c.mutates)](uint32_t first, uint32_t end) {
                          for (uint32_t i = first; i < end; ++i) {
                            if (c.fails && i == c.fails_at) return failure(c);
                            *mutates[i] = mix(*mutates[i], mix(c.salt, *reads[i]));
                          }
                          return absl::OkStatus();
                        });
  }

  Engine& engine_;
  std::vector<Slot> slots_;
  Values retired_;            // of dropped variables
  std::mutex helpers_mutex_;  // guards helpers_
  std::vector<std::thread> helpers_;
};

// Ends the process when it lives longer than allowed: a deadlock is a failure, not a hang.
class Watchdog {
 public:
  explicit Watchdog(std::chrono::seconds limit) : thread_([this, limit] { watch(limit); }) {}
  ~Watchdog() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      over_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }

 private:
  void watch(std::chrono::seconds limit) {
    std::unique_lock<std::mutex> lock(mutex_);
    if (changed_.wait_for(lock, limit, [this] { return over_; })) return;
    std::fprintf(stderr, "no end after %lld s: a deadlock\n", static_cast<long long>(limit.count()));
    std::abort();
  }

  std::mutex mutex_;  // guards over_
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace mxc::engine

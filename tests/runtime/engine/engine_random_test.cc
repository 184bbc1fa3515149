// Random programs: an engine with threads computes what the naive engine computes, errors included. The data are plain integers that
// only the engine protects, so under ThreadSanitizer a missing order is a report.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "runtime/engine/engine.h"

namespace mxc::engine {
namespace {

// One operation of a random program, drawn before it runs, so that every engine gets the same.
struct Command {
  enum Kind { plain, asynchronous, staged, recover, nested } kind;
  Traits traits;
  std::vector<size_t> reads, mutates;  // staged: reads[i] and mutates[i] are touched in item i
  bool fails;
  uint32_t fails_at;                   // staged: in this item
  uint64_t salt;
};

using Random = std::mt19937_64;

std::vector<size_t> some_of(Random& random, size_t variables, size_t at_most) {
  std::vector<size_t> chosen(random() % (at_most + 1));
  for (size_t& v : chosen) v = random() % variables;
  return chosen;
}

std::vector<Command> random_program(uint64_t seed, size_t variables, size_t length, bool with_errors) {
  Random random(seed);
  std::vector<Command> program(length);
  for (Command& c : program) {
    uint64_t kind = random() % 20;
    c.kind = kind < 3 ? Command::asynchronous : kind < 7 ? Command::staged : kind < 8 ? Command::nested : Command::plain;
    if (with_errors && random() % 12 == 0) c.kind = Command::recover;
    c.traits = {"op", static_cast<Lane>(random() % kLanes), static_cast<int32_t>(random() % 5)};
    c.reads = some_of(random, variables, 4);
    c.mutates = some_of(random, variables, 3);
    if (c.kind == Command::staged) {
      // Distinct variables, as many read as mutated: item i reads one and mutates another.
      std::vector<size_t> all(variables);
      for (size_t i = 0; i < variables; ++i) all[i] = i;
      std::shuffle(all.begin(), all.end(), random);
      size_t items = 1 + random() % (variables / 2);
      c.reads.assign(all.begin(), all.begin() + static_cast<long>(items));
      c.mutates.assign(all.begin() + static_cast<long>(items), all.begin() + static_cast<long>(2 * items));
    }
    if (c.kind == Command::recover) c.mutates = {random() % variables};
    c.fails = with_errors && random() % 15 == 0;
    c.fails_at = static_cast<uint32_t>(random() % (c.reads.size() + 1));
    c.salt = random();
  }
  return program;
}

uint64_t mix(uint64_t a, uint64_t b) { return (a ^ (b + 0x9e3779b97f4a7c15 + (a << 6) + (a >> 2))) * 0xff51afd7ed558ccd; }

class Machine {
 public:
  Machine(Engine& engine, size_t variables) : engine_(engine), data_(variables, 1) {
    for (size_t i = 0; i < variables; ++i) variables_.push_back(engine.variable(std::to_string(i)));
  }
  ~Machine() {
    for (std::thread& thread : helpers_) thread.join();
  }

  void push(const Command& c) {
    switch (c.kind) {
      case Command::plain:
        return engine_.push(c.traits, handles(c.reads), handles(c.mutates), [this, &c] { return compute(c); });
      case Command::nested:  // pushes from a body come in a place that depends on timing: it touches variables of its own only
        return engine_.push(c.traits, handles(c.reads), handles(c.mutates), [this, &c] {
          Variable own = engine_.variable("own");
          auto value = std::make_shared<uint64_t>(0);
          for (int i = 0; i < 3; ++i) engine_.push(c.traits, {}, {own}, [value] { return ++*value, absl::OkStatus(); });
          return compute(c);
        });
      case Command::asynchronous:
        return engine_.push_async(c.traits, handles(c.reads), handles(c.mutates), [this, &c](Completion done) {
          if (c.salt % 2 == 0) return done(compute(c));
          std::lock_guard<std::mutex> lock(helpers_mutex_);
          helpers_.emplace_back([this, &c, done = std::move(done)]() mutable { done(compute(c)); });
        });
      case Command::staged: return push_staged(c);
      case Command::recover: return engine_.recover(variables_[c.mutates[0]]);
    }
  }

  // Values and errors of all variables, once everything has ended.
  std::vector<std::string> outcome() {
    std::vector<std::string> result = {std::string(engine_.wait_all().message())};
    for (size_t i = 0; i < data_.size(); ++i) {
      absl::Status status = engine_.wait(variables_[i]);
      result.push_back(std::to_string(data_[i]) + " " + std::string(status.message()));
    }
    return result;
  }

 private:
  std::vector<Variable> handles(const std::vector<size_t>& indices) {
    std::vector<Variable> result;
    for (size_t i : indices) result.push_back(variables_[i]);
    return result;
  }

  absl::Status compute(const Command& c) {
    uint64_t value = c.salt;
    for (size_t i : c.reads) value = mix(value, data_[i]);
    for (size_t i : c.mutates) data_[i] = mix(data_[i], value);
    return c.fails ? absl::InternalError(std::to_string(c.salt)) : absl::OkStatus();
  }

  // Item i reads reads[i] and mutates mutates[i], but holds what it read until the end, and from every third item on what it
  // mutated: all shapes of overlapping holds.
  void push_staged(const Command& c) {
    uint32_t items = static_cast<uint32_t>(c.reads.size());
    std::vector<Hold> holds;
    for (uint32_t i = 0; i < items; ++i) {
      holds.push_back({variables_[c.reads[i]], false, i, c.salt >> i & 1 ? items - 1 : i});
      holds.push_back({variables_[c.mutates[i]], true, i, i % 3 == 0 ? std::min(i + 2, items - 1) : i});
    }
    engine_.push_staged(c.traits, std::move(holds), items, [this, &c](uint32_t first, uint32_t end) {
      for (uint32_t i = first; i < end; ++i) {
        if (c.fails && i == c.fails_at) return absl::InternalError(std::to_string(c.salt));
        data_[c.mutates[i]] = mix(data_[c.mutates[i]], mix(c.salt, data_[c.reads[i]]));
      }
      return absl::OkStatus();
    });
  }

  Engine& engine_;
  std::vector<Variable> variables_;
  std::vector<uint64_t> data_;
  std::mutex helpers_mutex_;  // guards helpers_
  std::vector<std::thread> helpers_;
};

std::vector<std::string> run(const std::vector<Command>& program, size_t variables, int threads, size_t run_ahead) {
  Engine::Options options;
  options.naive = threads == 0;
  for (int& count : options.threads) count = std::max(threads, 1);
  options.run_ahead = run_ahead;
  std::unique_ptr<Engine> engine = *Engine::create(options);
  Machine machine(*engine, variables);
  for (const Command& c : program) machine.push(c);
  return machine.outcome();
}

class RandomPrograms : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Threads, RandomPrograms, testing::Values(1, 2, 4));

TEST_P(RandomPrograms, ComputeWhatTheNaiveEngineComputes) {
  for (uint64_t seed = 1; seed <= 24; ++seed) {
    size_t variables = 3 + seed % 10;
    std::vector<Command> program = random_program(seed, variables, 300, /*with_errors=*/seed % 2 == 0);
    ASSERT_EQ(run(program, variables, GetParam(), 64), run(program, variables, 0, 64)) << "seed " << seed;
  }
}

TEST_P(RandomPrograms, NeedLittleRunAhead) {
  std::vector<Command> program = random_program(99, 6, 200, true);
  EXPECT_EQ(run(program, 6, GetParam(), 1), run(program, 6, 0, 1));
}

}  // namespace
}  // namespace mxc::engine

// A small job whose processes kill themselves (SIGKILL) in the middle of the protocol: for tests/examples/on_death_test.py. mxc launch starts it.
// Usage: mortal_job STEPS [RANK:send|receive:TYPE:COUNT[:LIVES]] ...
//
// The process of that rank dies just before it sends, or as soon as it has received, the COUNT-th message of that type (a number of wire.h), in as many of
// its lives as said (1). Rank 0 says in the end whether the values have the bits of plain loops.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "runtime/kv/answer.h"
#include "runtime/kv/identity.h"
#include "runtime/kv/join.h"
#include "runtime/kv/process.h"
#include "runtime/kv/role.h"

namespace mxc::kv {
namespace {

struct Point {
  bool sends = false;
  int type = 0, count = 0;
};

// A transport that ends its process.
class MortalTransport : public Transport {
 public:
  MortalTransport(std::unique_ptr<Transport> inner, std::vector<Point> points) : inner_(std::move(inner)), points_(std::move(points)) {}

  absl::StatusOr<std::string> listen(const std::string& address) override { return inner_->listen(address); }
  absl::StatusOr<Peer> connect(const std::string& address) override { return inner_->connect(address); }
  absl::Status send(Peer peer, std::span<const std::string_view> frames, const std::shared_ptr<const void>& owner) override {
    note(true, frames[0]);
    return inner_->send(peer, frames, owner);
  }
  absl::StatusOr<Arrival> receive(Duration most) override {
    auto arrival = inner_->receive(most);
    if (arrival.ok() && arrival->kind == Arrival::Kind::message && !arrival->frames.empty()) note(false, arrival->frames[0]);
    return arrival;
  }
  void wake() override { inner_->wake(); }
  void drop(Peer peer) override { inner_->drop(peer); }
  void close(Duration most) override { inner_->close(most); }

 private:
  void note(bool sends, std::string_view header) {
    constexpr size_t kTypeAt = 6;
    for (Point& point : points_) {
      if (point.sends == sends && header.size() > kTypeAt && header[kTypeAt] == point.type && --point.count == 0) ::kill(::getpid(), SIGKILL);
    }
  }

  const std::unique_ptr<Transport> inner_;
  std::vector<Point> points_;
};

// ---- What is computed: two values, of which the second is cut into chunks on all servers. A shard's contribution depends on both. There are as many shards
// as the job began with processes.
constexpr size_t kElements[] = {5, 40'000};
using Values = std::array<std::vector<float>, 2>;

Values first_values() {
  Values values;
  for (size_t key : {0u, 1u})
    for (size_t i = 0; i < kElements[key]; ++i) values[key].push_back(static_cast<float>(i % 13) - 4);
  return values;
}
Values contribution(int64_t shard, uint64_t step, const Values& at) {
  Values made = at;
  for (size_t key : {0u, 1u})
    for (size_t i = 0; i < kElements[key]; ++i)
      made[key][i] = 0.4f * at[key][i] - 0.3f * at[1 - key][i % kElements[1 - key]] + static_cast<float>(static_cast<uint64_t>(shard) * 3 + step) / 7.3f;
  return made;
}
void update(float& value, float sum) { value -= 0.2f * sum; }

// The sum over shards, by the tree.
float added(const std::vector<Values>& all, Node node, size_t key, size_t i) {
  if (node.end - node.first == 1) return all[static_cast<size_t>(node.first)][key][i];
  return added(all, {node.first, node.middle()}, key, i) + added(all, {node.middle(), node.end}, key, i);
}

Values sum_over(Node part, const std::vector<Values>& all) {
  Values sums;
  for (size_t key : {0u, 1u})
    for (size_t i = 0; i < kElements[key]; ++i) sums[key].push_back(added(all, part, key, i));
  return sums;
}

Values plain_loops(int64_t shards, uint64_t steps) {
  Values values = first_values();
  for (uint64_t step = 1; step <= steps; ++step) {
    std::vector<Values> all;
    for (int64_t shard = 0; shard < shards; ++shard) all.push_back(contribution(shard, step, values));
    const Values sums = sum_over({0, shards}, all);
    for (size_t key : {0u, 1u})
      for (size_t i = 0; i < kElements[key]; ++i) update(values[key][i], sums[key][i]);
  }
  return values;
}

// Those of a process's shards.
std::vector<Values> parts_at(const Identity& identity, int64_t shards, uint64_t step, const Values& values) {
  const Node own = shards_of(identity.rank, identity.size, shards);
  std::vector<Values> all(static_cast<size_t>(shards)), parts;
  for (int64_t shard = own.first; shard < own.end; ++shard) all[static_cast<size_t>(shard)] = contribution(shard, step, values);
  for (Node part : parts_of(own, shards)) parts.push_back(sum_over(part, all));
  return parts;
}

absl::Status work(Process& process, const Identity& identity, int64_t shards, uint64_t steps, Values& values) {
  auto pull = [&](uint64_t step) {
    Answer answers[2];
    for (uint32_t key : {0u, 1u}) process.pull(key, step, reinterpret_cast<char*>(values[key].data()), answers[key].done());
    absl::Status status = answers[0].wait();
    status.Update(answers[1].wait());
    return status;
  };
  values = first_values();
  uint64_t done = UINT64_MAX;
  for (uint32_t key : {0u, 1u}) {
    uint64_t of_key;
    Answer answer;
    process.ask(key, &of_key, answer.done());
    if (absl::Status status = answer.wait(); !status.ok()) return status;
    done = std::min(done, of_key);
  }
  if (absl::Status status = pull(done); !status.ok()) return status;
  for (uint64_t step = done + 1; step <= steps; ++step) {
    const std::vector<Values> made = parts_at(identity, shards, step, values);
    Answer answers[2];
    for (uint32_t key : {0u, 1u}) {
      std::vector<PartOfKey> parts;
      for (const Values& part : made) parts.push_back({reinterpret_cast<const char*>(part[key].data()), 1});
      process.push(key, step, std::move(parts), -static_cast<int32_t>(key), answers[key].done());
    }
    absl::Status status = answers[0].wait();
    status.Update(answers[1].wait());
    if (status.ok()) status = pull(step);
    if (!status.ok()) return status;
  }
  for (uint32_t key : {0u, 1u}) process.finish(key, steps + 1);
  return process.close();
}

absl::StatusOr<std::string> run(const Identity& identity, uint64_t steps, const std::vector<Point>& points) {
  auto options = process_options(identity, {}, true);
  if (!options.ok()) return options.status();
  for (auto* endpoint : {&options->endpoint, &options->data_endpoint}) {
    *endpoint = [inner = *endpoint, points](int64_t largest) -> absl::StatusOr<std::unique_ptr<Transport>> {
      auto transport = inner(largest);
      if (!transport.ok()) return transport.status();
      return std::make_unique<MortalTransport>(*std::move(transport), points);
    };
  }
  auto process = Process::start(*options);
  if (!process.ok()) return process.status();
  std::vector<Key> keys;
  for (size_t elements : kElements) keys.push_back({"key " + std::to_string(keys.size()), {static_cast<int64_t>(elements)}, plan::DType::f32});
  PlanRules rules;
  rules.workers = identity.size;
  rules.servers = identity.servers > 0 ? identity.servers : identity.size;
  rules.shards = std::max(identity.size, identity.began_with);
  rules.cut_above = 64 << 10;
  auto plan = make_plan(keys, rules);
  if (!plan.ok()) return plan.status();
  std::vector<std::string> initial;
  for (const std::vector<float>& value : first_values())
    initial.emplace_back(reinterpret_cast<const char*>(value.data()), value.size() * sizeof(float));
  if (identity.rank != 0) initial.clear();
  const auto updater = [](const Step& step) {
    for (size_t at = 0; at < step.value.size(); at += sizeof(float)) {
      float value, sum;
      std::memcpy(&value, step.value.data() + at, sizeof value);
      std::memcpy(&sum, step.sum.data() + at, sizeof sum);
      update(value, sum);
      std::memcpy(step.value.data() + at, &value, sizeof value);
    }
    return absl::OkStatus();
  };
  if (absl::Status status = (*process)->seal(*std::move(plan), updater, std::move(initial)); !status.ok()) return status;
  Values values;
  absl::Status status = work(**process, identity, rules.shards, steps, values);
  if (!status.ok()) (*process)->fail(status);
  (*process)->stop();
  if (!status.ok()) return status;
  return values == plain_loops(rules.shards, steps) ? "as plain loops" : "other values";
}

// "RANK:send:TYPE:COUNT[:LIVES]", if it is this rank's and life's.
std::vector<Point> points_of(const Identity& identity, char** arguments) {
  std::vector<Point> points;
  for (; *arguments != nullptr; ++arguments) {
    const std::vector<std::string> words = absl::StrSplit(*arguments, ':');
    Point point;
    uint32_t rank = 0;
    int lives = 1;
    if (words.size() < 4 || !absl::SimpleAtoi(words[0], &rank) || !absl::SimpleAtoi(words[2], &point.type) ||
        !absl::SimpleAtoi(words[3], &point.count) || (words.size() > 4 && !absl::SimpleAtoi(words[4], &lives))) {
      std::fprintf(stderr, "mortal_job: what is '%s'?\n", *arguments);
      std::exit(2);
    }
    point.sends = words[1] == "send";
    if (rank == identity.rank && identity.returns < lives) points.push_back(point);
  }
  return points;
}

}  // namespace
}  // namespace mxc::kv

int main(int argc, char** argv) {
  using namespace mxc::kv;
  if (const int code = mxc_run_role(); code >= 0) return code;
  const auto identity = detect_identity([](const char* name) { return std::getenv(name); });
  uint64_t steps = 0;
  if (!identity.ok() || !identity->has_value() || argc < 2 || !absl::SimpleAtoi(argv[1], &steps)) return 2;
  const auto result = run(**identity, steps, points_of(**identity, argv + 2));
  if (!result.ok()) return std::fprintf(stderr, "mortal_job: %s\n", std::string(result.status().message()).c_str()), 1;
  if ((*identity)->rank == 0) std::puts(result->c_str());
  return *result == "as plain loops" ? 0 : 3;
}

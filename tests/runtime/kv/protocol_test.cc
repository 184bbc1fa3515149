// Workers and servers together, over a network that loses, repeats and reorders, on a clock of its own: whatever happens on the way, values
// have the bits of plain loops, and every contribution is in them once.
#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <memory>
#include <random>

#include "runtime/kv/server.h"
#include "runtime/kv/worker.h"

namespace mxc::kv {
namespace {

struct Setting {
  uint64_t seed;
  int64_t workers, shards;
  Consistency consistency;
  int drop = 0, duplicate = 0, lose_connection = 0;  // thousandths
  bool reorder = false;
  uint64_t steps = 6;
  int64_t lose_at = -1;  // the connection of this delivery breaks
};

// What shard s contributes to element e of key k in step t: small numbers whose sums depend on their order.
float contribution(int64_t shard, uint64_t key, uint64_t step, int64_t element) {
  const uint64_t mixed =
      (static_cast<uint64_t>(shard) * 31 + key * 17 + step * 101 + static_cast<uint64_t>(element) * 7919) * 2654435761u;
  return static_cast<float>(mixed % 100003) / 97.0f - 500.0f;
}

constexpr int64_t kElements[] = {3, 50, 1100};  // the last is cut

class Simulation {
 public:
  explicit Simulation(const Setting& setting) : setting_(setting), random_(setting.seed) {
    std::vector<Key> keys;
    for (int64_t elements : kElements) keys.push_back({"k" + std::to_string(keys.size()), {elements}, plan::DType::f32});
    PlanRules rules = {.servers = setting.workers, .workers = setting.workers, .shards = setting.shards};
    rules.cut_above = 4000;
    rules.smallest_piece = 2000;
    plan_ = *make_plan(keys, rules);
    for (int64_t i = 0; i < setting.workers; ++i) {
      const auto rank = static_cast<uint32_t>(i);
      servers_.push_back(
          std::make_unique<Server>(plan_, rank, setting.consistency, [this](const Step& step) { return update(step); }));
      workers_.push_back(
          std::make_unique<Worker>(plan_, WorkerOptions{.rank = rank, .consistency = setting.consistency, .credit = 3000}));
    }
    programs_.resize(static_cast<size_t>(setting.workers));
    for (Program& program : programs_) {
      program.next.assign(plan_.chunks.size(), 1);
      program.waits.assign(plan_.chunks.size(), false);
    }
    for (uint32_t chunk = 0; chunk < plan_.chunks.size(); ++chunk)
      workers_[0]->init(chunk, std::string(plan_.chunks[chunk].bytes, '\0'));
  }

  // Until all is committed; false if it does not end.
  bool run() {
    for (int round = 0; round < 200'000; ++round) {
      for (uint32_t rank = 0; rank < workers_.size(); ++rank) work(rank);
      if (network_.empty()) {
        if (is_done()) return true;
        Time next = Time::max();
        for (auto& worker : workers_) next = std::min(next, worker->next_time());
        if (next == Time::max()) return false;
        now_ = std::max(now_, next);
        continue;
      }
      deliver();
    }
    return false;
  }

  // The whole value of a key, on whichever servers it lies.
  std::vector<float> value(uint32_t key) const {
    std::vector<float> values(static_cast<size_t>(kElements[key]));
    for (uint32_t chunk : plan_.of_key[key]) {
      const Piece& piece = plan_.chunks[chunk].pieces[0];
      std::memcpy(values.data() + piece.first, servers_[plan_.chunks[chunk].server]->value(chunk).data(),
                  plan_.chunks[chunk].bytes);
    }
    return values;
  }
  uint64_t updates(uint32_t chunk) const { return updates_.count(chunk) ? updates_.at(chunk) : 0; }
  const CommunicationPlan& plan() const { return plan_; }
  const Server& server_of(uint32_t chunk) const { return *servers_[plan_.chunks[chunk].server]; }
  int64_t pulls() const { return pulls_; }
  uint64_t most_stale() const { return most_stale_; }
  int64_t deliveries() const { return deliveries_; }

 private:
  struct Program {  // of a worker: push, pull, push, pull ... of each chunk
    std::vector<uint64_t> next;
    std::vector<bool> waits;
    uint64_t tickets = 0;
    std::map<uint64_t, uint64_t> pushed;  // by ticket: the step after which it was pulled
  };
  struct Travelling {
    bool to_server;
    uint32_t from, to;
    Header header;
    std::string payload;
  };

  // value += sum / 2: what is pulled depends on all that came before.
  absl::Status update(const Step& step) {
    ++updates_[step.chunk];
    for (size_t at = 0; at < step.sum.size(); at += 4) {
      float sum, value;
      std::memcpy(&sum, step.sum.data() + at, 4);
      std::memcpy(&value, step.value.data() + at, 4);
      value += sum / 2;
      std::memcpy(step.value.data() + at, &value, 4);
    }
    return absl::OkStatus();
  }

  void work(uint32_t rank) {
    Program& program = programs_[rank];
    Worker& worker = *workers_[rank];
    const Node range = shards_of(rank, setting_.workers, setting_.shards);
    const std::vector<Node> parts = parts_of(range, setting_.shards);
    for (uint32_t chunk = 0; chunk < plan_.chunks.size(); ++chunk) {
      const uint64_t step = program.next[chunk];
      if (program.waits[chunk] || step > setting_.steps || !worker.has_room(chunk, step)) continue;
      for (uint32_t part = 0; part < parts.size(); ++part)
        worker.push(chunk, part, step, static_cast<uint32_t>(parts[part].end - parts[part].first), summed(parts[part], chunk, step),
                    plan_.chunks[chunk].priority);
      worker.pull(++program.tickets, chunk, step);
      program.pushed[program.tickets] = step;
      program.waits[chunk] = true;
      if (step == setting_.steps) worker.finish(chunk, step + 1);
    }
    Request request;
    while (worker.send(now_, request)) put({true, rank, request.server, request.header, std::string(request.payload)});
  }

  // The worker's own part of the sum, by the tree.
  std::string summed(Node node, uint32_t chunk, uint64_t step) const {
    const Piece& piece = plan_.chunks[chunk].pieces[0];
    std::string bytes(plan_.chunks[chunk].bytes, '\0');
    for (int64_t i = 0; i < piece.count; ++i) {
      const float value = tree(node, piece.key, step, piece.first + i);
      std::memcpy(bytes.data() + 4 * i, &value, 4);
    }
    return bytes;
  }

 public:
  static float tree(Node node, uint64_t key, uint64_t step, int64_t element) {
    if (node.end - node.first == 1) return contribution(node.first, key, step, element);
    return tree({node.first, node.middle()}, key, step, element) + tree({node.middle(), node.end}, key, step, element);
  }

 private:
  bool happens(int thousandths) { return static_cast<int>(random_() % 1000) < thousandths; }

  void put(Travelling message) {
    if (happens(setting_.drop)) return;
    if (happens(setting_.duplicate)) network_.push_back(message);
    network_.push_back(std::move(message));
  }

  void deliver() {
    const size_t at = setting_.reorder ? random_() % network_.size() : 0;
    const Travelling message = std::move(network_[at]);
    network_.erase(network_.begin() + static_cast<std::ptrdiff_t>(at));
    if (deliveries_++ == setting_.lose_at || happens(setting_.lose_connection))
      return lose(message.to_server ? message.from : message.to, message.to_server ? message.to : message.from);
    const Message received = {message.header, message.payload};
    message.to_server ? at_server(message.from, message.to, received) : at_worker(message.from, message.to, received);
  }

  // All that is on its way between the two is gone.
  void lose(uint32_t worker, uint32_t server) {
    std::erase_if(network_, [&](const Travelling& m) {
      return m.to_server ? m.from == worker && m.to == server : m.to == worker && m.from == server;
    });
    workers_[worker]->lost(server);
  }

  void at_server(uint32_t worker, uint32_t server, const Message& message) {
    if (message.header.type == Type::open) {
      EXPECT_EQ(message.header.step, plan_.hash);
      Header opened;
      opened.type = Type::opened;
      return put({false, server, worker, opened, ""});
    }
    std::vector<Reply> replies;
    const absl::Status status = servers_[server]->receive(worker, message, replies);
    EXPECT_TRUE(status.ok()) << status;
    for (const Reply& reply : replies) put({false, server, reply.worker, reply.header, std::string(reply.payload)});
  }

  void at_worker(uint32_t server, uint32_t worker, const Message& message) {
    std::vector<Pulled> pulled;
    const absl::Status status = workers_[worker]->receive(server, message, now_, pulled);
    EXPECT_TRUE(status.ok()) << status;
    for (const Pulled& value : pulled) {
      Program& program = programs_[worker];
      const uint64_t step = program.pushed.at(value.ticket);
      EXPECT_EQ(program.next[value.chunk], step);
      ++pulls_;
      if (!setting_.consistency.is_async()) {
        EXPECT_GE(value.version + setting_.consistency.staleness, step);
        most_stale_ = std::max(most_stale_, step - std::min(step, value.version));
        expect_version(value);
      }
      program.waits[value.chunk] = false;
      ++program.next[value.chunk];
    }
  }

  // A value of version v is the sum of the first v steps, whoever pulls it.
  void expect_version(const Pulled& value) {
    const Piece& piece = plan_.chunks[value.chunk].pieces[0];
    for (int64_t i = 0; i < piece.count; i += 7) {
      float expected = 0, found;
      for (uint64_t step = 1; step <= value.version; ++step)
        expected += tree({0, setting_.shards}, piece.key, step, piece.first + i) / 2;
      std::memcpy(&found, value.value.data() + 4 * i, 4);
      ASSERT_EQ(found, expected) << "chunk " << value.chunk << " version " << value.version;
    }
  }

  bool is_done() const {
    for (const auto& worker : workers_)
      if (!worker->is_idle()) return false;
    for (const Program& program : programs_)
      for (uint64_t next : program.next)
        if (next <= setting_.steps) return false;
    return true;
  }

  const Setting setting_;
  std::mt19937_64 random_;
  CommunicationPlan plan_;
  std::vector<std::unique_ptr<Server>> servers_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<Program> programs_;
  std::deque<Travelling> network_;
  std::map<uint32_t, uint64_t> updates_;
  Time now_{};
  int64_t pulls_ = 0, deliveries_ = 0;
  uint64_t most_stale_ = 0;
};

constexpr uint64_t kSteps = 6;

void expect_plain_loops(const Simulation& simulation, int64_t shards, uint64_t steps = kSteps) {
  for (uint32_t key = 0; key < 3; ++key) {
    const std::vector<float> value = simulation.value(key);
    for (int64_t element = 0; element < kElements[key]; ++element) {
      float expected = 0;
      for (uint64_t step = 1; step <= steps; ++step) expected += Simulation::tree({0, shards}, key, step, element) / 2;
      ASSERT_EQ(value[static_cast<size_t>(element)], expected) << "key " << key << " element " << element;
    }
  }
}

TEST(Protocol, HasTheBitsOfPlainLoops) {
  for (auto [workers, shards] : {std::pair<int64_t, int64_t>{1, 8}, {2, 8}, {4, 8}, {8, 8}, {2, 6}, {3, 7}}) {
    Simulation simulation({1, workers, shards, {}});
    ASSERT_TRUE(simulation.run()) << workers << " workers";
    expect_plain_loops(simulation, shards);
  }
}

TEST(Protocol, SurvivesLossRepetitionAndDisorder) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    Simulation simulation({seed, 3, 6, {}, 100, 100, 0, true});
    ASSERT_TRUE(simulation.run()) << "seed " << seed;
    expect_plain_loops(simulation, 6);
    for (uint32_t chunk = 0; chunk < simulation.plan().chunks.size(); ++chunk) EXPECT_EQ(simulation.updates(chunk), kSteps);
  }
}

TEST(Protocol, SurvivesLostConnections) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    Simulation simulation({seed, 4, 4, {}, 0, 0, 30, false});
    ASSERT_TRUE(simulation.run()) << "seed " << seed;
    expect_plain_loops(simulation, 4);
  }
}

// Each point at which a connection can break, one after the other.
TEST(Protocol, AConnectionMayBreakAnywhere) {
  int64_t breaks = 0;
  for (bool over = false; !over; ++breaks) {
    Setting setting = {1, 2, 2, {}};
    setting.steps = 3;
    setting.lose_at = breaks;
    Simulation simulation(setting);
    ASSERT_TRUE(simulation.run()) << "at delivery " << breaks;
    expect_plain_loops(simulation, 2, setting.steps);
    for (uint32_t chunk = 0; chunk < simulation.plan().chunks.size(); ++chunk)
      ASSERT_EQ(simulation.updates(chunk), setting.steps) << "at delivery " << breaks;
    over = simulation.deliveries() <= breaks;
  }
  EXPECT_GT(breaks, 100);
}

TEST(Protocol, BoundedHasTheSameSums) {
  uint64_t most_stale = 0;
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    Simulation simulation({seed, 3, 3, {.staleness = 2}, 50, 50, 5, true});
    ASSERT_TRUE(simulation.run()) << "seed " << seed;
    expect_plain_loops(simulation, 3);
    most_stale = std::max(most_stale, simulation.most_stale());
  }
  EXPECT_GT(most_stale, 0u);
  EXPECT_LE(most_stale, 2u);
}

TEST(Protocol, AsyncHasEachContributionOnce) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    Simulation simulation({seed, 3, 6, {.kind = Consistency::Kind::async}, 100, 100, 5, true});
    ASSERT_TRUE(simulation.run()) << "seed " << seed;
    EXPECT_EQ(simulation.pulls(), static_cast<int64_t>(3 * kSteps * simulation.plan().chunks.size()));
    for (uint32_t chunk = 0; chunk < simulation.plan().chunks.size(); ++chunk) {
      EXPECT_EQ(simulation.updates(chunk), 3 * kSteps);
      EXPECT_EQ(simulation.server_of(chunk).kept_bytes(), 0);
    }
    const std::vector<float> value = simulation.value(0);
    for (int64_t element = 0; element < kElements[0]; ++element) {
      double expected = 0;  // in any order
      for (int64_t shard = 0; shard < 6; ++shard)
        for (uint64_t step = 1; step <= kSteps; ++step) expected += contribution(shard, 0, step, element) / 2.0;
      EXPECT_NEAR(value[static_cast<size_t>(element)], expected, 1e-2);
    }
  }
}

// Two workers whose gradients are ready in opposite orders, and credit for one chunk. Were credit given back with the value, each would
// wait for the other's chunk.
TEST(Protocol, OppositeOrdersDoNotWaitForEachOther) {
  const CommunicationPlan plan =
      *make_plan({{"a", {1000}, plan::DType::f32}, {"b", {1000}, plan::DType::f32}}, {.workers = 2, .shards = 2});
  Server server(plan, 0, {}, [](const Step&) { return absl::OkStatus(); });
  Worker workers[] = {Worker(plan, {.rank = 0, .credit = 4000}), Worker(plan, {.rank = 1, .credit = 4000})};
  for (uint32_t chunk : {0u, 1u}) workers[0].init(chunk, std::string(4000, '\0'));
  for (uint32_t rank : {0u, 1u})
    for (uint32_t i : {0u, 1u})
      workers[rank].push(rank == 0 ? i : 1 - i, 0, 1, 1, std::string(4000, '\1'), 1 - static_cast<int32_t>(i));
  for (int round = 0; round < 20; ++round) {
    for (uint32_t rank : {0u, 1u}) {
      Request request;
      while (workers[rank].send(Time{}, request)) {
        std::vector<Reply> replies;
        std::vector<Pulled> pulled;
        Message opened;
        opened.header.type = Type::opened;
        if (request.header.type == Type::open) {
          ASSERT_TRUE(workers[rank].receive(0, opened, Time{}, pulled).ok());
          continue;
        }
        ASSERT_TRUE(server.receive(rank, {request.header, request.payload}, replies).ok());
        for (const Reply& reply : replies)
          ASSERT_TRUE(workers[reply.worker].receive(0, {reply.header, reply.payload}, Time{}, pulled).ok());
      }
    }
  }
  EXPECT_TRUE(workers[0].is_idle());
  EXPECT_TRUE(workers[1].is_idle());
  EXPECT_EQ(server.version(0), 1u);
  EXPECT_EQ(server.version(1), 1u);
}

}  // namespace
}  // namespace mxc::kv

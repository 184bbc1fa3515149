// Exactly once, whoever dies: processes with a worker and a server each are killed at every point of a small job, and come back with nothing but their
// server's state file. In the end values have the bits of plain loops that nobody has disturbed.
//
// The job: two workers, two chunks, one on each server, the first with a chunk beside it (an optimizer's slot); three steps. What a worker contributes
// depends on both values of the step before, so that a step that is computed again from other values is seen. The network and the clock are the test's.
#include <gtest/gtest.h>

#include <unistd.h>

#include <array>
#include <cstring>
#include <deque>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>

#include "runtime/kv/server.h"
#include "runtime/kv/worker.h"

namespace mxc::kv {
namespace {

constexpr uint64_t kSteps = 3;
constexpr uint32_t kWorkers = 2;
constexpr int64_t kElements = 3;
constexpr uint32_t kShared = 2;  // chunks that are pushed; the third lies beside the first
constexpr uint32_t kChunks = 3;
using Values = std::array<float, kElements>;

std::string bytes_of(const Values& values) { return {reinterpret_cast<const char*>(values.data()), sizeof values}; }
Values values_of(std::string_view bytes) {
  Values values;
  std::memcpy(values.data(), bytes.data(), sizeof values);
  return values;
}

// How a step's contribution, and its update, are computed.
float gradient(uint32_t worker, uint32_t chunk, uint64_t step, int64_t element, const std::array<Values, kShared>& values) {
  const auto at = static_cast<size_t>(element);
  return static_cast<float>(worker * 31 + chunk * 17 + step * 7 + static_cast<uint64_t>(element) * 3) / 9.7f +
         0.3f * values[chunk][at] - 0.7f * values[1 - chunk][at];
}
void update(Values& value, Values* slot, const Values& sum) {
  for (size_t i = 0; i < kElements; ++i) {
    if (slot != nullptr) (*slot)[i] = (*slot)[i] * 0.6f + sum[i];
    value[i] += 0.1f * (slot != nullptr ? (*slot)[i] : sum[i]);
  }
}
Values first_value(uint32_t chunk) { return {1.5f + static_cast<float>(chunk), -2, 0.25f}; }

// Plain loops: the values after so many steps, and the slot behind them.
std::array<Values, kChunks> expected(uint64_t steps = kSteps) {
  std::array<Values, kShared> values = {first_value(0), first_value(1)};
  Values slot = {};
  for (uint64_t step = 1; step <= steps; ++step) {
    std::array<Values, kShared> sums;
    for (uint32_t chunk = 0; chunk < kShared; ++chunk)
      for (int64_t i = 0; i < kElements; ++i)
        sums[chunk][static_cast<size_t>(i)] = gradient(0, chunk, step, i, values) + gradient(1, chunk, step, i, values);
    for (uint32_t chunk = 0; chunk < kShared; ++chunk) update(values[chunk], chunk == 0 ? &slot : nullptr, sums[chunk]);
  }
  return {values[0], values[1], slot};
}

struct Death {
  enum class Kind : uint8_t {
    receiver,   // before it has looked at the message
    answering,  // the receiver, a server, has done what the message asks for, and has answered nobody
    writing,    // the receiver, in the middle of writing its state
    other,      // the process that does not receive
  } kind = Kind::receiver;
  int64_t at = -1;         // a delivery
  bool letters = false;    // what the dead has sent still arrives
  int64_t absence = 0;     // deliveries before it is back
  bool forgets = false;    // its state is gone, too
};

struct Setting {
  std::vector<Death> deaths;
  uint64_t seed = 0;
  int drop = 0, duplicate = 0;  // thousandths
  bool reorder = false;
};

class Simulation {
 public:
  explicit Simulation(const Setting& setting) : setting_(setting), random_(setting.seed) {
    const std::vector<Key> keys = {{"a", {kElements}, plan::DType::f32},
                                   {"b", {kElements}, plan::DType::f32},
                                   {"a/slot", {kElements}, plan::DType::f32, /*beside=*/0}};
    plan_ = *make_plan(keys, {.servers = kWorkers, .workers = kWorkers, .shards = kWorkers});
    EXPECT_NE(plan_.chunks[0].server, plan_.chunks[1].server);
    for (uint32_t rank = 0; rank < kWorkers; ++rank) ::unlink(path(rank).c_str());
    for (uint32_t rank = 0; rank < kWorkers; ++rank) begin(rank);
  }
  ~Simulation() {
    for (uint32_t rank = 0; rank < kWorkers; ++rank) ::unlink(path(rank).c_str());
  }

  // Until all is committed; false if it does not end.
  bool run() {
    for (int round = 0; round < 20'000 && failure_.ok(); ++round) {
      for (uint32_t rank = 0; rank < kWorkers; ++rank) {
        if (processes_[rank].alive) work(rank);
      }
      if (!network_.empty()) {
        deliver();
        continue;
      }
      if (is_done()) return true;
      Time next = Time::max();
      for (Process& process : processes_) {
        if (!process.alive) return_now(process);
        else next = std::min(next, process.worker->next_time());
      }
      if (next != Time::max()) now_ = std::max(now_, next);
    }
    return false;
  }

  Values value(uint32_t chunk) const { return values_of(processes_[plan_.chunks[chunk].server].server->value(chunk)); }
  uint64_t version(uint32_t chunk) const { return processes_[plan_.chunks[chunk].server].server->version(chunk); }
  int64_t deliveries() const { return deliveries_; }
  bool has_torn() const { return torn_; }
  const absl::Status& failure() const { return failure_; }
  int wrong_values() const { return wrong_values_; }

 private:
  struct Process {
    bool alive = false;
    uint64_t life = 0;
    int64_t back_at = 0;
    std::unique_ptr<ServerState> state;
    std::unique_ptr<Server> server;
    std::unique_ptr<Worker> worker;
    std::map<uint32_t, uint64_t> clients;  // by rank: the life that has opened
    // The program.
    enum class Phase : uint8_t { initialises, asks, pulls, ends } phase = Phase::initialises;
    uint64_t step = 0;     // whose values are asked for or pulled
    uint32_t missing = 0;  // of them
    uint64_t tickets = 0;
    std::array<Values, kChunks> values;
  };
  struct Letter {
    bool to_server;
    uint32_t from, to;
    uint64_t from_life, to_life;
    Header header;
    std::string payload;
  };

  // In memory, if the machine has such a folder: thousands of files are made.
  static std::string path(uint32_t rank) {
    const std::string folder = ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : testing::TempDir();
    return folder + "/mxc_recovery_" + std::to_string(::getpid()) + "_" + std::to_string(rank) + ".state";
  }

  void begin(uint32_t rank) {
    Process& process = processes_[rank];
    auto state = ServerState::open(path(rank), /*job=*/5, plan_, rank);
    ASSERT_TRUE(state.ok()) << state.status();
    const uint64_t life = process.life + 1;
    process = {};
    process.life = life;
    process.alive = true;
    process.state = *std::move(state);
    process.server = std::make_unique<Server>(plan_, rank, Consistency(), [](const Step& step) {
      Values value = values_of({step.value.data(), step.value.size()}), slot = {};
      if (!step.beside.empty()) slot = values_of({step.beside[0].data(), step.beside[0].size()});
      update(value, step.beside.empty() ? nullptr : &slot, values_of({step.sum.data(), step.sum.size()}));
      std::memcpy(step.value.data(), value.data(), sizeof value);
      if (!step.beside.empty()) std::memcpy(step.beside[0].data(), slot.data(), sizeof slot);
      return absl::OkStatus();
    }, process.state.get());
    process.worker = std::make_unique<Worker>(plan_, WorkerOptions{.rank = rank, .servers_return = true});
    for (uint32_t chunk = 0; rank == 0 && chunk < plan_.chunks.size(); ++chunk)
      process.worker->init(chunk, chunk < kShared ? bytes_of(first_value(chunk)) : std::string(sizeof(Values), '\0'));
  }

  // The process of this rank is no more. The others notice at once.
  void die(uint32_t rank, const Death& death) {
    Process& process = processes_[rank];
    process.alive = false;
    process.back_at = deliveries_ + death.absence;
    process.server.reset();
    process.worker.reset();
    process.state.reset();
    if (death.forgets) ::unlink(path(rank).c_str());
    std::erase_if(network_, [&](const Letter& letter) { return letter.to == rank || (letter.from == rank && !death.letters); });
    for (uint32_t other = 0; other < kWorkers; ++other) {
      if (other != rank && processes_[other].alive) processes_[other].worker->lost(rank);
    }
  }

  void return_now(Process& process) {
    const auto rank = static_cast<uint32_t>(&process - processes_.data());
    begin(rank);
    for (uint32_t other = 0; other < kWorkers; ++other) {
      if (other != rank && processes_[other].alive) processes_[other].worker->lost(rank);
    }
  }

  // ---- The program of a worker
  void work(uint32_t rank) {
    Process& process = processes_[rank];
    using Phase = Process::Phase;
    if (process.phase == Phase::initialises && process.worker->is_idle()) {
      process.phase = Phase::asks;
      process.step = UINT64_MAX;
      process.missing = kShared;
      for (uint32_t chunk = 0; chunk < kShared; ++chunk) process.worker->ask(++process.tickets, chunk);
    }
    Request request;
    while (process.worker->send(now_, request))
      put({true, rank, request.server, process.life, processes_[request.server].life, request.header, std::string(request.payload)});
  }

  void pull_all(Process& process) {
    process.phase = Process::Phase::pulls;
    process.missing = kChunks;
    for (uint32_t chunk = 0; chunk < kChunks; ++chunk) process.worker->pull(++process.tickets, chunk, process.step);
  }

  void take(uint32_t rank, const Pulled& pulled) {
    Process& process = processes_[rank];
    if (process.phase == Process::Phase::asks) {
      process.step = std::min(process.step, pulled.version);
      if (--process.missing == 0) pull_all(process);
      return;
    }
    process.values[pulled.chunk] = values_of(pulled.value);
    wrong_values_ += pulled.version == process.step && process.values[pulled.chunk] == expected(process.step)[pulled.chunk] ? 0 : 1;
    if (--process.missing > 0) return;
    if (process.step == kSteps) {
      process.phase = Process::Phase::ends;
      for (uint32_t chunk = 0; chunk < kShared; ++chunk) process.worker->finish(chunk, kSteps + 1);
      return;
    }
    ++process.step;
    for (uint32_t chunk = 0; chunk < kShared; ++chunk) {
      Values contribution;
      for (int64_t i = 0; i < kElements; ++i)
        contribution[static_cast<size_t>(i)] = gradient(rank, chunk, process.step, i, {process.values[0], process.values[1]});
      process.worker->push(chunk, 0, process.step, 1, bytes_of(contribution), 0);
    }
    pull_all(process);
  }

  // ---- The network
  bool happens(int thousandths) { return static_cast<int>(random_() % 1000) < thousandths; }

  void put(Letter letter) {
    if (!processes_[letter.to].alive || happens(setting_.drop)) return;
    if (happens(setting_.duplicate)) network_.push_back(letter);
    network_.push_back(std::move(letter));
  }

  void deliver() {
    for (Process& process : processes_) {
      if (!process.alive && deliveries_ >= process.back_at) return_now(process);
    }
    const size_t at = setting_.reorder ? random_() % network_.size() : 0;
    const Letter letter = std::move(network_[at]);
    network_.erase(network_.begin() + static_cast<std::ptrdiff_t>(at));
    const int64_t number = deliveries_++;
    for (const Death& death : setting_.deaths) {
      if (death.at == number) return die_at(letter, death);
    }
    arrive(letter);
  }

  void die_at(const Letter& letter, const Death& death) {
    switch (death.kind) {
      case Death::Kind::receiver: return die(letter.to, death);
      case Death::Kind::other:
        if (processes_[1 - letter.to].alive) die(1 - letter.to, death);
        return arrive(letter);
      case Death::Kind::answering:
      case Death::Kind::writing: break;
    }
    const std::deque<Letter> before = network_;
    const std::string kept = content(letter.to);
    std::vector<std::pair<size_t, size_t>> slots;
    const StateFile& file = processes_[letter.to].state->file();
    for (uint32_t record = 0; record < 2; ++record)
      for (int slot : {0, 1}) slots.push_back(file.place(record, slot));
    arrive(letter);
    network_ = before;  // nothing that it has answered leaves
    const std::string written = content(letter.to);
    die(letter.to, death);
    if (death.kind == Death::Kind::writing && written != kept) tear(letter.to, kept, written, slots);
  }

  // Leaves the file as it is when its writer is killed with half of the bytes written.
  void tear(uint32_t rank, std::string kept, const std::string& written, const std::vector<std::pair<size_t, size_t>>& slots) {
    for (auto [at, size] : slots) {
      if (kept.compare(at, size, written, at, size) == 0) continue;
      torn_ = true;
      for (size_t i = 60; i < 64; ++i) kept[at + i] = static_cast<char>(~kept[at + i]);
      for (size_t i = 64; i < 64 + (size - 64) / 2; ++i) kept[at + i] = written[at + i];
    }
    std::ofstream(path(rank), std::ios::binary | std::ios::in | std::ios::out) << kept;
  }

  std::string content(uint32_t rank) const {
    std::ifstream file(path(rank), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  void arrive(const Letter& letter) {
    Process& process = processes_[letter.to];
    if (!process.alive || process.life != letter.to_life) return;
    letter.to_server ? at_server(process, letter) : at_worker(process, letter);
  }

  void at_server(Process& process, const Letter& letter) {
    auto answer = [&](uint32_t worker, const Header& header, std::string_view payload) {
      put({false, letter.to, worker, process.life, process.clients[worker], header, std::string(payload)});
    };
    if (letter.header.type == Type::open) {
      uint64_t& life = process.clients[letter.from];
      if (life > letter.from_life) return;  // of a connection that has ended
      if (life != letter.from_life) process.server->returned(letter.from);
      life = letter.from_life;
      Header opened;
      opened.type = Type::opened;
      return answer(letter.from, opened, "");
    }
    if (process.clients[letter.from] != letter.from_life) return;
    std::vector<Reply> replies;
    const absl::Status status = process.server->receive(letter.from, {letter.header, letter.payload}, replies);
    if (!status.ok()) {
      Header refused;
      refused.type = Type::refused;
      answer(letter.from, refused, std::string(status.message()));
    }
    for (const Reply& reply : replies) {
      if (process.clients.contains(reply.worker)) answer(reply.worker, reply.header, reply.payload);
    }
  }

  void at_worker(Process& process, const Letter& letter) {
    if (processes_[letter.from].life != letter.from_life || !processes_[letter.from].alive) return;  // the connection has ended
    std::vector<Pulled> pulled;
    const absl::Status status = process.worker->receive(letter.from, {letter.header, letter.payload}, now_, pulled);
    if (failure_.ok()) failure_ = status;
    for (const Pulled& one : pulled) take(letter.to, one);
  }

  bool is_done() const {
    for (const Process& process : processes_)
      if (!process.alive || process.phase != Process::Phase::ends || !process.worker->is_idle()) return false;
    return true;
  }

  const Setting setting_;
  std::mt19937_64 random_;
  CommunicationPlan plan_;
  std::array<Process, kWorkers> processes_;
  std::deque<Letter> network_;
  Time now_{};
  int64_t deliveries_ = 0;
  bool torn_ = false;
  int wrong_values_ = 0;
  absl::Status failure_;
};

void expect_plain_loops(Simulation& simulation) {
  ASSERT_TRUE(simulation.run()) << simulation.failure();
  ASSERT_EQ(simulation.wrong_values(), 0);
  const auto values = expected();
  for (uint32_t chunk = 0; chunk < kChunks; ++chunk) ASSERT_EQ(simulation.value(chunk), values[chunk]) << "chunk " << chunk;
  for (uint32_t chunk = 0; chunk < kShared; ++chunk) ASSERT_EQ(simulation.version(chunk), kSteps);
}

int64_t undisturbed() {
  Simulation simulation({});
  expect_plain_loops(simulation);
  return simulation.deliveries();
}

using Kind = Death::Kind;
constexpr Kind kKinds[] = {Kind::receiver, Kind::answering, Kind::writing, Kind::other};

// Each point, each kind; back at once, or when the others have done what they can; what the dead has sent arrives or not.
TEST(Recovery, AProcessMayDieAnywhere) {
  const int64_t deliveries = undisturbed();
  EXPECT_GT(deliveries, 60);
  int torn = 0;
  for (int64_t at = 0; at < deliveries; ++at) {
    for (Kind kind : kKinds) {
      for (bool letters : {false, true}) {
        for (int64_t absence : {0, 1000}) {
          SCOPED_TRACE(testing::Message() << "at " << at << ", kind " << static_cast<int>(kind) << ", letters " << letters << ", absence " << absence);
          Simulation simulation({{{kind, at, letters, absence}}});
          expect_plain_loops(simulation);
          if (testing::Test::HasFatalFailure()) return;
          torn += simulation.has_torn() ? 1 : 0;
        }
      }
    }
  }
  EXPECT_GT(torn, 20);
}

// One dies while the other, or it itself, has just come back; or both at once.
TEST(Recovery, TwoMayDie) {
  const int64_t deliveries = undisturbed();
  for (int64_t first = 0; first < deliveries; first += 5) {
    for (int64_t next = 1; next < 40; next += 5) {
      for (Kind kind : {Kind::receiver, Kind::other}) {
        SCOPED_TRACE(testing::Message() << "at " << first << " and " << next << " later, kind " << static_cast<int>(kind));
        Simulation simulation({{{Kind::answering, first, false, next % 8}, {kind, first + next, true, 2}}});
        expect_plain_loops(simulation);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(Recovery, SurvivesABadNetworkToo) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    std::mt19937_64 random(seed);
    Setting setting = {{}, seed, 60, 60, true};
    for (int i = 0; i < 4; ++i)
      setting.deaths.push_back({kKinds[random() % 4], static_cast<int64_t>(random() % 150), random() % 2 == 0, static_cast<int64_t>(random() % 20)});
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Simulation simulation(setting);
    expect_plain_loops(simulation);
    if (testing::Test::HasFatalFailure()) return;
  }
}

// What nobody else has any more is missed.
TEST(Recovery, AStateThatIsGoneIsNoticed) {
  const int64_t last = undisturbed() - 10;
  for (Kind kind : {Kind::receiver, Kind::other}) {
    Simulation simulation({{{kind, last, false, 0, /*forgets=*/true}}});
    EXPECT_FALSE(simulation.run());
    const std::string message(simulation.failure().message());
    EXPECT_TRUE(message == "rank 0 has lost step 3 of what it had updated: its state was damaged or removed" ||
                message == "rank 1 has lost step 3 of what it had updated: its state was damaged or removed")
        << message;
  }
}

}  // namespace
}  // namespace mxc::kv

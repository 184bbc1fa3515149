// See exchange.h.
#include "runtime/train/exchange.h"

#include <cstring>
#include <utility>

#include "runtime/core/plan_sizes.h"
#include "runtime/kv/join.h"
#include "runtime/kv/role.h"

namespace mxc::train {

namespace {

bool is_sum(const SharedKey& key) { return key.kind == SharedKey::Kind::gradient || key.kind == SharedKey::Kind::sum; }

// Pushes are updates at once, on the thread that pushes. One thread pushes and pulls.
class OwnExchange : public Exchange {
 public:
  absl::Status begin(std::vector<SharedKey> keys, int64_t, std::unique_ptr<KeyUpdates> updates, std::vector<std::string> initial) override {
    keys_ = std::move(keys);
    updates_ = std::move(updates);
    values_ = std::move(initial);
    return absl::OkStatus();
  }

  void push(uint32_t key, uint64_t step, std::vector<kv::PartOfKey> parts, int32_t, kv::Done done) override {
    std::string& value = values_[key];
    std::vector<std::span<char>> slots;
    for (size_t slot = 0; slot < keys_.size(); ++slot)
      if (keys_[slot].beside == key) slots.push_back(values_[slot]);
    const std::span<const char> sum(parts[0].bytes, value.size());
    done(parts[0].weight == 0 ? absl::OkStatus() : updates_->apply(keys_[key], step, parts[0].weight, sum, value, slots));
  }

  void pull(uint32_t key, uint64_t, char* target, kv::Done done) override {
    std::memcpy(target, values_[key].data(), values_[key].size());
    done(absl::OkStatus());
  }

  // Nobody has been here before.
  void ask(uint32_t, uint64_t* steps, kv::Done done) override {
    *steps = 0;
    done(absl::OkStatus());
  }

  absl::Status flush() override { return absl::OkStatus(); }
  absl::Status barrier() override { return absl::OkStatus(); }
  absl::Status close(const std::vector<uint64_t>&) override { return absl::OkStatus(); }
  void fail(absl::Status) override {}
  absl::Status status() const override { return absl::OkStatus(); }
  kv::Traffic traffic() const override { return {}; }
  void stop() override {}

 private:
  std::vector<SharedKey> keys_;
  std::unique_ptr<KeyUpdates> updates_;
  std::vector<std::string> values_;
};

class JobExchange : public Exchange {
 public:
  JobExchange(std::unique_ptr<kv::Process> process, const Job& job) : process_(std::move(process)), job_(job) {}
  ~JobExchange() override { process_->stop(); }

  absl::Status begin(std::vector<SharedKey> keys, int64_t shards, std::unique_ptr<KeyUpdates> updates,
                     std::vector<std::string> initial) override {
    keys_ = std::move(keys);
    updates_ = std::move(updates);
    std::vector<kv::Key> planned;
    for (const SharedKey& key : keys_) planned.push_back({key.name, key.shape, key.dtype, key.beside, key.compressed, key.alone, key.begins_anew, is_sum(key)});
    kv::PlanRules rules;
    rules.servers = job_.servers;
    rules.workers = job_.size;
    rules.shards = shards;
    rules.consistency = kv::to_string(job_.consistency);
    rules.each_shard = job_.consistency.each_shard;
    rules.compression = job_.compression;
    rules.bundle_below = kv::kBundleBelow;
    absl::StatusOr<kv::CommunicationPlan> plan = kv::make_plan(std::move(planned), rules);
    if (!plan.ok()) return plan.status();
    chunks_ = plan->chunks;
    if (job_.rank != 0) initial.clear();
    return process_->seal(*std::move(plan), [this](const kv::Step& step) { return update(step); }, std::move(initial));
  }

  void push(uint32_t key, uint64_t step, std::vector<kv::PartOfKey> parts, int32_t priority, kv::Done done) override {
    process_->push(key, step, std::move(parts), priority, std::move(done));
  }
  void pull(uint32_t key, uint64_t step, char* target, kv::Done done) override { process_->pull(key, step, target, std::move(done)); }
  void finish(uint32_t key, uint64_t step) override { process_->finish(key, step); }
  void ask(uint32_t key, uint64_t* steps, kv::Done done) override { process_->ask(key, steps, std::move(done)); }
  absl::Status flush() override { return process_->flush(); }
  absl::Status barrier() override { return process_->barrier(); }
  absl::Status close(const std::vector<uint64_t>& steps) override {
    for (uint32_t key = 0; key < steps.size(); ++key) process_->finish(key, steps[key] + 1);
    return process_->close();
  }
  void fail(absl::Status why) override { process_->fail(std::move(why)); }
  absl::Status status() const override { return process_->status(); }
  kv::Traffic traffic() const override { return process_->traffic(); }
  void stop() override { process_->stop(); }

 private:
  // On the server's thread: each of the keys that travel together.
  absl::Status update(const kv::Step& step) {
    for (const kv::Piece& piece : chunks_[step.chunk].pieces) {
      const SharedKey& key = keys_[piece.key];
      const auto bytes = static_cast<size_t>(piece.count * core::dtype_bytes(key.dtype));
      std::vector<std::span<char>> beside;
      for (std::span<char> slot : step.beside) beside.push_back(slot.subspan(piece.at, bytes));
      absl::Status status = updates_->apply(key, step.step, step.weight, step.sum.subspan(piece.at, bytes), step.value.subspan(piece.at, bytes), beside,
                                            step.difference);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  // The threads of the process, which goes first, use what stands above it.
  std::vector<SharedKey> keys_;
  std::vector<kv::Chunk> chunks_;
  std::unique_ptr<KeyUpdates> updates_;
  std::unique_ptr<kv::Process> process_;
  const Job job_;
};

}  // namespace

std::unique_ptr<Exchange> make_own_exchange() { return std::make_unique<OwnExchange>(); }

absl::StatusOr<std::unique_ptr<Exchange>> join_exchange(const Job& job) {
  kv::keep_role();
  auto options = kv::process_options(*job.identity, job.consistency, job.shared_memory, job.transport);
  if (!options.ok()) return options.status();
  options->machine = job.machine;
  auto process = kv::Process::start(*options);
  if (!process.ok()) return process.status();
  return std::make_unique<JobExchange>(*std::move(process), job);
}

}  // namespace mxc::train

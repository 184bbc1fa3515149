// The store of a job of several processes: pushes and pulls are operations of the engine that end when the process's worker has copied, or
// brought, the elements.
//
// A key has a variable: pushes and pulls of a key mutate it, and so keep their order; and a push whose array could not be computed leaves its error
// there, for the pull that would wait for it for ever.
#include <cstring>
#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/engine/default_engine.h"
#include "runtime/io/printable.h"
#include "runtime/kv/store.h"
#include "runtime/ndarray/array.h"
#include "runtime/ndarray/copy.h"

namespace mxc::kv {

using ndarray::Access;
using ndarray::Array;
using ndarray::fail;

namespace {

constexpr int64_t kLeastLent = 64 << 10;  // bytes of a push, for which it is worth another operation

std::string named(const std::string& key, absl::string_view text) {
  return absl::StrCat("key '", io::printable(key, io::kMostShown), "': ", text);
}

// A completion that several hold: the last to go without a word ends the operation with an error.
Done ends(engine::Completion completion, const std::string& key) {
  auto held = std::make_shared<engine::Completion>(std::move(completion));
  return [held, key](absl::Status status) {
    (*held)(status.ok() ? status : absl::Status(status.code(), named(key, status.message())));
  };
}

char* memory_of(const Array& array) {
  return static_cast<char*>(array.chunk->memory) + array.offset * ndarray::bytes_of(array.dtype);
}

std::string pack_copy(Residuals& residuals, const Compression& compression, uint32_t key, size_t shard, const Array& array) {
  const char* memory = memory_of(array);
  std::vector<char> copy(memory, memory + array.elements * ndarray::bytes_of(array.dtype));
  return residuals.pack(compression, array.dtype, key, shard, copy);
}

class RemoteStore : public Store {
 public:
  RemoteStore(std::unique_ptr<Process> process, const ProcessOptions& options, const StoreOptions& store)
      : Store(options.rank, options.size, store.shards, store.compression),
        consistency_(options.worker.consistency),
        options_(store),
        parts_(store.each_shard ? std::vector<Node>{{own.first, own.first + 1}} : contributed_parts(compression, own, shards)),
        exceptions_(std::uncaught_exceptions()),
        process_(std::move(process)) {}

  ~RemoteStore() override {
    if (!closed_) leave();
    process_->stop();
  }

 private:
  void leave() {
    if (std::uncaught_exceptions() > exceptions_) return process_->fail(absl::AbortedError("its program has ended with an error"));
    try {
      close(Here::current());
    } catch (const Error&) {
      // Nobody is left to be told: who reads what was pulled has been.
    }
  }

  engine::Engine& engine() { return engine::default_engine(); }

  void init_key(uint32_t, const NDArray& value, Here here) override {
    const NDArray run = ndarray::as_run(value, "init", here);
    run.wait(here);
    const Array& array = *Access::peek(run);
    const auto bytes = static_cast<size_t>(array.elements * ndarray::bytes_of(array.dtype));
    initial_.push_back(rank == 0 && bytes > 0 ? std::string(memory_of(array), bytes) : std::string());
    variables_.push_back(engine().variable("key", bytes));
    steps_.push_back(0);
  }

  void begin(Here here) override {
    PlanRules rules;
    rules.workers = size;
    rules.servers = options_.servers;
    rules.each_shard = options_.each_shard;
    rules.shards = shards;
    rules.consistency = to_string(consistency_);
    rules.compression = compression;
    if (options_.whole_keys) rules.cut_above = INT64_MAX;
    residuals_->begin(keys_.size(), parts_.size());
    absl::StatusOr<CommunicationPlan> plan = make_plan(planned_keys(), rules);
    if (!plan.ok()) fail("KVStore", std::string(plan.status().message()), here);
    plan_ = *plan;
    if (rank != 0) initial_.clear();
    const absl::Status status = process_->seal(
        *std::move(plan), [this](const Step& step) { return update(step); }, std::exchange(initial_, {}));
    if (!status.ok()) fail("KVStore", std::string(status.message()), here);
  }

  // With an updater in dist_sync, a key that is compressed has what pulls bring, and one beside it the value that is updated.
  std::vector<Key> planned_keys() {
    std::vector<Key> keys = keys_;
    for (Key& key : keys) key.is_sum = !updater_;
    for (uint32_t key = 0; key < keys_.size(); ++key) {
      if (!compresses(key)) continue;
      keys[key].compressed = Key::Compressed::contributions;
      if (!updater_ || consistency_ != Consistency()) continue;
      keys[key].compressed = Key::Compressed::differences;
      keys.push_back({absl::StrCat(keys_[key].name, "\n/exact"), keys_[key].shape, keys_[key].dtype, key});
      initial_.push_back(initial_[key]);
    }
    return keys;
  }

  void push_key(uint32_t key, const std::vector<NDArray>& values, int32_t priority, Here here) override {
    if (!options_.each_shard) return push_parts(key, values, priority, here);
    for (const NDArray& value : values) push_parts(key, {value}, priority, here);
  }

  // A step of a key: what `values` of shards, from this worker's first on, make of its parts.
  void push_parts(uint32_t key, const std::vector<NDArray>& values, int32_t priority, Here here) {
    const uint64_t step = ++steps_[key];
    std::vector<NDArray> sums;  // kept until they are copied
    std::vector<engine::Variable> reads;
    for (Node part : parts_) {
      sums.push_back(ndarray::as_run(sum_of_shards(part, own.first, values), "push", here));
      reads.push_back(ndarray::view_of(sums.back(), here).chunk->variable);
    }
    const std::shared_ptr<Lent> lent = lend(key, sums);
    engine().push_async(
        {.name = "push", .lane = engine::Lane::network, .priority = priority}, reads, {variables_[key]},
        [nodes = parts_, self = process_, name = keys_[key].name, key, step, priority, sums = std::move(sums), lent,
         residuals = compresses(key) ? residuals_ : nullptr, compression = compression](engine::Completion completion) {
          std::vector<PartOfKey> parts;
          auto packed = std::make_shared<std::vector<std::string>>();
          packed->reserve(sums.size());  // they stay where they are
          for (size_t i = 0; i < sums.size(); ++i) {
            const Array& sum = *Access::peek(sums[i]);
            if (residuals != nullptr) packed->push_back(pack_copy(*residuals, compression, key, i, sum));
            parts.push_back({residuals != nullptr ? packed->back().data() : memory_of(sum), static_cast<uint32_t>(nodes[i].end - nodes[i].first), lent});
          }
          Done done = ends(std::move(completion), name);
          self->push(key, step, std::move(parts), priority, [done, sums, packed](absl::Status status) { done(std::move(status)); });
        });
    if (lent != nullptr) keep(lent, reads, priority);
  }

  // Large arrays are sent from where they lie. Null: they are copied.
  std::shared_ptr<Lent> lend(uint32_t key, const std::vector<NDArray>& sums) const {
    int64_t bytes = 0;
    for (const NDArray& sum : sums) bytes += Access::peek(sum)->elements * ndarray::bytes_of(Access::peek(sum)->dtype);
    const bool lends = bytes >= kLeastLent && !compresses(key) && process_->borrows();
    return lends ? std::make_shared<Lent>(std::make_shared<std::vector<NDArray>>(sums)) : nullptr;
  }

  // Whoever writes to the arrays waits until they are back. The key does not: what is pulled is asked for meanwhile.
  void keep(std::weak_ptr<Lent> lent, const std::vector<engine::Variable>& reads, int32_t priority) {
    engine().push_async({.name = "lent", .lane = engine::Lane::network, .priority = priority}, reads, {}, [lent = std::move(lent)](engine::Completion completion) {
      auto held = std::make_shared<engine::Completion>(std::move(completion));
      const auto end = [held] { (*held)(absl::OkStatus()); };
      const std::shared_ptr<Lent> there = lent.lock();
      if (there == nullptr) return end();
      there->when_back(end);
    });
  }

  void pull_key(uint32_t key, const NDArray& target, Here here) override {
    const Array& wanted = ndarray::get(target, "pull", here);
    const bool direct = wanted.packed == nullptr && wanted.contiguous;
    const NDArray into = direct ? target : ndarray::new_result(wanted, wanted.dtype, wanted.shape, here);
    const Array& array = *Access::peek(into);
    ndarray::ChunkRef chunk = ndarray::view_of(into, here).chunk;
    ndarray::begin_write(*chunk);
    const int64_t at = array.offset * ndarray::bytes_of(array.dtype);
    engine().push_async(
        {.name = "pull", .lane = engine::Lane::network, .priority = -static_cast<int32_t>(key)}, {},
        {variables_[key], chunk->variable},
        [self = process_, key, name = keys_[key].name, step = steps_[key], chunk, at](engine::Completion completion) {
          Done done = ends(std::move(completion), name);
          char* memory = static_cast<char*>(chunk->ensure());
          if (memory == nullptr) return done(absl::ResourceExhaustedError("no memory for its value"));
          self->pull(key, step, memory + at, [done, chunk](absl::Status status) { done(std::move(status)); });
        });
    if (!direct) target.assign(into, here);
  }

  void meet(Here here) override {
    absl::Status status;
    // Of the other kinds a pull waits for what everybody has pushed.
    if (consistency_.is_async()) {
      for (const engine::Variable& variable : variables_) status.Update(engine().wait(variable));
      status.Update(process_->flush());
    }
    status.Update(process_->barrier());
    if (!status.ok()) fail("barrier", std::string(status.message()), here);
  }

  void end(Here here) override {
    absl::Status status;
    for (const engine::Variable& variable : variables_) status.Update(engine().wait(variable));
    if (!status.ok()) process_->fail(status);
    for (uint32_t key = 0; key < steps_.size(); ++key) process_->finish(key, steps_[key] + 1);
    status.Update(process_->close());
    if (!status.ok()) fail("close", std::string(status.message()), here);
  }

  // ---- On the server's thread
  absl::Status update(const Step& step) {
    const Piece& piece = plan_->chunks[step.chunk].pieces.front();
    const Key& key = keys_[piece.key];
    const bool follows = plan_->keys[piece.key].compressed == Key::Compressed::differences;
    const std::span<char> exact = follows ? step.beside.front() : step.value;
    try {
      const NDArray& value = value_of(step.chunk, exact, piece, key);
      const NDArray sum = ndarray::new_filled("push", key.dtype, {piece.count}, step.sum.data(), Here::current());
      updater_({key.name, piece.first, static_cast<int64_t>(step.step), static_cast<int64_t>(step.weight), sum, value});
      ndarray::Chunk& chunk = *Access::peek(value)->chunk;
      ndarray::begin_write(chunk);  // products of it that are held
      const absl::Status status = engine().wait_idle(chunk.variable);
      if (!status.ok()) return absl::InternalError(absl::StrCat("the updater of ", named(key.name, status.message())));
    } catch (const std::exception& error) {
      return absl::InternalError(absl::StrCat("the updater of ", named(key.name, error.what())));
    } catch (...) {
      return absl::InternalError(absl::StrCat("the updater of ", named(key.name, "it threw something that is no std::exception")));
    }
    if (follows) approach(compression, key.dtype, exact, step.value, step.difference);
    return absl::OkStatus();
  }

  // The server's memory of a chunk as an array, the same in all steps.
  const NDArray& value_of(uint32_t number, std::span<char> memory, const Piece& piece, const Key& key) {
    NDArray& value = values_[number];
    if (value.empty()) {
      ndarray::ChunkRef chunk = ndarray::adopt(engine(), engine().variable("value", memory.size()), memory.data(), memory.size(), nullptr);
      value = ndarray::wrap({chunk, key.dtype, 0, {piece.count}, {1}});
    }
    return value;
  }

  const Consistency consistency_;
  const StoreOptions options_;
  const std::vector<Node> parts_;
  const int exceptions_;                   // on their way when this was made
  std::optional<CommunicationPlan> plan_;  // once begun
  std::vector<std::string> initial_;       // first values, of rank 0
  const std::shared_ptr<Residuals> residuals_ = std::make_shared<Residuals>();
  std::vector<engine::Variable> variables_;
  std::vector<uint64_t> steps_;             // pushes of each key
  std::map<uint32_t, NDArray> values_;      // of the server's chunks
  const std::shared_ptr<Process> process_;  // operations that are queued have it, too; its threads use what stands above
};

}  // namespace

absl::StatusOr<std::shared_ptr<Store>> make_remote_store(const ProcessOptions& options, const StoreOptions& store) {
  absl::StatusOr<std::unique_ptr<Process>> process = Process::start(options);
  if (!process.ok()) return process.status();
  return std::make_shared<RemoteStore>(*std::move(process), options, store);
}

}  // namespace mxc::kv

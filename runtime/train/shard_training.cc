// See shard_training.h.
#include "runtime/train/shard_training.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/core/fnv.h"
#include "runtime/core/layout.h"
#include "runtime/io/program_tensors.h"
#include "runtime/kv/add.h"
#include "runtime/kv/answer.h"

namespace mxc::train {

namespace {

template <typename T>
std::vector<char> bytes_of(const std::vector<T>& numbers) {
  std::vector<char> bytes(numbers.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

// A completion that can be copied, as a function must be.
kv::Done ends(engine::Completion completion) {
  auto held = std::make_shared<engine::Completion>(std::move(completion));
  return [held](absl::Status status) { (*held)(std::move(status)); };
}

template <typename T>
void scale(std::vector<char>& bytes, double factor) {
  for (size_t at = 0; at < bytes.size(); at += sizeof(T)) {
    T element;
    std::memcpy(&element, bytes.data() + at, sizeof element);
    element *= static_cast<T>(factor);
    std::memcpy(bytes.data() + at, &element, sizeof element);
  }
}

int32_t priority_of(uint32_t key) { return -static_cast<int32_t>(key); }

bool has_gradient(const SharedKey& key) { return key.kind == SharedKey::Kind::parameter || key.kind == SharedKey::Kind::gradient; }

// Processes that update whole parameters themselves need each sum once. What compression keeps of a shard nobody takes over.
absl::Status check_kind(const core::PlanView& view, const Job& job) {
  if (job.waits() && job.identity->shrinks && job.compression.is_on()) {
    return absl::UnimplementedError("training by several processes: --on-death=shrink with --compress: what has been left out would be gone with a process");
  }
  if (!WholeUpdate::is_in(view) || job.consistency == kv::Consistency()) return absl::OkStatus();
  const std::string optimizer = io::program_fact(view, "optimizer");
  const bool clips = view.find_hyper("clip_norm") != plan::kNone;
  const std::string what = clips ? "clip_norm looks at all gradients of a step" : absl::StrCat("'", optimizer, "' looks at whole gradients of a step");
  return absl::UnimplementedError(absl::StrCat("training by several processes: ", what, ", which --kvstore dist_sync alone has"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<ShardTraining>> ShardTraining::create(Model* model, const Job& job, std::unique_ptr<Exchange> exchange) {
  std::unique_ptr<ShardTraining> made(new ShardTraining(model, job));
  made->exchange_ = std::move(exchange);
  if (absl::Status status = check_kind(model->view(), job); !status.ok()) return made->fail(status);
  auto keys = KeyUpdates::keys_of(model->view());
  if (!keys.ok()) return made->fail(keys.status());
  made->keys_ = *std::move(keys);
  if (absl::Status status = model->reserve_for_shards(); !status.ok()) return made->fail(status);
  made->tensors_.resize(made->keys_.size());
  std::vector<engine::BoundVariable> bound;
  for (uint32_t key = 0; key < made->keys_.size(); ++key) {
    if (!made->has_tensor(key)) continue;
    Tensor& tensor = made->tensors_[key];
    const SharedKey& shared = made->keys_[key];
    const uint64_t bytes = made->buffer(key).bytes;
    tensor.value = model->engine()->variable(shared.name, bytes);
    tensor.sums = model->engine()->variable(absl::StrCat("sum of ", shared.name), bytes);
    tensor.order = model->engine()->variable(absl::StrCat("key ", shared.name));
    bound.push_back({shared.buffer, tensor.value});
    if (!has_gradient(shared)) {
      tensor.contribution = tensor.value;
      continue;
    }
    tensor.contribution = model->engine()->variable(absl::StrCat("gradient of ", shared.name), bytes);
    bound.push_back({shared.contribution, tensor.contribution});
  }
  auto runner = GraphRunner::create(model, model->view().find_graph("gradients"), bound);
  if (!runner.ok()) return made->fail(runner.status());
  made->runner_ = *std::move(runner);
  if (job.size > 1) made->runner_->watch(&made->overlap_);
  if (!WholeUpdate::is_in(model->view())) return made;
  auto whole = WholeUpdate::create(model, bound);
  if (!whole.ok()) return made->fail(whole.status());
  made->whole_ = *std::move(whole);
  if (job.size > 1) made->whole_->watch(&made->overlap_);
  return made;
}

ShardTraining::~ShardTraining() {
  exchange_->stop();
  model_->engine()->wait_all().IgnoreError();  // who waited for them has been told
}

std::string ShardTraining::plain_value(uint32_t key) const {
  std::string bytes;
  if (keys_[key].buffer == plan::kNone) {
    int64_t elements = 1;
    for (int64_t extent : keys_[key].shape) elements *= extent;
    bytes.resize(static_cast<size_t>(elements * core::dtype_bytes(keys_[key].dtype)));
    return bytes;
  }
  bytes.resize(core::plain_bytes(buffer(key), 1));
  core::unpack(buffer(key), 1, memory(key), bytes.data());
  return bytes;
}

absl::StatusOr<ShardTraining::Return> ShardTraining::begin(const Shards& shards, UpdateRules rules, Agreement agreement, const SoFar& so_far,
                                                          const Kept* kept) {
  shards_ = shards;
  const bool apart = job_.consistency.each_shard;
  parts_ = apart            ? std::vector<kv::Node>{shards.own}
           : job_.size == 1 ? kv::parts_of(shards.own, shards.count)
                            : kv::contributed_parts(job_.compression, shards.own, shards.count);
  measure_plan_ = plan_sums(parts_);
  sum_plan_ = apart ? plan_apart(shards.owned()) : measure_plan_;
  if (absl::Status status = compression_.begin(job_, shards, keys_, kept); !status.ok()) return fail(status);
  rules.compression = job_.compression;
  rules.updates_a_step = apart ? shards.count : job_.consistency.is_async() ? job_.size : 1;
  if (whole_ != nullptr) {
    whole_->begin(rules);
    agreement.push_back({"the optimizer's state to begin with (a number for it)", static_cast<int64_t>(whole_->state_hash() >> 1)});
  }
  const bool exact = job_.consistency == kv::Consistency();
  numbers_ = runner_->scalars().size() + 2;
  measures_ = static_cast<uint32_t>(keys_.size());
  const SharedKey::Kind kind = job_.waits() ? SharedKey::Kind::tally : exact ? SharedKey::Kind::sum : SharedKey::Kind::total;
  keys_.push_back({"/measures", kind, plan::DType::f64, {static_cast<int64_t>(job_.waits() ? 2 * numbers_ : numbers_)}});
  keys_.back().alone = true;
  facts_ = static_cast<uint32_t>(keys_.size());
  keys_.push_back({"/facts", SharedKey::Kind::total, plan::DType::i64, {shards.count, static_cast<int64_t>(agreement.size())}});
  keys_.back().alone = keys_.back().begins_anew = true;
  tensors_.resize(keys_.size());
  steps_.assign(keys_.size(), 0);
  measured_before_.assign(numbers_, 0);
  gate_ = model_->engine()->variable("gate");

  std::vector<std::string> initial;
  for (uint32_t key = 0; key < keys_.size(); ++key) {
    const std::string* known = compression_.initial(key);
    initial.push_back(known == nullptr ? plain_value(key) : *known);
    if (!has_tensor(key)) continue;
    Tensor& tensor = tensors_[key];
    tensor.places.assign(sum_plan_.places, std::vector<char>(initial.back().size()));
    tensor.filled.assign(sum_plan_.places, 0);
    if (keys_[key].kind == SharedKey::Kind::state) tensor.pulled.resize(initial.back().size());
  }
  if (job_.waits()) {
    std::vector<double> first(numbers_, 0);  // of no step
    first.insert(first.end(), so_far.sums.begin(), so_far.sums.end());
    first.insert(first.end(), {static_cast<double>(so_far.samples), 0.0});
    const std::vector<char> bytes = bytes_of(first);
    initial[measures_].assign(bytes.begin(), bytes.end());
  }
  if (absl::Status status = open_state(); !status.ok()) return fail(status);
  auto updates = KeyUpdates::create(model_->program(), model_->view(), std::move(rules));
  if (!updates.ok()) return fail(updates.status());
  absl::Status begun = exchange_->begin(keys_, shards.count, *std::move(updates), std::move(initial));
  if (!begun.ok()) return fail(begun);
  for (int64_t shard = 0; shard < shards.count; ++shard) {
    const bool own = shards.own.first <= shard && shard < shards.own.end;
    if (const uint32_t key = compression_.residual_key(shard); key != plan::kNone && !own) exchange_->finish(key, 1);
  }
  if (absl::Status status = agree(agreement); !status.ok()) return fail(status);
  Return place;
  if (job_.waits()) {
    auto found = find_place();
    if (!found.ok()) return fail(found.status());
    place = *std::move(found);
    if (absl::Status status = restore_residuals(place.steps); !status.ok()) return fail(status);
  }
  steps_before_ = place.steps;
  for (uint32_t key = 0; key < keys_.size(); ++key)
    if (has_tensor(key)) queue_pull(key, steps_[key]);
  if (absl::Status status = settle(); !status.ok()) return status;
  if (state_ != nullptr) {
    if (absl::Status status = bring_up_to_date(place.samples); !status.ok()) return fail(status);
  }
  before_ = exchange_->traffic();
  return place;
}

// Its file is there before the server's: those who take the servers' over find it.
absl::Status ShardTraining::open_state() {
  const plan::Program& program = model_->program();
  const uint64_t number = core::fnv(core::kFnv, program.plan, program.plan_bytes);
  if (absl::Status status = compression_.open_state(job_, number); !status.ok()) return status;
  if (whole_ == nullptr || !job_.waits()) return absl::OkStatus();
  std::vector<uint32_t> parameters;
  for (const SharedKey& key : keys_)
    if (key.kind == SharedKey::Kind::gradient) parameters.push_back(key.buffer);
  auto opened = WorkerState::open(*job_.identity, number, whole_->memory(parameters));
  if (!opened.ok()) return opened.status();
  state_ = *std::move(opened);
  return absl::OkStatus();
}

// Parameters and optimizer state are those of the last step that is done, of so many samples, and kept. Requires: its sums have come, or there is none yet, and
// the first values have.
absl::Status ShardTraining::bring_up_to_date(uint64_t samples) {
  updates_ = steps_before_;
  if (updates_ > 0) {
    const absl::StatusOr<uint64_t> found = state_->restore(updates_);
    if (!found.ok()) return found.status();
    if (*found < updates_) {
      whole_->start(updates_, samples);
      if (absl::Status status = whole_->finish(); !status.ok()) return status;
    }
  }
  state_->keep(kept_updates_ = updates_);
  return absl::OkStatus();
}

// What all values have is what the job has done: of steps after it some may have a value, which are computed again.
absl::StatusOr<ShardTraining::Return> ShardTraining::find_place() {
  Return place;
  place.steps = UINT64_MAX;
  for (uint32_t key = 0; key < keys_.size(); ++key) {
    if (!has_tensor(key) && key != measures_) continue;
    uint64_t steps = 0;
    kv::Answer answer;
    exchange_->ask(key, &steps, answer.done());
    if (absl::Status status = answer.wait(); !status.ok()) return status;
    place.steps = std::min(place.steps, steps);
  }
  if (place.steps == 0) return place;
  for (uint32_t key = 0; key < keys_.size(); ++key)
    if (has_tensor(key) || key == measures_) steps_[key] = place.steps;
  std::vector<double> all(2 * numbers_);
  if (absl::Status status = pull_now(measures_, place.steps, reinterpret_cast<char*>(all.data())); !status.ok()) return status;
  place.stop = all[numbers_ - 1] > 0;
  place.so_far.sums.assign(all.begin() + static_cast<std::ptrdiff_t>(numbers_), all.end() - 2);
  place.so_far.samples = static_cast<int64_t>(all[2 * numbers_ - 2]);
  place.samples = static_cast<uint64_t>(all[numbers_ - 2]);
  return place;
}

// A checkpoint after that very step is made again: the residuals that shards have sent for it already are sent again, as the same.
absl::Status ShardTraining::restore_residuals(uint64_t steps) {
  if (!compression_.is_on()) return absl::OkStatus();
  if (absl::Status status = compression_.restore(steps); !status.ok()) return status;
  // Of another rank's shard if this one's send none.
  for (int64_t shard = shards_.own.first; shard < shards_.count; ++shard) {
    const uint32_t key = compression_.residual_key(shard);
    if (key == plan::kNone) continue;
    kv::Answer answer;
    exchange_->ask(key, &collected_, answer.done());
    if (absl::Status status = answer.wait(); !status.ok()) return status;
    if (collected_ == 0) break;
    std::string row(plain_value(key).size(), '\0');
    if (absl::Status status = pull_now(key, collected_, row.data()); !status.ok()) return status;
    const ShardCompression::Mark mark = ShardCompression::mark_of(row);
    if (mark.step == steps) collected_ -= mark.time;
    break;
  }
  for (int64_t shard = shards_.own.first; shard < shards_.own.end; ++shard)
    if (const uint32_t key = compression_.residual_key(shard); key != plan::kNone) steps_[key] = collected_;
  return absl::OkStatus();
}

// Every rank writes a row of a table whose rows are added, that of its first shard; so all see all, and come to the same answer.
absl::Status ShardTraining::agree(const Agreement& agreement) {
  const size_t columns = agreement.size();
  std::vector<int64_t> own(static_cast<size_t>(shards_.count) * columns, 0), all(own);
  for (size_t i = 0; i < columns; ++i) own[static_cast<size_t>(shards_.own.first) * columns + i] = agreement[i].second;
  std::vector<std::vector<char>> parts(parts_.size(), bytes_of(std::vector<int64_t>(own.size(), 0)));
  parts[0] = bytes_of(own);
  if (absl::Status status = push_now(facts_, parts, std::vector<uint32_t>(parts.size(), 1)); !status.ok()) return status;
  // Of one's own contribution; but in a job that is not asynchronous that is everybody's.
  if (absl::Status status = exchange_->flush(); !status.ok()) return status;
  if (job_.consistency.is_async()) {
    if (absl::Status status = exchange_->barrier(); !status.ok()) return status;
  }
  absl::Status status = pull_now(facts_, 1, reinterpret_cast<char*>(all.data()));
  if (!status.ok()) return status;
  for (size_t i = 0; i < columns; ++i) {
    for (uint32_t rank = 1; rank < job_.size; ++rank) {
      const int64_t its = all[static_cast<size_t>(kv::shards_of(rank, job_.size, shards_.count).first) * columns + i];
      if (its == all[i]) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("rank ", rank, " and rank 0 do not train the same: ", agreement[i].first, " is ", its, " and ", all[i]));
    }
  }
  return absl::OkStatus();
}

// ---- What is queued for a tensor ---------------------------------------------------------------------------------------------------
void ShardTraining::queue_sum(uint32_t key, int64_t own, int64_t n) {
  const Tensor& tensor = tensors_[key];
  model_->engine()->push({.name = "add", .lane = engine::Lane::copy, .priority = priority_of(key)}, {tensor.contribution}, {tensor.sums},
                         [this, key, own, n] {
                           add_up(key, own, n);
                           return absl::OkStatus();
                         });
}

// The contribution of a shard is the mean over its samples; it counts by how many these are.
void ShardTraining::add_up(uint32_t key, int64_t own, int64_t n) {
  Tensor& tensor = tensors_[key];
  const plan::Buffer& from = model_->view().buffer(keys_[key].contribution);
  const size_t place = sum_plan_.place[static_cast<size_t>(own)];
  std::vector<char>& bytes = tensor.places[place];
  tensor.filled[place] = n > 0;
  if (n > 0) core::unpack(from, 1, model_->storage().address(from), bytes.data());
  const double part = static_cast<double>(n) / static_cast<double>(shards_.batch);
  if (n > 0 && n < shards_.batch) from.dtype == plan::DType::f32 ? scale<float>(bytes, part) : scale<double>(bytes, part);
  if (n > 0 && compression_.packs(key)) compression_.pack(key, static_cast<size_t>(own), bytes);
  for (auto [into, added] : sum_plan_.merges[static_cast<size_t>(own)]) {
    if (!tensor.filled[added]) continue;
    if (tensor.filled[into]) kv::add_into(from.dtype, tensor.places[into], tensor.places[added]);
    else std::swap(tensor.places[into], tensor.places[added]);
    tensor.filled[into] = 1;
  }
}

// A shard begins with the state that the step began with, whatever the one before it has left.
void ShardTraining::queue_restore(uint32_t key) {
  model_->engine()->push({.name = "restore", .lane = engine::Lane::copy, .priority = priority_of(key)}, {}, {tensors_[key].value}, [this, key] {
    core::pack(buffer(key), 1, tensors_[key].pulled.data(), memory(key));
    return absl::OkStatus();
  });
}

void ShardTraining::queue_push(uint32_t key, const std::vector<uint32_t>& weights) {
  const uint64_t step = ++steps_[key];
  std::vector<engine::Variable> reads = {tensors_[key].sums};
  if (job_.waits()) reads.push_back(gate_);
  model_->engine()->push_async(
      {.name = "push", .lane = engine::Lane::network, .priority = priority_of(key)}, reads, {tensors_[key].order},
      [this, key, step, weights](engine::Completion completion) {
        std::vector<kv::PartOfKey> parts;
        overlap_.begin(Overlap::Kind::communication, Overlap::clock());
        const bool packed = job_.size > 1 && compression_.packs(key);
        compression_.keep_state(key, step);
        for (size_t part = 0; part < weights.size(); ++part)
          parts.push_back({packed ? compression_.packed(key, part) : tensors_[key].places[part].data(), weights[part]});
        exchange_->push(key, step, std::move(parts), priority_of(key), ends(std::move(completion)));
      });
}

// What is held of a gradient is first the parameter's value, and then sums. The sums that were pushed have been copied: what is pulled comes in their place,
// and the next step's wait for it.
void ShardTraining::queue_pull(uint32_t key, uint64_t step) {
  const bool sum = keys_[key].kind == SharedKey::Kind::gradient && step > 0;
  model_->engine()->push_async(
      {.name = "pull", .lane = engine::Lane::network, .priority = priority_of(key)}, {},
      {tensors_[key].order, tensors_[key].sums, sum ? tensors_[key].contribution : tensors_[key].value},
      [this, key, step, to = sum ? keys_[key].contribution : keys_[key].buffer](engine::Completion completion) {
        exchange_->pull(key, step, landing(key), [this, key, step, to, done = ends(std::move(completion))](absl::Status status) {
          if (step > 0) overlap_.end(Overlap::Kind::communication, Overlap::clock());  // it began with the push
          const plan::Buffer& buffer = model_->view().buffer(to);
          if (status.ok()) core::pack(buffer, 1, landing(key), model_->storage().address(buffer));
          done(std::move(status));
        });
      });
}

// Opens when all values that are on their way have come.
void ShardTraining::queue_gate() {
  std::vector<engine::Variable> values;
  for (uint32_t key = 0; key < keys_.size(); ++key)
    if (has_tensor(key)) values.push_back(tensors_[key].value);
  model_->engine()->push({.name = "gate", .lane = engine::Lane::copy}, values, {gate_}, [] { return absl::OkStatus(); });
}

absl::Status ShardTraining::push_now(uint32_t key, const std::vector<std::vector<char>>& parts, const std::vector<uint32_t>& weights) {
  std::vector<kv::PartOfKey> given;
  for (size_t part = 0; part < parts.size(); ++part) given.push_back({parts[part].data(), weights[part]});
  kv::Answer answer;
  exchange_->push(key, ++steps_[key], std::move(given), /*priority=*/1, answer.done());
  return answer.wait();
}

absl::Status ShardTraining::pull_now(uint32_t key, uint64_t step, char* target) {
  kv::Answer answer;
  exchange_->pull(key, step, target, answer.done());
  return answer.wait();
}

// ---- Steps -------------------------------------------------------------------------------------------------------------------------
std::vector<uint32_t> ShardTraining::weights_of(int64_t position, int64_t samples) const {
  std::vector<uint32_t> weights;
  for (kv::Node part : parts_) {
    weights.push_back(0);
    for (int64_t shard = part.first; shard < part.end; ++shard)
      weights.back() += static_cast<uint32_t>(shards_.samples_of(shard, position, samples));
  }
  return weights;
}

// What becomes of the contributions of a shard: they are added up, and leave with the last shard's, or each by itself.
void ShardTraining::queue_shard(int64_t own, int64_t n, const std::vector<uint32_t>& weights) {
  const bool apart = job_.consistency.each_shard, leaves = apart || own + 1 == shards_.owned();
  for (uint32_t key = 0; key < keys_.size(); ++key)
    if (has_tensor(key)) queue_sum(key, own, n);
  for (uint32_t key = 0; key < keys_.size(); ++key) {
    if (!has_tensor(key)) continue;
    if (leaves) queue_push(key, apart ? std::vector{static_cast<uint32_t>(n)} : weights);
    else if (n > 0 && keys_[key].kind == SharedKey::Kind::state) queue_restore(key);
  }
  for (uint32_t key = 0; leaves && key < keys_.size(); ++key)
    if (has_tensor(key)) queue_pull(key, steps_[key]);
}

absl::StatusOr<ShardTraining::Measured> ShardTraining::step(io::BatchLoader* loader, int64_t position, int64_t samples, uint64_t seed,
                                                            int64_t number, bool stop) {
  if (absl::Status status = finish_update(); !status.ok()) return status;
  const std::vector<uint32_t> weights = weights_of(position, samples);
  const size_t scalars = runner_->scalars().size();
  std::vector<std::vector<double>> measured;
  for (int64_t own = 0; own < shards_.owned(); ++own) {
    const int64_t shard = shards_.own.first + own, n = shards_.samples_of(shard, position, samples);
    if (n > 0) {
      auto batch = loader->next();
      if (!batch.ok()) return fail(batch.status());
      if (*batch == nullptr || (*batch)->n != n) return fail(absl::InternalError("a shard has other samples than its part of the order"));
      model_->set_integer("seed", seed_of(seed, shard));
      model_->set_integer("step", static_cast<uint64_t>(number));
      runner_->start(**batch);
    }
    queue_shard(own, n, weights);
    std::vector<double> values(scalars + 2, 0);
    if (n > 0) {
      if (absl::Status status = runner_->finish(); !status.ok()) return fail(status);
      for (size_t i = 0; i < scalars; ++i) values[i] = runner_->scalar(runner_->scalars()[i]) * static_cast<double>(n);
      values[scalars] = static_cast<double>(n);
    }
    if (own == 0 && stop) values[scalars + 1] = 1;
    measured.push_back(std::move(values));
  }
  if (whole_ != nullptr) whole_->start(++updates_, static_cast<uint64_t>(std::min(samples - position, shards_.step_samples())));
  return exchange_measures(std::move(measured), weights);
}

absl::Status ShardTraining::finish_update() {
  absl::Status status = whole_ == nullptr ? absl::OkStatus() : whole_->finish();
  if (!status.ok()) return fail(status);
  if (state_ != nullptr && updates_ > kept_updates_) state_->keep(kept_updates_ = updates_);
  return status;
}

absl::StatusOr<ShardTraining::Measured> ShardTraining::exchange_measures(std::vector<std::vector<double>> shards,
                                                                         const std::vector<uint32_t>& weights) {
  std::vector<std::vector<double>> places(measure_plan_.places);
  for (size_t own = 0; own < shards.size(); ++own) {
    places[measure_plan_.place[own]] = std::move(shards[own]);
    for (auto [into, added] : measure_plan_.merges[own])
      for (size_t i = 0; i < places[into].size(); ++i) places[into][i] += places[added][i];
  }
  std::vector<std::vector<char>> parts;
  for (size_t part = 0; part < parts_.size(); ++part) {
    places[part].resize(job_.waits() ? 2 * numbers_ : numbers_);
    parts.push_back(bytes_of(places[part]));
  }
  // One that has no samples still says whether it wants to stop.
  std::vector<uint32_t> counted;
  for (uint32_t weight : weights) counted.push_back(std::max(weight, 1u));
  if (job_.waits()) {
    if (absl::Status status = model_->engine()->wait(gate_); !status.ok()) return fail(status);
  }
  overlap_.begin(Overlap::Kind::communication, Overlap::clock());
  if (absl::Status status = push_now(measures_, parts, counted); !status.ok()) return fail(status);
  std::vector<double> all(job_.waits() ? 2 * numbers_ : numbers_);
  absl::Status pulled = pull_now(measures_, steps_[measures_], reinterpret_cast<char*>(all.data()));
  if (!pulled.ok()) return fail(pulled);
  overlap_.end(Overlap::Kind::communication, Overlap::clock());
  if (job_.waits()) queue_gate();
  all.resize(numbers_);
  std::vector<double> fresh = all;
  if (keys_[measures_].kind == SharedKey::Kind::total)
    for (size_t i = 0; i < all.size(); ++i) fresh[i] -= measured_before_[i];
  measured_before_ = all;
  Measured measured;
  measured.stop = all.back() > 0;
  fresh.pop_back();
  measured.samples = static_cast<int64_t>(fresh.back());
  fresh.pop_back();
  measured.sums = std::move(fresh);
  return measured;
}

absl::Status ShardTraining::settle() {
  if (absl::Status status = finish_update(); !status.ok()) return status;
  for (uint32_t key = 0; key < keys_.size(); ++key) {
    if (!has_tensor(key)) continue;
    if (absl::Status status = model_->engine()->wait(tensors_[key].value); !status.ok()) return fail(status);
  }
  return absl::OkStatus();
}

absl::Status ShardTraining::collect(bool wanted) {
  if (absl::Status status = settle(); !status.ok()) return status;
  absl::Status status = push_residuals();
  if (status.ok()) status = exchange_->flush();
  const bool meets = job_.consistency.is_async() || (compression_.is_on() && job_.consistency != kv::Consistency());
  if (status.ok() && meets) status = exchange_->barrier();
  if (!status.ok()) return fail(status);
  for (uint32_t key = 0; wanted && key < keys_.size(); ++key) {
    if (keys_[key].buffer == plan::kNone || keys_[key].kind == SharedKey::Kind::gradient || keys_[key].kind == SharedKey::Kind::exact) continue;
    std::vector<char> bytes(core::plain_bytes(buffer(key), 1));
    const uint32_t counted = keys_[key].beside == plan::kNone ? key : keys_[key].beside;
    if (status = pull_now(key, steps_[counted], bytes.data()); !status.ok()) return fail(status);
    core::pack(buffer(key), 1, bytes.data(), memory(key));
  }
  if (wanted && compression_.is_on()) {
    if (status = pull_kept(); !status.ok()) return fail(status);
  }
  if (!meets) return absl::OkStatus();
  absl::Status met = exchange_->barrier();  // until then nobody goes on
  return met.ok() ? met : fail(met);
}

// Of those shards that are not rank 0's.
absl::Status ShardTraining::push_residuals() {
  if (!compression_.is_on()) return absl::OkStatus();
  ++collected_;
  mark_ = {steps_[measures_], mark_.step == steps_[measures_] ? mark_.time + 1 : 1};
  for (size_t own = 0; own < static_cast<size_t>(shards_.owned()); ++own) {
    const uint32_t key = compression_.residual_key(shards_.own.first + static_cast<int64_t>(own));
    if (key == plan::kNone) continue;
    const std::string row = compression_.residuals_of(own, mark_);
    std::vector<std::vector<char>> parts(parts_.size());
    std::vector<uint32_t> weights(parts_.size(), 0);
    parts[own].assign(row.begin(), row.end());
    weights[own] = 1;
    if (absl::Status status = push_now(key, parts, weights); !status.ok()) return status;
  }
  return absl::OkStatus();
}

// What a checkpoint has beside the model's tensors. Requires: all processes have pushed their residuals.
absl::Status ShardTraining::pull_kept() {
  for (uint32_t key = 0; key < keys_.size(); ++key) {
    if (keys_[key].kind != SharedKey::Kind::exact) continue;
    std::string& bytes = kept_[keys_[key].name];
    bytes.resize(core::plain_bytes(buffer(key), 1));
    if (absl::Status status = pull_now(key, steps_[keys_[key].beside], bytes.data()); !status.ok()) return status;
  }
  for (int64_t shard = 0; shard < shards_.count; ++shard) {
    const uint32_t key = compression_.residual_key(shard);
    if (key == plan::kNone) {
      compression_.keep(shard, compression_.residuals_of(static_cast<size_t>(shard), mark_), kept_);
      continue;
    }
    std::string row(plain_value(key).size(), '\0');
    absl::Status status = pull_now(key, job_.consistency.is_async() ? 0 : collected_, row.data());
    if (!status.ok()) return status;
    compression_.keep(shard, row, kept_);
  }
  return absl::OkStatus();
}

absl::Status ShardTraining::close() {
  if (absl::Status status = settle(); !status.ok()) return status;
  absl::Status closed = exchange_->close(steps_);
  if (!closed.ok()) return fail(closed);
  if (state_ != nullptr && !job_.identity->shrinks) state_->remove();
  compression_.remove_state();
  return closed;
}

ShardTraining::Communication ShardTraining::communication() const {
  const kv::Traffic traffic = exchange_->traffic();
  const auto a_step = [&](uint64_t now, uint64_t before) {
    return static_cast<double>(now - before) / static_cast<double>(std::max<uint64_t>(1, steps_[measures_] - steps_before_));
  };
  return {a_step(traffic.sent, before_.sent),     a_step(traffic.received, before_.received), a_step(traffic.pushes, before_.pushes),
          a_step(traffic.values, before_.values), traffic.staleness,                          traffic.again,
          overlap_.hidden_percent(),
          100 * a_step(traffic.shared, before_.shared) / std::max(1.0, a_step(traffic.sent + traffic.received, before_.sent + before_.received))};
}

std::string ShardTraining::report() const {
  const Communication c = communication();
  return absl::StrCat("of ", job_.size, " processes", by_launcher(*job_.identity), " this one has sent ", absl::StrFormat("%.3f", c.sent / 1e6), " MB and received ",
                      absl::StrFormat("%.3f", c.received / 1e6), " MB a step, in ", absl::StrFormat("%.1f", c.pushes), " and ",
                      absl::StrFormat("%.1f", c.values), " messages; ", absl::StrFormat("%.0f", c.hidden),
                      " % of the communication was hidden behind computing; ",
                      job_.consistency.is_async() ? std::string() : absl::StrCat("its values lacked ", c.staleness, " steps at most; "), c.again,
                      " messages were sent again; ", absl::StrFormat("%.0f", c.shared), " % of the bytes went through shared memory");
}

absl::Status ShardTraining::fail(const absl::Status& why) {
  if (absl::Status before = exchange_->status(); !before.ok()) return before;
  exchange_->fail(why);
  return why;
}

}  // namespace mxc::train

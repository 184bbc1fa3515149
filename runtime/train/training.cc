// See training.h.
#include "runtime/train/training.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/core/fnv.h"
#include "runtime/core/layout.h"
#include "runtime/io/atomic_file.h"
#include "runtime/io/initial_files.h"
#include "runtime/io/program_tensors.h"
#include "runtime/io/sources.h"
#include "runtime/io/shuffle.h"
#include "runtime/train/checkpoint.h"
#include "runtime/train/evaluate.h"
#include "runtime/train/event_log.h"
#include "runtime/train/exchange.h"
#include "runtime/train/ignored_signal.h"
#include "runtime/train/interrupt.h"
#include "runtime/train/job.h"
#include "runtime/train/progress_display.h"
#include "runtime/train/schedule.h"
#include "runtime/train/shard_training.h"

namespace mxc::train {
namespace {

constexpr int64_t kDefaultEpochs = 10;
constexpr int64_t kLookedAt = 16;  // samples by which processes tell that their data are the same

class Training {
 public:
  Training(Model* model, const Options& options, const Job& job, FILE* out) : model_(model), options_(options), job_(job), out_(out) {}

  absl::Status prepare();
  absl::StatusOr<bool> run();

 private:
  absl::Status settle_shards();
  absl::StatusOr<kv::Compression> settle_compression();
  absl::Status open_graphs();
  absl::Status begin_shards();
  void go_on(const ShardTraining::Return& place);
  absl::StatusOr<Agreement> agreement() const;
  absl::Status open_sources();
  absl::Status open_outputs();
  absl::Status start_state();
  absl::Status resume();
  absl::Status initialise();
  absl::Status settle_settings();

  absl::StatusOr<bool> run_epoch();  // true: the epoch is complete
  absl::Status step(ProgressDisplay* display);
  absl::Status step_alone(double rate);
  absl::Status step_of_shards();
  double rate_of(int64_t step) const;
  absl::Status show_step(double rate, ProgressDisplay* display);
  absl::StatusOr<bool> run_epochs();
  absl::Status tell_communication();
  void tell_gone();
  bool stopped() const { return shards_ == nullptr ? interrupt_->requested() : measured_.stop; }
  bool speaks() const { return job_.rank == 0; }
  bool checks_finite() const { return options_.check_finite || model_->view().find_fact("check_finite") != nullptr; }
  absl::Status explained(const absl::Status& status) const;
  absl::Status finish_epoch(double seconds, ProgressDisplay* display);
  absl::Status save(const std::string& path, ProgressDisplay* display);
  std::string checkpoint_of(int64_t epoch) const {
    return absl::StrFormat("%s/%s-%04d.safetensors", options_.checkpoint_dir, model_->name(), epoch);
  }
  bool at_step_limit() const { return options_.steps > 0 && progress_.step >= options_.steps; }
  absl::StatusOr<std::vector<double>> shown() const;  // of the epoch so far

  Model* model_;
  const Options& options_;
  const Job& job_;
  FILE* out_;
  std::unique_ptr<GraphRunner> own_trainer_, tester_;
  GraphRunner* trainer_ = nullptr;  // its own, or that of the shards
  std::unique_ptr<Reports> reports_;  // of the trainer
  io::DataSplits data_, test_data_;
  const io::Dataset* test_ = nullptr;
  std::unique_ptr<io::BatchLoader> loader_;
  std::unique_ptr<Evaluator> evaluator_;
  std::unique_ptr<ProgressDisplay> display_;
  EventLog log_;
  std::optional<Interrupt> interrupt_;  // while there is a training: before, a signal ends the process as usual
  IgnoredSignal reader_left_{SIGPIPE};  // a display that nobody reads any more costs no run
  Schedule schedule_;
  Progress progress_;
  std::string checkpoint_;  // the last one written, or resumed from
  int64_t steps_per_epoch_ = 0;
  int64_t begun_at_ = 0;  // the step that the run begins with, whatever a process that this one replaces has done of it
  int64_t done_now_ = 0;  // samples of this epoch trained since it was (re)started here
  int64_t counted_ = 0;   // samples of this epoch that are in the sums
  ShardTraining::Measured measured_;  // in the last step. This and the next keep their memory: a step allocates nothing
  std::vector<double> means_;
  std::unique_ptr<ShardTraining> shards_;  // null: one shard, in one process. It goes first: its operations use the rest
};

// Flags go before what a resumed checkpoint says, which goes before one a process.
absl::Status Training::settle_shards() {
  int64_t of_checkpoint = 0;
  if (!options_.resume.empty()) {
    auto read = checkpoint_shards(options_.resume);
    if (!read.ok()) return read.status();
    of_checkpoint = *read;
    if (job_.shards > 0 && job_.shards != of_checkpoint) {
      return absl::InvalidArgumentError(
          absl::StrCat("--shards ", job_.shards, ": ", options_.resume, " was begun with ", of_checkpoint));
    }
    if (of_checkpoint < job_.size) {
      return absl::InvalidArgumentError(absl::StrCat(options_.resume, ": was trained by ", of_checkpoint, " shards, and there are ", job_.size,
                                                     " processes, of which each has at least one"));
    }
  }
  auto compression = settle_compression();
  if (!compression.ok()) return compression.status();
  progress_.shards = job_.shards > 0 ? job_.shards : of_checkpoint > 0 ? of_checkpoint : job_.began_with;
  if (progress_.shards > kMostShards) return absl::InvalidArgumentError(absl::StrCat("--shards ", progress_.shards, ": at most ", kMostShards));
  if (progress_.shards == 1 && !compression->is_on()) return absl::OkStatus();
  std::unique_ptr<Exchange> exchange;
  Job job = job_;
  job.compression = *compression;
  if (!job_.identity.has_value()) {
    exchange = make_own_exchange();
  } else {
    auto joined = join_exchange(job);
    if (!joined.ok()) return joined.status();
    exchange = *std::move(joined);
  }
  auto shards = ShardTraining::create(model_, job, std::move(exchange));
  if (!shards.ok()) return shards.status();
  shards_ = *std::move(shards);
  return absl::OkStatus();
}

absl::StatusOr<kv::Compression> Training::settle_compression() {
  if (options_.resume.empty()) return job_.compression;
  auto compression = checkpoint_compression(options_.resume);
  if (!compression.ok() || !job_.compression.is_on() || *compression == job_.compression) return compression;
  return absl::InvalidArgumentError(absl::StrCat("--compress ", options_.compress, ": ", options_.resume, " was begun ",
                                                 compression->is_on() ? absl::StrCat("with ", kv::to_string(*compression)) : "without it"));
}

absl::Status Training::open_graphs() {
  if (shards_ != nullptr) {
    trainer_ = shards_->runner();
  } else {
    auto trainer = GraphRunner::create(model_, plan::GraphKind::train);
    if (!trainer.ok()) return trainer.status();
    own_trainer_ = *std::move(trainer);
    trainer_ = own_trainer_.get();
  }
  if (checks_finite()) trainer_->check_finite();
  auto reports = Reports::create(model_, *trainer_);
  if (!reports.ok()) return reports.status();
  reports_ = *std::move(reports);
  if (model_->view().find_graph(plan::GraphKind::eval) == plan::kNone) return absl::OkStatus();
  auto tester = GraphRunner::create(model_, plan::GraphKind::eval);
  if (!tester.ok()) return tester.status();
  tester_ = *std::move(tester);
  return absl::OkStatus();
}

absl::Status Training::open_sources() {
  auto data =
      io::open_data(options_.data, with_inputs_of(model_->view(), plan::GraphKind::eval, trainer_->inputs(), /*optional=*/false));
  if (!data.ok()) return data.status();
  data_ = *std::move(data);
  test_ = data_.test.get();
  if (!options_.test_data.empty()) {
    if (tester_ == nullptr) return absl::UnimplementedError("--test-data: this program has no eval graph");
    auto test = io::open_data(options_.test_data, tester_->inputs());
    if (!test.ok()) return test.status();
    test_data_ = *std::move(test);
    test_ = test_data_.test != nullptr ? test_data_.test.get() : test_data_.train.get();
  }
  return trainer_->attach(*data_.train);
}

absl::Status Training::open_outputs() {
  if (!speaks()) return absl::OkStatus();
  if (absl::Status status = check_checkpoint_names(*model_); !status.ok()) return status;
  for (const std::string& path : {options_.save, options_.trace}) {
    if (path.empty()) continue;
    if (absl::Status status = io::check_writable(path); !status.ok()) return status;
  }
  if (!options_.checkpoint_dir.empty()) {
    if (mkdir(options_.checkpoint_dir.c_str(), 0777) != 0 && errno != EEXIST) {
      return absl::InvalidArgumentError(absl::StrCat(options_.checkpoint_dir, ": cannot create: ", std::strerror(errno)));
    }
    if (absl::Status status = io::check_writable(checkpoint_of(1)); !status.ok()) return status;
  }
  const bool goes_on = !options_.resume.empty() || (job_.waits() && job_.identity->returns > 0);
  return options_.log.empty() ? absl::OkStatus() : log_.open(options_.log, goes_on);
}

absl::Status Training::initialise() {
  progress_.seed = options_.seed.value_or(0);
  model_->set_integer("seed", progress_.seed);
  model_->set_integer("step", 0);
  if (model_->view().find_graph(plan::GraphKind::init) != plan::kNone) {
    auto init = GraphRunner::create(model_, plan::GraphKind::init);
    if (!init.ok()) return init.status();
    if (absl::Status status = (*init)->run(); !status.ok()) return status;
  }
  auto given = io::read_initial_files(model_->view());
  if (!given.ok()) return given.status();
  for (const auto& [index, tensor] : *given) {
    const plan::Buffer& buffer = model_->view().buffer(index);
    if (absl::Status status = io::put_tensor(buffer, *tensor, model_->storage().address(buffer)); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status Training::resume() {
  auto loaded = load_checkpoint(*model_, options_.resume);
  if (!loaded.ok()) return loaded.status();
  progress_ = *std::move(loaded);
  counted_ = progress_.position;
  checkpoint_ = options_.resume;
  const int64_t count = data_.train->count();
  if (progress_.samples != count) {
    return absl::InvalidArgumentError(
        absl::StrCat(options_.resume, ": was trained on ", progress_.samples, " samples, ", options_.data, " has ", count));
  }
  if (options_.seed.has_value() && *options_.seed != progress_.seed) {
    return absl::InvalidArgumentError(
        absl::StrCat("--seed ", *options_.seed, ": ", options_.resume, " was begun with ", progress_.seed));
  }
  if (options_.batch.has_value() && *options_.batch != progress_.batch) {
    return absl::InvalidArgumentError(
        absl::StrCat("--batch ", *options_.batch, ": ", options_.resume, " was begun with ", progress_.batch));
  }
  if (progress_.batch > trainer_->batch()) {
    return absl::InvalidArgumentError(absl::StrCat(options_.resume, ": was trained in batches of ", progress_.batch,
                                                   ", the model was compiled for at most ", trainer_->batch()));
  }
  return absl::OkStatus();
}

// Flags go before what a resumed checkpoint says, which goes before the defaults.
absl::Status Training::settle_settings() {
  const bool fresh = options_.resume.empty();
  progress_.samples = data_.train->count();
  if (fresh) {
    auto batch = choose_batch(*trainer_, options_.batch);
    if (!batch.ok()) return batch.status();
    progress_.batch = *batch;
  }
  progress_.epochs = options_.epochs.value_or(fresh ? kDefaultEpochs : progress_.epochs);
  progress_.schedule = options_.schedule.value_or(fresh ? "constant" : progress_.schedule);
  progress_.warmup = options_.warmup.value_or(progress_.warmup);
  if (fresh) progress_.sums.assign(trainer_->scalars().size(), 0);
  auto schedule = parse_schedule(progress_.schedule);
  if (!schedule.ok()) return schedule.status();
  schedule_ = *schedule;
  for (const plan::Hyper& hyper : model_->view().hypers()) {
    const std::string name = model_->view().text(hyper.name);
    if (io::is_internal_hyper(name)) continue;
    progress_.hypers.try_emplace(name, hyper.default_value);
    if (const auto given = options_.hypers.find(name); given != options_.hypers.end()) progress_.hypers[name] = given->second;
    model_->set_hyper(name.c_str(), progress_.hypers[name]);
  }
  model_->set_integer("seed", progress_.seed);
  int64_t of_step = 0;
  if (__builtin_mul_overflow(progress_.batch, progress_.shards, &of_step))
    return absl::InvalidArgumentError(absl::StrCat("--batch ", progress_.batch, ": ", progress_.shards, " of them are too many samples"));
  steps_per_epoch_ = (progress_.samples - 1) / of_step + 1;
  return absl::OkStatus();
}

absl::Status Training::start_state() {
  if (absl::Status status = options_.resume.empty() ? initialise() : resume(); !status.ok()) return status;
  progress_.compress = shards_ != nullptr && shards_->job().compression.is_on() ? kv::to_string(shards_->job().compression) : "";
  return settle_settings();
}

// What decides the course of a training, and the samples themselves as far as a few of them tell.
absl::StatusOr<Agreement> Training::agreement() const {
  uint64_t program = core::kFnv, data = core::kFnv, settings = core::kFnv;
  program = core::fnv(program, model_->program().plan, model_->program().plan_bytes);
  const io::Dataset& dataset = *data_.train;
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < kLookedAt; ++i) rows.push_back(i * (dataset.count() - 1) / (kLookedAt - 1));
  for (size_t field = 0; field < dataset.fields().size(); ++field) {
    const io::Field& form = dataset.fields()[field];
    std::vector<char> bytes(static_cast<size_t>(form.elements() * core::dtype_bytes(form.dtype)) * rows.size());
    absl::Status status = dataset.read(static_cast<int>(field), rows.data(), static_cast<int64_t>(rows.size()), bytes.data());
    if (!status.ok()) return status;
    data = core::fnv(data, bytes.data(), bytes.size());
  }
  std::string text = absl::StrCat(progress_.schedule, " ", progress_.warmup, " ", options_.steps, " ", options_.checkpoint_dir.empty());
  for (const auto& [name, value] : progress_.hypers) absl::StrAppendFormat(&text, " %s %a", name, value);
  settings = core::fnv(settings, text.data(), text.size());
  return Agreement{{"the program (a number for it)", static_cast<int64_t>(program >> 1)},
                   {"the number of training samples", progress_.samples},
                   {"the data (a number for some samples)", static_cast<int64_t>(data >> 1)},
                   {"--batch", progress_.batch},
                   {"--epochs", progress_.epochs},
                   {"--seed", static_cast<int64_t>(progress_.seed)},
                   {"the step to begin with", progress_.step},
                   {"the schedule, --steps, --checkpoint-dir or a hyper-parameter (a number for all)", static_cast<int64_t>(settings >> 1)}};
}

absl::Status Training::begin_shards() {
  if (shards_ == nullptr) return absl::OkStatus();
  UpdateRules rules;
  rules.hypers = progress_.hypers;
  rules.rate = [this](int64_t step) { return rate_of(step); };
  rules.first_step = begun_at_ = progress_.step;
  rules.epoch_steps = steps_per_epoch_;
  rules.batch = progress_.batch;
  auto agreed = agreement();
  if (!agreed.ok()) return agreed.status();
  auto place = shards_->begin({progress_.shards, progress_.batch, kv::shards_of(job_.rank, job_.size, progress_.shards)}, std::move(rules), *agreed,
                              {progress_.sums, counted_}, options_.resume.empty() ? nullptr : &progress_.kept);
  if (!place.ok()) return place.status();
  if (place->steps > 0) go_on(*place);
  return absl::OkStatus();
}

// In the place of a process that has died: to where the job is. An epoch whose last step is done is still to be ended.
void Training::go_on(const ShardTraining::Return& place) {
  for (uint64_t i = 0; i < place.steps; ++i) {
    if (progress_.position >= progress_.samples) {
      progress_.epoch += 1;
      progress_.position = 0;
    }
    progress_.step += 1;
    progress_.position = std::min(progress_.samples, progress_.position + progress_.batch * progress_.shards);
  }
  progress_.sums = place.so_far.sums;
  counted_ = place.so_far.samples;
  measured_.stop = place.stop;
}

absl::Status Training::prepare() {
  for (auto part : {&Training::settle_shards, &Training::open_graphs, &Training::open_sources, &Training::start_state, &Training::open_outputs,
                    &Training::begin_shards}) {
    absl::Status status = (this->*part)();
    if (!status.ok()) return shards_ == nullptr ? status : shards_->fail(status);
  }
  loader_ = std::make_unique<io::BatchLoader>(*data_.train, progress_.batch, model_->engine());
  if (tester_ != nullptr && test_ != nullptr && speaks()) {
    auto evaluator = Evaluator::create(model_, tester_.get(), *test_, std::min(progress_.batch, tester_->batch()));
    if (!evaluator.ok()) return evaluator.status();
    evaluator_ = *std::move(evaluator);
  }
  display_ = std::make_unique<ProgressDisplay>(out_, isatty(fileno(out_)) != 0, reports_->names(),
                                               evaluator_ == nullptr ? std::vector<std::string>() : evaluator_->names());
  Event event("start");
  event.add("model", model_->name())
      .add("epochs", progress_.epochs)
      .add("batch", progress_.batch)
      .add("samples", progress_.samples);
  if (progress_.shards > 1) event.add("shards", progress_.shards).add("processes", int64_t{job_.size});
  event.add("seed", static_cast<int64_t>(progress_.seed)).add("threads", int64_t{model_->threads()}).add("step", progress_.step);
  for (const auto& [name, value] : progress_.hypers) event.add(name, value);
  log_.write(event);
  if (job_.identity.has_value() && !job_.identity->gone.empty()) tell_gone();
  interrupt_.emplace();
  return absl::OkStatus();
}

// The job has shrunk.
void Training::tell_gone() {
  const std::string& gone = job_.identity->gone;
  display_->say(absl::StrCat("went on after step ", progress_.step, " with ", job_.size, job_.size == 1 ? " process: " : " processes: ", gone, " is gone"));
  log_.write(Event("shrink").add("step", progress_.step).add("processes", int64_t{job_.size}).add("gone", gone));
}

absl::StatusOr<std::vector<double>> Training::shown() const {
  std::vector<double> means = progress_.sums;
  for (double& mean : means) mean /= static_cast<double>(std::max<int64_t>(1, counted_));
  return reports_->values(means);
}

// Which step failed, and what is left to go on from: the parameters in memory are part old, part new.
absl::Status Training::explained(const absl::Status& status) const {
  return absl::Status(status.code(), absl::StrCat("step ", progress_.step + 1, ": ", status.message(),
                                                  checkpoint_.empty() ? "; no checkpoint has been written"
                                                                      : absl::StrCat("; the last checkpoint is ", checkpoint_)));
}

double Training::rate_of(int64_t step) const {
  const auto base = progress_.hypers.find("lr");
  const double rate = base == progress_.hypers.end() ? 0 : base->second;
  return rate * schedule_.factor(step, progress_.warmup, steps_per_epoch_, steps_per_epoch_ * progress_.epochs);
}

absl::Status Training::step_alone(double rate) {
  auto batch = loader_->next();
  if (!batch.ok()) return batch.status();
  model_->set_hyper("lr", rate);
  model_->set_integer("step", static_cast<uint64_t>(progress_.step));
  if (absl::Status status = trainer_->run(**batch); !status.ok()) return checks_finite() ? explained(status) : status;
  measured_.samples = (*batch)->n;
  measured_.sums.clear();
  means_.clear();
  for (const Scalar& scalar : trainer_->scalars()) {
    means_.push_back(trainer_->scalar(scalar));
    measured_.sums.push_back(means_.back() * static_cast<double>(measured_.samples));
  }
  return absl::OkStatus();
}

absl::Status Training::step_of_shards() {
  auto measured = shards_->step(loader_.get(), progress_.position, progress_.samples, progress_.seed, progress_.step, interrupt_->requested());
  if (!measured.ok()) return checks_finite() ? explained(measured.status()) : measured.status();
  measured_ = *std::move(measured);
  means_ = measured_.sums;
  for (double& mean : means_) mean /= static_cast<double>(std::max<int64_t>(1, measured_.samples));
  return absl::OkStatus();
}

absl::Status Training::step(ProgressDisplay* display) {
  const double rate = rate_of(progress_.step);
  if (absl::Status status = shards_ == nullptr ? step_alone(rate) : step_of_shards(); !status.ok()) return status;
  progress_.step += 1;
  progress_.position = std::min(progress_.samples, progress_.position + progress_.batch * progress_.shards);
  counted_ += measured_.samples;
  done_now_ += measured_.samples;
  for (size_t i = 0; i < measured_.sums.size(); ++i) progress_.sums[i] += measured_.sums[i];
  return speaks() ? show_step(rate, display) : absl::OkStatus();
}

absl::Status Training::show_step(double rate, ProgressDisplay* display) {
  if (log_.active()) {
    Event event("step");
    event.add("step", progress_.step).add("epoch", progress_.epoch + 1).add("n", measured_.samples).add("lr", rate);
    auto values = reports_->values(means_);
    if (!values.ok()) return values.status();
    for (size_t i = 0; i < values->size(); ++i) event.add(reports_->names()[i], (*values)[i]);
    log_.write(event);
  }
  if (!display->is_due()) return absl::OkStatus();
  auto so_far = shown();
  if (!so_far.ok()) return so_far.status();
  display->step(progress_.epoch, progress_.epochs, progress_.position, progress_.samples, done_now_, *so_far);
  return absl::OkStatus();
}

absl::StatusOr<bool> Training::run_epoch() {
  const auto start = std::chrono::steady_clock::now();
  done_now_ = 0;
  display_->epoch_starts();
  const io::Variation variation{progress_.seed, static_cast<uint32_t>(progress_.epoch)};
  std::vector<int64_t> order = io::shuffled(progress_.samples, variation.seed, variation.epoch);
  int64_t first = progress_.position;
  if (shards_ != nullptr) {
    const Shards& shards = shards_->shards();
    order = own_order(shards, order);
    first = first / shards.step_samples() * shards.owned() * shards.batch;
  }
  loader_->start(std::move(order), first, variation);
  while (progress_.position < progress_.samples) {
    if (stopped() || at_step_limit()) return false;
    if (absl::Status status = step(display_.get()); !status.ok()) return status;
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  if (absl::Status status = finish_epoch(took.count(), display_.get()); !status.ok()) return status;
  return true;
}

absl::Status Training::finish_epoch(double seconds, ProgressDisplay* display) {
  EpochResult result;
  auto train = shown();
  if (!train.ok()) return train.status();
  result.train = *std::move(train);
  if (evaluator_ != nullptr) {
    if (absl::Status status = shards_ == nullptr ? absl::OkStatus() : shards_->settle(); !status.ok()) return status;
    auto test = evaluator_->evaluate(&*interrupt_);
    if (!test.ok()) return test.status();
    if (!interrupt_->requested()) result.test = *std::move(test);
  }
  if (speaks()) display->epoch_ends(progress_.epoch, result);
  Event event("epoch");
  event.add("epoch", progress_.epoch + 1).add("step", progress_.step).add("train", reports_->names(), result.train);
  if (!result.test.empty()) event.add("test", evaluator_->names(), result.test);
  if (shards_ != nullptr && job_.size > 1) event.add("hidden", shards_->communication().hidden);
  log_.write(event.add("seconds", seconds));
  log_.flush();

  progress_.epoch += 1;
  progress_.position = counted_ = 0;
  std::fill(progress_.sums.begin(), progress_.sums.end(), 0.0);
  if (options_.checkpoint_dir.empty()) return absl::OkStatus();
  if (absl::Status status = shards_ == nullptr ? absl::OkStatus() : shards_->collect(speaks()); !status.ok()) return status;
  if (!speaks()) return absl::OkStatus();
  if (shards_ != nullptr) progress_.kept = shards_->kept();
  const std::string path = checkpoint_of(progress_.epoch);
  absl::Status saved = save_checkpoint(*model_, progress_, path);
  if (saved.ok()) checkpoint_ = path;
  return saved;
}

absl::Status Training::save(const std::string& path, ProgressDisplay* display) {
  if (absl::Status status = save_checkpoint(*model_, progress_, path); !status.ok()) return status;
  log_.write(Event("save").add("step", progress_.step).add("file", path));
  log_.flush();
  if (interrupt_->requested()) {
    log_.write(Event("interrupt").add("step", progress_.step));
    display->say(absl::StrCat("interrupted after step ", progress_.step, "; saved ", path, "; go on with --resume ", path));
  } else {
    display->say(absl::StrCat("saved ", path));
  }
  return log_.status();
}

// A failure of this process's ends the job.
absl::StatusOr<bool> Training::run() {
  auto interrupted = run_epochs();
  if (interrupted.ok() || shards_ == nullptr) return interrupted;
  return shards_->fail(interrupted.status());
}

absl::StatusOr<bool> Training::run_epochs() {
  if (shards_ == nullptr) begun_at_ = progress_.step;
  const bool begins = progress_.step == begun_at_;
  if (begins && (progress_.epoch >= progress_.epochs || at_step_limit())) {
    display_->say(absl::StrCat(options_.resume, " is already trained for ", progress_.step, " steps, ", progress_.epoch,
                               " epochs; ask for more with --epochs or --steps"));
  }
  // An epoch that is complete is ended, whatever comes after it.
  while (progress_.epoch < progress_.epochs && (progress_.position >= progress_.samples || (!stopped() && !at_step_limit()))) {
    auto complete = run_epoch();
    if (!complete.ok()) return complete.status();
  }
  if (stopped() && progress_.step == begun_at_) {
    display_->say("interrupted before the first step; nothing was saved");
    return true;
  }
  if (shards_ != nullptr && job_.size > 1 && progress_.step > begun_at_) {
    if (absl::Status status = tell_communication(); !status.ok()) return status;
  }
  if (shards_ != nullptr) {
    if (absl::Status status = shards_->collect(speaks()); !status.ok()) return status;
    progress_.kept = shards_->kept();
  }
  if (speaks()) {
    if (absl::Status status = save(options_.save, display_.get()); !status.ok()) return status;
  }
  if (shards_ != nullptr) {
    if (absl::Status status = shards_->close(); !status.ok()) return status;
  }
  return stopped();
}

// When all of it has come.
absl::Status Training::tell_communication() {
  if (absl::Status status = shards_->settle(); !status.ok()) return status;
  display_->say(shards_->report());
  const ShardTraining::Communication c = shards_->communication();
  log_.write(Event("communication")
                 .add("sent", c.sent)
                 .add("received", c.received)
                 .add("pushes", c.pushes)
                 .add("values", c.values)
                 .add("hidden", c.hidden)
                 .add("staleness", static_cast<int64_t>(c.staleness))
                 .add("again", static_cast<int64_t>(c.again))
                 .add("shared", c.shared));
  return absl::OkStatus();
}

using Nowhere = std::unique_ptr<FILE, int (*)(FILE*)>;

}  // namespace

absl::StatusOr<bool> run_train(Model* model, const Options& options, FILE* out) {
  auto job = find_job(options, [](const char* name) -> const char* { return std::getenv(name); });
  if (!job.ok()) return job.status();
  const Nowhere nowhere(job->rank > 0 ? std::fopen("/dev/null", "w") : nullptr, [](FILE* file) { return std::fclose(file); });
  if (nowhere != nullptr) out = nowhere.get();
  Training training(model, options, *job, out);
  if (absl::Status status = training.prepare(); !status.ok()) return status;
  if (options.trace.empty() || job->rank > 0) return training.run();
  engine::Trace trace;
  model->engine()->set_trace(&trace);
  auto interrupted = training.run();
  model->engine()->wait_all().IgnoreError();  // a failure has been reported by who waited for it
  model->engine()->set_trace(nullptr);
  if (!interrupted.ok()) return interrupted;
  const std::string json = trace.json();
  if (absl::Status status = io::write_file_atomically(options.trace, {{json.data(), json.size()}}); !status.ok()) return status;
  return interrupted;
}

}  // namespace mxc::train

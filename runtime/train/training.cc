// See training.h.
#include "runtime/train/training.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/core/layout.h"
#include "runtime/io/atomic_file.h"
#include "runtime/io/initial_files.h"
#include "runtime/io/program_tensors.h"
#include "runtime/io/sources.h"
#include "runtime/io/shuffle.h"
#include "runtime/train/checkpoint.h"
#include "runtime/train/evaluate.h"
#include "runtime/train/event_log.h"
#include "runtime/train/ignored_signal.h"
#include "runtime/train/interrupt.h"
#include "runtime/train/progress_display.h"
#include "runtime/train/schedule.h"

namespace mxc::train {
namespace {

constexpr int64_t kDefaultEpochs = 10;

class Training {
 public:
  Training(Model* model, const Options& options, FILE* out) : model_(model), options_(options), out_(out) {}

  absl::Status prepare();
  absl::StatusOr<bool> run();

 private:
  absl::Status open_graphs();
  absl::Status open_sources();
  absl::Status open_outputs();
  absl::Status start_state();
  absl::Status resume();
  absl::Status initialise();
  absl::Status settle_settings();

  absl::StatusOr<bool> run_epoch();  // true: the epoch is complete
  absl::Status step(const io::Batch& batch, ProgressDisplay* display);
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
  FILE* out_;
  std::unique_ptr<GraphRunner> trainer_, tester_;
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
  int64_t done_now_ = 0;  // samples of this epoch trained by this process
};

absl::Status Training::open_graphs() {
  auto trainer = GraphRunner::create(model_, plan::GraphKind::train);
  if (!trainer.ok()) return trainer.status();
  trainer_ = *std::move(trainer);
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
  return options_.log.empty() ? absl::OkStatus() : log_.open(options_.log, !options_.resume.empty());
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
  steps_per_epoch_ = (progress_.samples + progress_.batch - 1) / progress_.batch;
  return absl::OkStatus();
}

absl::Status Training::start_state() {
  if (absl::Status status = options_.resume.empty() ? initialise() : resume(); !status.ok()) return status;
  return settle_settings();
}

absl::Status Training::prepare() {
  for (auto part : {&Training::open_graphs, &Training::open_sources, &Training::start_state, &Training::open_outputs}) {
    if (absl::Status status = (this->*part)(); !status.ok()) return status;
  }
  loader_ = std::make_unique<io::BatchLoader>(*data_.train, progress_.batch, model_->engine());
  if (tester_ != nullptr && test_ != nullptr) {
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
  event.add("seed", static_cast<int64_t>(progress_.seed)).add("threads", int64_t{model_->threads()}).add("step", progress_.step);
  for (const auto& [name, value] : progress_.hypers) event.add(name, value);
  log_.write(event);
  interrupt_.emplace();
  return absl::OkStatus();
}

absl::StatusOr<std::vector<double>> Training::shown() const {
  std::vector<double> means = progress_.sums;
  for (double& mean : means) mean /= static_cast<double>(std::max<int64_t>(1, progress_.position));
  return reports_->values(means);
}

// Which step failed, and what is left to go on from: the parameters in memory are part old, part new.
absl::Status Training::explained(const absl::Status& status) const {
  return absl::Status(status.code(), absl::StrCat("step ", progress_.step + 1, ": ", status.message(),
                                                  checkpoint_.empty() ? "; no checkpoint has been written"
                                                                      : absl::StrCat("; the last checkpoint is ", checkpoint_)));
}

absl::Status Training::step(const io::Batch& batch, ProgressDisplay* display) {
  const auto base = progress_.hypers.find("lr");
  double rate = base == progress_.hypers.end() ? 0 : base->second;
  rate *= schedule_.factor(progress_.step, progress_.warmup, steps_per_epoch_, steps_per_epoch_ * progress_.epochs);
  model_->set_hyper("lr", rate);
  model_->set_integer("step", static_cast<uint64_t>(progress_.step));
  if (absl::Status status = trainer_->run(batch); !status.ok()) return checks_finite() ? explained(status) : status;

  progress_.step += 1;
  progress_.position += batch.n;
  done_now_ += batch.n;
  Event event("step");
  if (log_.active()) event.add("step", progress_.step).add("epoch", progress_.epoch + 1).add("n", batch.n).add("lr", rate);
  std::vector<double> own;
  for (size_t i = 0; i < progress_.sums.size(); ++i) {
    own.push_back(trainer_->scalar(trainer_->scalars()[i]));
    progress_.sums[i] += own[i] * static_cast<double>(batch.n);
  }
  if (log_.active()) {
    auto values = reports_->values(own);
    if (!values.ok()) return values.status();
    for (size_t i = 0; i < values->size(); ++i) event.add(reports_->names()[i], (*values)[i]);
  }
  log_.write(event);
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
  loader_->start(io::shuffled(progress_.samples, variation.seed, variation.epoch), progress_.position, variation);
  while (progress_.position < progress_.samples) {
    if (interrupt_->requested() || at_step_limit()) return false;
    auto batch = loader_->next();
    if (!batch.ok()) return batch.status();
    if (absl::Status status = step(**batch, display_.get()); !status.ok()) return status;
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
    auto test = evaluator_->evaluate(&*interrupt_);
    if (!test.ok()) return test.status();
    if (!interrupt_->requested()) result.test = *std::move(test);
  }
  const int64_t epoch = progress_.epoch;
  display->epoch_ends(epoch, result);
  Event event("epoch");
  event.add("epoch", epoch + 1).add("step", progress_.step).add("train", reports_->names(), result.train);
  if (!result.test.empty()) event.add("test", evaluator_->names(), result.test);
  log_.write(event.add("seconds", seconds));
  log_.flush();

  progress_.epoch += 1;
  progress_.position = 0;
  std::fill(progress_.sums.begin(), progress_.sums.end(), 0.0);
  if (options_.checkpoint_dir.empty()) return absl::OkStatus();
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

absl::StatusOr<bool> Training::run() {
  const int64_t first_step = progress_.step;
  if (progress_.epoch >= progress_.epochs || at_step_limit()) {
    display_->say(absl::StrCat(options_.resume, " is already trained for ", progress_.step, " steps, ", progress_.epoch,
                               " epochs; ask for more with --epochs or --steps"));
  }
  while (progress_.epoch < progress_.epochs && !interrupt_->requested() && !at_step_limit()) {
    auto complete = run_epoch();
    if (!complete.ok()) return complete.status();
  }
  if (interrupt_->requested() && progress_.step == first_step) {
    display_->say("interrupted before the first step; nothing was saved");
    return true;
  }
  if (absl::Status status = save(options_.save, display_.get()); !status.ok()) return status;
  return interrupt_->requested();
}

}  // namespace

absl::StatusOr<bool> run_train(Model* model, const Options& options, FILE* out) {
  Training training(model, options, out);
  if (absl::Status status = training.prepare(); !status.ok()) return status;
  if (options.trace.empty()) return training.run();
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

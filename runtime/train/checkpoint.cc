// See checkpoint.h.
#include "runtime/train/checkpoint.h"

#include <cmath>
#include <cstdio>
#include <limits>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/io/hyper_range.h"
#include "runtime/io/printable.h"
#include "runtime/io/program_tensors.h"
#include "runtime/train/options.h"
#include "runtime/train/schedule.h"

namespace mxc::train {
namespace {

std::string exact(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

// Reads the metadata key by key and keeps the first fault.
class MetadataReader {
 public:
  MetadataReader(const std::string& path, const io::TensorFile& file) : path_(path), file_(file) {}

  const absl::Status& status() const { return status_; }

  // "" if it is missing, which is a fault.
  std::string text(const std::string& key) {
    const auto found = file_.metadata.find(key);
    if (found != file_.metadata.end()) return found->second;
    if (status_.ok()) status_ = absl::InvalidArgumentError(absl::StrCat(path_, ": metadata '", key, "' is missing"));
    return "";
  }

  template <typename T>
  T integer(const std::string& key, T least, T most) {
    const std::string written = text(key);
    T value = least;
    if (absl::SimpleAtoi(written, &value) && value >= least && value <= most) return value;
    refuse(key, most == std::numeric_limits<T>::max() ? absl::StrCat("expected a whole number of at least ", least)
                                                      : absl::StrCat("expected a whole number from ", least, " to ", most));
    return least;
  }

  double real(const std::string& key) {
    double value = 0;
    if (!absl::SimpleAtod(text(key), &value)) refuse(key, "expected a number");
    return value;
  }

  void refuse(const std::string& key, const std::string& expected) {
    const std::string shown = io::printable(text(key), io::kMostShown);
    if (status_.ok()) status_ = absl::InvalidArgumentError(absl::StrCat(path_, ": metadata '", key, "' is '", shown, "', ", expected));
  }

 private:
  const std::string& path_;
  const io::TensorFile& file_;
  absl::Status status_;
};

void read_sums(const core::PlanView& view, MetadataReader* reader, Progress* progress) {
  const std::vector<std::string> parts = absl::StrSplit(reader->text("sums"), ' ', absl::SkipEmpty());
  for (const std::string& part : parts) {
    double value = 0;
    if (!absl::SimpleAtod(part, &value)) return reader->refuse("sums", "expected numbers");
    progress->sums.push_back(value);
  }
  const uint32_t graph = view.find_graph(plan::GraphKind::train);
  size_t count = 0;
  if (graph != plan::kNone) {
    for (const plan::Binding& binding : view.outputs(view.graph(graph))) {
      count += binding.kind == plan::OutputKind::loss || binding.kind == plan::OutputKind::metric ? 1 : 0;
    }
  }
  if (parts.size() != count) reader->refuse("sums", absl::StrCat("expected ", count, " numbers, for the losses and metrics"));
}

void read_hypers(const core::PlanView& view, const io::TensorFile& file, MetadataReader* reader, Progress* progress) {
  for (const plan::Hyper& hyper : view.hypers()) {
    const std::string name = view.text(hyper.name), key = "hyper." + name;
    if (io::is_internal_hyper(name)) continue;
    const double value = progress->hypers[name] = reader->real(key);
    const std::string fault = io::hyper_fault(name, view.buffer(hyper.buffer).dtype, hyper.default_value, value);
    if (!fault.empty()) reader->refuse(key, fault.substr(0, fault.find(", not")));
  }
  for (const auto& [key, value] : file.metadata) {
    if (key.rfind("hyper.", 0) == 0 && progress->hypers.count(key.substr(6)) == 0) {
      reader->refuse(key, "but the program has no such hyper-parameter");
    }
  }
}

// The place in the epoch, and that the steps done are those that lead there.
void check_place(const Progress& progress, MetadataReader* reader) {
  const int64_t samples = progress.samples;
  int64_t batch = 0;  // of a step
  if (__builtin_mul_overflow(progress.batch, progress.shards, &batch)) return reader->refuse("batch", "too many samples in a step");
  if (progress.position > samples || (progress.position % batch != 0 && progress.position != samples)) {
    return reader->refuse("position",
                          absl::StrCat("expected a multiple of the ", progress.shards == 1 ? "batch " : "step's samples ", batch, ", or the ", samples, " samples of an epoch"));
  }
  const auto steps_for = [&](int64_t seen) { return seen / batch + (seen % batch != 0 ? 1 : 0); };
  int64_t steps = 0;
  if (__builtin_mul_overflow(progress.epoch, steps_for(samples), &steps) ||
      __builtin_add_overflow(steps, steps_for(progress.position), &steps) || steps != progress.step) {
    reader->refuse("step", absl::StrCat("but epoch ", progress.epoch, " and position ", progress.position, " are reached by ",
                                        static_cast<double>(progress.epoch) * static_cast<double>(steps_for(samples)) +
                                            static_cast<double>(steps_for(progress.position)),
                                        " steps"));
  }
}

absl::StatusOr<Progress> read_progress(const core::PlanView& view, const std::string& path, const io::TensorFile& file) {
  MetadataReader reader(path, file);
  Progress progress;
  progress.step = reader.integer<int64_t>("step", 0, kMost);
  progress.epoch = reader.integer<int64_t>("epoch", 0, kMostEpochs);
  progress.position = reader.integer<int64_t>("position", 0, kMost);
  progress.seed = reader.integer<uint64_t>("seed", 0, std::numeric_limits<uint64_t>::max());
  progress.batch = reader.integer<int64_t>("batch", 1, kMost);
  if (file.metadata.count("compress") > 0) progress.compress = reader.text("compress");
  if (file.metadata.count("shards") > 0) progress.shards = reader.integer<int64_t>("shards", 1, kMostShards);
  progress.samples = reader.integer<int64_t>("samples", 1, kMost);
  progress.epochs = reader.integer<int64_t>("epochs", 1, kMostEpochs);
  progress.warmup = reader.integer<int64_t>("warmup", 0, kMost);
  progress.schedule = reader.text("schedule");
  if (auto schedule = parse_schedule(progress.schedule); !schedule.ok()) {
    reader.refuse("schedule", std::string(schedule.status().message()));
  }
  read_sums(view, &reader, &progress);
  read_hypers(view, file, &reader, &progress);
  if (reader.status().ok()) check_place(progress, &reader);
  if (!reader.status().ok()) return reader.status();
  return progress;
}

// The parameter of a tensor that compression keeps: "NAME/residual" or "NAME/exact"; null: it is another.
const plan::Buffer* kept_for(const core::PlanView& view, const std::string& name) {
  const size_t end = name.rfind('/');
  if (end == std::string::npos || (name.substr(end) != "/residual" && name.substr(end) != "/exact")) return nullptr;
  for (uint32_t parameter : view.parameters())
    if (name.substr(0, end) == view.text(view.buffer(parameter).name)) return &view.buffer(parameter);
  return nullptr;
}

std::vector<int64_t> kept_shape(const plan::Buffer& parameter, const std::string& name, int64_t shards) {
  std::vector<int64_t> shape = io::shape_of(parameter);
  if (absl::EndsWith(name, "/residual")) shape.insert(shape.begin(), shards);
  return shape;
}

// Moves what compression keeps from the file, which then has the model's tensors alone.
absl::Status take_kept(const core::PlanView& view, const std::string& path, io::TensorFile* file, Progress* progress) {
  std::vector<io::Tensor> others;
  for (io::Tensor& tensor : file->tensors) {
    const plan::Buffer* parameter = progress->compress.empty() ? nullptr : kept_for(view, tensor.name);
    if (parameter == nullptr) {
      others.push_back(std::move(tensor));
      continue;
    }
    const std::vector<int64_t> shape = kept_shape(*parameter, tensor.name, progress->shards);
    if (tensor.dtype != parameter->dtype || tensor.shape != shape) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": tensor '", io::printable(tensor.name, io::kMostShown), "' is ",
                                                     io::described(tensor.dtype, tensor.shape), ", expected ", io::described(parameter->dtype, shape)));
    }
    std::string& bytes = progress->kept[tensor.name];
    bytes.resize(tensor.size());
    if (absl::Status status = tensor.get(0, bytes.size(), bytes.data()); !status.ok()) return status;
  }
  file->tensors = std::move(others);
  return absl::OkStatus();
}

io::TensorPlace places(const Model& model) {
  return [&model](const io::ProgramTensor& tensor) { return model.storage().address(model.view().buffer(tensor.buffer)); };
}

}  // namespace

absl::Status check_checkpoint_names(const Model& model) {
  std::set<std::string> names;
  for (const io::ProgramTensor& tensor : io::program_tensors(model.view())) {
    if (!names.insert(tensor.name).second) {
      return absl::InvalidArgumentError(absl::StrCat("the model cannot be saved: two of its tensors are called '", tensor.name, "'"));
    }
  }
  return absl::OkStatus();
}

absl::Status save_checkpoint(const Model& model, const Progress& progress, const std::string& path) {
  const core::PlanView& view = model.view();
  io::TensorFile file = io::checkpoint_file(view, io::program_tensors(view), places(model));
  file.metadata.insert({{"step", absl::StrCat(progress.step)},
                        {"epoch", absl::StrCat(progress.epoch)},
                        {"position", absl::StrCat(progress.position)},
                        {"seed", absl::StrCat(progress.seed)},
                        {"batch", absl::StrCat(progress.batch)},
                        {"samples", absl::StrCat(progress.samples)},
                        {"epochs", absl::StrCat(progress.epochs)},
                        {"schedule", progress.schedule},
                        {"warmup", absl::StrCat(progress.warmup)}});
  if (progress.shards > 1) file.metadata["shards"] = absl::StrCat(progress.shards);
  if (!progress.compress.empty()) file.metadata["compress"] = progress.compress;
  for (const auto& [name, bytes] : progress.kept) {
    const plan::Buffer* parameter = kept_for(view, name);
    if (parameter == nullptr) return absl::InternalError(absl::StrCat("'", name, "' is of no parameter"));
    file.tensors.push_back({name, parameter->dtype, kept_shape(*parameter, name, progress.shards), bytes});
  }
  for (const auto& [name, value] : progress.hypers) file.metadata["hyper." + name] = exact(value);
  std::string sums;
  for (double sum : progress.sums) absl::StrAppend(&sums, sums.empty() ? "" : " ", exact(sum));
  file.metadata["sums"] = sums;
  return io::write_safetensors(path, file);
}

absl::StatusOr<Progress> load_checkpoint(const Model& model, const std::string& path) {
  auto file = io::read_safetensors(path);
  if (!file.ok()) return file.status();
  const core::PlanView& view = model.view();
  const std::vector<io::ProgramTensor> tensors = io::program_tensors(view);
  // Whose progress cannot be read is told of after what is wrong with its tensors.
  auto progress = read_progress(view, path, *file);
  absl::Status status;
  if (progress.ok()) status = take_kept(view, path, &*file, &*progress);
  if (status.ok()) status = io::check_checkpoint(view, tensors, path, *file, io::Wanted::everything);
  if (!status.ok()) return status;
  if (progress.ok()) status = io::take_tensors(view, tensors, *file, io::Wanted::everything, places(model));
  if (!status.ok()) return status;
  return progress;
}

absl::StatusOr<int64_t> checkpoint_shards(const std::string& path) {
  auto file = io::read_safetensors(path);
  if (!file.ok()) return file.status();
  if (file->metadata.count("shards") == 0) return 1;
  MetadataReader reader(path, *file);
  const auto shards = reader.integer<int64_t>("shards", 1, kMostShards);
  if (!reader.status().ok()) return reader.status();
  return shards;
}

absl::StatusOr<kv::Compression> checkpoint_compression(const std::string& path) {
  auto file = io::read_safetensors(path);
  if (!file.ok()) return file.status();
  if (file->metadata.count("compress") == 0) return kv::Compression();
  MetadataReader reader(path, *file);
  auto compression = kv::parse_compression(reader.text("compress"));
  if (!compression.ok()) reader.refuse("compress", "expected a compression that this program knows");
  if (!reader.status().ok()) return reader.status();
  return compression;
}

absl::Status load_parameters(const Model& model, const std::string& path) {
  auto file = io::read_safetensors(path);
  if (!file.ok()) return file.status();
  const core::PlanView& view = model.view();
  const std::vector<io::ProgramTensor> tensors = io::program_tensors(view);
  absl::Status status = io::check_checkpoint(view, tensors, path, *file, io::Wanted::for_inference);
  if (status.ok()) status = io::take_tensors(view, tensors, *file, io::Wanted::for_inference, places(model));
  return status;
}

}  // namespace mxc::train

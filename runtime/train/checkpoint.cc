// See checkpoint.h.
#include "runtime/train/checkpoint.h"

#include <cstdio>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/core/layout.h"

namespace mxc::train {
namespace {

constexpr char kFormat[] = "mxc-checkpoint-1";

// A tensor of the program that a checkpoint holds.
struct Entry {
  std::string name;
  uint32_t buffer;
  bool parameter;
};

// Donated buffers share bytes under several records: each byte is saved once.
bool overlaps(const plan::Buffer& a, const plan::Buffer& b) {
  return a.device == b.device && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

std::vector<Entry> entries_of(const core::PlanView& view) {
  std::vector<Entry> entries;
  for (uint32_t buffer : view.parameters()) entries.push_back({view.text(view.buffer(buffer).name), buffer, true});
  for (const plan::Binding& slot : view.optimizer_slots()) entries.push_back({view.text(slot.name), slot.buffer, false});
  for (uint32_t b = 0; b < view.buffers().size(); ++b) {
    const plan::Buffer& buffer = view.buffer(b);
    if (buffer.space != plan::Space::persistent || buffer.role != plan::Role::state) continue;
    bool covered = false;
    for (const Entry& entry : entries) covered |= overlaps(view.buffer(entry.buffer), buffer);
    if (!covered) entries.push_back({view.text(buffer.name), b, true});
  }
  return entries;
}

std::vector<int64_t> shape_of(const plan::Buffer& buffer) { return {buffer.dims, buffer.dims + buffer.rank}; }

std::string exact(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

std::string described(plan::DType dtype, const std::vector<int64_t>& shape) {
  return absl::StrCat(io::shape_text(shape), " ", core::dtype_name(dtype));
}

absl::Status refuse(const std::string& path, const Model& model, const std::string& why) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": not a checkpoint of model '", model.name(), "': ", why));
}

absl::Status check_tensors(const Model& model, const std::string& path, const io::TensorFile& file,
                           const std::vector<Entry>& entries, bool parameters_only) {
  const core::PlanView& view = model.view();
  for (const Entry& entry : entries) {
    if (parameters_only && !entry.parameter) continue;
    const plan::Buffer& buffer = view.buffer(entry.buffer);
    const io::Tensor* tensor = file.find(entry.name);
    if (tensor == nullptr) return refuse(path, model, absl::StrCat("tensor '", entry.name, "' is missing"));
    if (tensor->dtype != buffer.dtype || tensor->shape != shape_of(buffer)) {
      return refuse(path, model,
                    absl::StrCat("tensor '", entry.name, "' is ", described(tensor->dtype, tensor->shape), ", the model has ",
                                 described(buffer.dtype, shape_of(buffer))));
    }
  }
  for (const io::Tensor& tensor : file.tensors) {
    bool known = false;
    for (const Entry& entry : entries) known |= entry.name == tensor.name;
    if (!known && !parameters_only)
      return refuse(path, model, absl::StrCat("it has a tensor '", tensor.name, "' that the model lacks"));
  }
  return absl::OkStatus();
}

// Reads one number of the metadata; an absent key leaves the value as it is.
template <typename T>
bool take(const io::TensorFile& file, const char* key, T* value) {
  const auto found = file.metadata.find(key);
  return found == file.metadata.end() || absl::SimpleAtoi(found->second, value);
}

absl::StatusOr<Progress> read_progress(const std::string& path, const io::TensorFile& file) {
  Progress progress;
  bool good = take(file, "step", &progress.step) && take(file, "epoch", &progress.epoch) &&
              take(file, "position", &progress.position) && take(file, "seed", &progress.seed) &&
              take(file, "batch", &progress.batch) && take(file, "samples", &progress.samples) &&
              take(file, "epochs", &progress.epochs) && take(file, "warmup", &progress.warmup);
  for (const auto& [key, text] : file.metadata) {
    if (key == "schedule") progress.schedule = text;
    if (key.rfind("hyper.", 0) == 0) good = good && absl::SimpleAtod(text, &progress.hypers[key.substr(6)]);
    if (key != "sums") continue;
    const std::vector<std::string> parts = absl::StrSplit(text, ' ', absl::SkipEmpty());
    for (const std::string& part : parts) {
      double value = 0;
      good = good && absl::SimpleAtod(part.substr(part.rfind('=') + 1), &value);
      progress.sums.push_back(value);
    }
  }
  good = good && progress.step >= 0 && progress.epoch >= 0 && progress.position >= 0;
  if (!good) return absl::InvalidArgumentError(absl::StrCat(path, ": the metadata are damaged"));
  return progress;
}

}  // namespace

absl::Status save_checkpoint(const Model& model, const Progress& progress, const std::string& path) {
  const core::PlanView& view = model.view();
  io::TensorFile file;
  file.metadata = {{"format", kFormat},
                   {"model", model.name()},
                   {"step", absl::StrCat(progress.step)},
                   {"epoch", absl::StrCat(progress.epoch)},
                   {"position", absl::StrCat(progress.position)},
                   {"seed", absl::StrCat(progress.seed)},
                   {"batch", absl::StrCat(progress.batch)},
                   {"samples", absl::StrCat(progress.samples)},
                   {"epochs", absl::StrCat(progress.epochs)},
                   {"schedule", progress.schedule},
                   {"warmup", absl::StrCat(progress.warmup)}};
  if (const std::string hash = model.fact("hash"); !hash.empty()) file.metadata["hash"] = hash;
  for (const auto& [name, value] : progress.hypers) file.metadata["hyper." + name] = exact(value);
  std::string sums;
  for (double sum : progress.sums) absl::StrAppend(&sums, sums.empty() ? "" : " ", exact(sum));
  file.metadata["sums"] = sums;

  for (const Entry& entry : entries_of(view)) {
    const plan::Buffer& buffer = view.buffer(entry.buffer);
    io::Tensor tensor{entry.name, buffer.dtype, shape_of(buffer), {}};
    tensor.bytes.resize(core::plain_bytes(buffer, core::batch_capacity(buffer)));
    core::unpack(buffer, core::batch_capacity(buffer), model.storage().address(buffer), tensor.bytes.data());
    file.tensors.push_back(std::move(tensor));
  }
  return io::write_safetensors(path, file);
}

absl::StatusOr<Progress> load_checkpoint(const Model& model, const std::string& path, bool parameters_only) {
  const core::PlanView& view = model.view();
  auto file = io::read_safetensors(path);
  if (!file.ok()) return file.status();
  const std::vector<Entry> entries = entries_of(view);
  if (absl::Status status = check_tensors(model, path, *file, entries, parameters_only); !status.ok()) return status;
  auto progress = read_progress(path, *file);
  if (!progress.ok()) return progress;
  for (const Entry& entry : entries) {
    const io::Tensor* tensor = file->find(entry.name);
    if (tensor == nullptr || (parameters_only && !entry.parameter)) continue;
    const plan::Buffer& buffer = view.buffer(entry.buffer);
    core::pack(buffer, core::batch_capacity(buffer), tensor->bytes.data(), model.storage().address(buffer));
  }
  return progress;
}

}  // namespace mxc::train

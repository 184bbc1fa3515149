// See program_tensors.h.
#include "runtime/io/program_tensors.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/core/layout.h"
#include "runtime/io/dataset.h"
#include "runtime/io/printable.h"

namespace mxc::io {
namespace {

constexpr uint64_t kPartBytes = 1 << 20;  // of a tensor, in files' order, that are in memory beside it

// Donated buffers share bytes under several records: each byte is saved once.
bool overlaps(const plan::Buffer& a, const plan::Buffer& b) {
  return a.device == b.device && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

absl::Status refuse(const core::PlanView& view, const std::string& path, const std::string& why) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": not a checkpoint of model '", program_name(view), "': ", why));
}

// Empty if the file does not say.
std::string said(const TensorFile& file, const char* key) {
  const auto found = file.metadata.find(key);
  return found == file.metadata.end() ? "" : found->second;
}

// Of which model, and for a resume of which format and optimizer, the file says it is.
absl::Status check_origin(const core::PlanView& view, const std::string& path, const TensorFile& file, Wanted wanted) {
  const std::string format = said(file, "format"), name = said(file, "model"), optimizer = said(file, "optimizer");
  const std::string shown = printable(name, kMostShown), kind = printable(optimizer, kMostShown);
  if (wanted == Wanted::for_inference && format != kCheckpointFormat) return absl::OkStatus();
  if (format != kCheckpointFormat) {
    return refuse(view, path, format.empty() ? "metadata 'format' is missing"
                                             : absl::StrCat("its format is '", printable(format, kMostShown),
                                                            "', this program reads '", kCheckpointFormat, "'"));
  }
  if (name != program_name(view)) {
    return refuse(view, path, name.empty() ? "metadata 'model' is missing" : "it is of model '" + shown + "'");
  }
  const std::string compiled = program_fact(view, "optimizer");
  if (wanted == Wanted::for_inference || optimizer.empty() || optimizer == compiled) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(path, ": was trained with the optimizer '", kind, "', this program has '", compiled,
                                                 "'; recompile: ", recompile_command(view, kind)));
}

absl::Status check_tensors(const core::PlanView& view, const std::vector<ProgramTensor>& tensors, const std::string& path,
                           const TensorFile& file, Wanted wanted) {
  for (const ProgramTensor& own : tensors) {
    if (wanted == Wanted::for_inference && own.of_optimizer) continue;
    const plan::Buffer& buffer = view.buffer(own.buffer);
    const Tensor* tensor = file.find(own.name);
    if (tensor == nullptr) return refuse(view, path, absl::StrCat("tensor '", own.name, "' is missing"));
    if (tensor->dtype != buffer.dtype || tensor->shape != shape_of(buffer)) {
      return refuse(view, path,
                    absl::StrCat("tensor '", own.name, "' is ", described(tensor->dtype, tensor->shape), ", the model has ",
                                 described(buffer.dtype, shape_of(buffer))));
    }
  }
  for (const Tensor& tensor : file.tensors) {
    const bool known = std::any_of(tensors.begin(), tensors.end(), [&](const ProgramTensor& own) { return own.name == tensor.name; });
    if (!known && wanted == Wanted::everything) {
      return refuse(view, path, absl::StrCat("it has a tensor '", tensor.name, "' that the model lacks"));
    }
  }
  return absl::OkStatus();
}

// Of the plain form, the whole of which has some.
uint64_t row_bytes(const plan::Buffer& buffer) {
  const uint64_t rows = buffer.rank == 0 ? 1 : static_cast<uint64_t>(buffer.dims[0]);
  return std::max<uint64_t>(1, core::plain_bytes(buffer, core::batch_capacity(buffer)) / std::max<uint64_t>(1, rows));
}

uint64_t rows_at_a_time(const plan::Buffer& buffer) {
  return std::max<uint64_t>(1, static_cast<uint64_t>(core::rows_within(buffer, kPartBytes)));
}

}  // namespace

std::vector<int64_t> shape_of(const plan::Buffer& buffer) { return {buffer.dims, buffer.dims + buffer.rank}; }

std::string described(plan::DType dtype, const std::vector<int64_t>& shape) {
  return absl::StrCat(shape_text(shape), " ", core::dtype_name(dtype));
}

std::vector<ProgramTensor> program_tensors(const core::PlanView& view) {
  std::vector<ProgramTensor> tensors;
  for (uint32_t buffer : view.parameters()) tensors.push_back({view.text(view.buffer(buffer).name), buffer, false});
  for (const plan::Binding& slot : view.optimizer_slots()) tensors.push_back({view.text(slot.name), slot.buffer, true});
  for (uint32_t b = 0; b < view.buffers().size(); ++b) {
    const plan::Buffer& buffer = view.buffer(b);
    if (buffer.space != plan::Space::persistent || buffer.role != plan::Role::state) continue;
    const bool covered =
        std::any_of(tensors.begin(), tensors.end(), [&](const ProgramTensor& t) { return overlaps(view.buffer(t.buffer), buffer); });
    if (!covered) tensors.push_back({view.text(buffer.name), b, false});
  }
  return tensors;
}

std::string program_fact(const core::PlanView& view, const char* key, const char* fallback) {
  const char* value = view.find_fact(key);
  return value == nullptr ? fallback : value;
}

std::string recompile_command(const core::PlanView& view, const std::string& optimizer) {
  return absl::StrCat("mxc compile ", program_fact(view, "source", "model.cpp"), " --optimizer=", optimizer, " -o ", program_name(view));
}

TensorFile checkpoint_file(const core::PlanView& view, const std::vector<ProgramTensor>& tensors, const TensorPlace& place) {
  TensorFile file;
  file.metadata = {{"format", kCheckpointFormat}, {"model", program_name(view)}};
  for (const char* key : {"optimizer", "hash"}) {
    if (const std::string fact = program_fact(view, key); !fact.empty()) file.metadata[key] = fact;
  }
  for (const ProgramTensor& tensor : tensors) {
    const plan::Buffer& buffer = view.buffer(tensor.buffer);
    const uint64_t row = row_bytes(buffer);
    const auto read = [&buffer, row, from = place(tensor)](uint64_t begin, uint64_t size, void* out) {
      core::unpack_rows(buffer, core::batch_capacity(buffer), static_cast<int64_t>(begin / row), static_cast<int64_t>(size / row), from, out);
      return absl::OkStatus();
    };
    file.tensors.push_back({tensor.name, buffer.dtype, shape_of(buffer), {}, read, rows_at_a_time(buffer) * row});
  }
  return file;
}

absl::Status check_checkpoint(const core::PlanView& view, const std::vector<ProgramTensor>& tensors, const std::string& path,
                              const TensorFile& file, Wanted wanted) {
  if (absl::Status status = check_origin(view, path, file, wanted); !status.ok()) return status;
  if (absl::Status status = check_tensors(view, tensors, path, file, wanted); !status.ok()) return status;
  const std::string hash = said(file, "hash"), own = program_fact(view, "hash");
  if (wanted == Wanted::for_inference || hash.empty() || own.empty() || hash == own) return absl::OkStatus();
  return refuse(view, path, absl::StrCat("its hash is ", printable(hash, kMostShown), ", the program's ", own));
}

absl::Status put_tensor(const plan::Buffer& buffer, const Tensor& tensor, void* memory) {
  const uint64_t bytes = tensor.size(), row = row_bytes(buffer), step = rows_at_a_time(buffer) * row;
  std::vector<char> part(std::min(step, bytes));
  for (uint64_t begin = 0; begin < bytes; begin += step) {
    const uint64_t size = std::min(step, bytes - begin);
    if (absl::Status status = tensor.get(begin, size, part.data()); !status.ok()) return status;
    core::pack_rows(buffer, core::batch_capacity(buffer), static_cast<int64_t>(begin / row), static_cast<int64_t>(size / row), part.data(), memory);
  }
  return absl::OkStatus();
}

absl::Status take_tensors(const core::PlanView& view, const std::vector<ProgramTensor>& tensors, const TensorFile& file, Wanted wanted,
                  const TensorPlace& place) {
  for (const ProgramTensor& own : tensors) {
    const Tensor* tensor = file.find(own.name);
    if (tensor == nullptr || (wanted == Wanted::for_inference && own.of_optimizer)) continue;
    const plan::Buffer& buffer = view.buffer(own.buffer);
    if (absl::Status status = put_tensor(buffer, *tensor, place(own)); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace mxc::io

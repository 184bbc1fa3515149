// See weights.h. runtime/io reads and checks the file, as it does for the trainer's `predict`.
#include "driver/weights.h"

#include "llvm/Support/Endian.h"
#include "llvm/Support/SHA256.h"
#include "runtime/core/storage.h"
#include "runtime/embed/weights.h"
#include "runtime/io/program_tensors.h"

namespace mxc::driver {

std::optional<std::string> weightImage(const core::PlanView& view, const std::string& path, DiagnosticPrinter& printer) {
  auto fail = [&](const absl::Status& status) { return printer.error(status), std::nullopt; };
  auto file = io::read_safetensors(path);
  if (!file.ok()) return fail(file.status());
  const std::vector<io::ProgramTensor> tensors = io::program_tensors(view);
  absl::Status status = io::check_checkpoint(view, tensors, path, *file, io::Wanted::for_inference);
  if (!status.ok()) return fail(status);
  std::string image(embed::persistent(embed::PlanRecords(&view.header())).fresh, '\0');
  status = io::take_tensors(view, tensors, *file, io::Wanted::for_inference,
                            [&](const io::ProgramTensor& tensor) { return image.data() + view.buffer(tensor.buffer).offset; });
  if (!status.ok()) return fail(status);
  for (const plan::Hyper& hyper : view.hypers()) {
    const plan::Buffer& buffer = view.buffer(hyper.buffer);
    if (buffer.offset >= image.size()) continue;  // each context has its own
    core::write_scalar(buffer.dtype, image.data() + buffer.offset, hyper.default_value);
  }
  return image;
}

uint64_t weightLayout(const core::PlanView& view) {
  std::string text = std::to_string(view.devices()[0].persistent_bytes);
  auto add = [&](auto number) { text += " " + std::to_string(static_cast<int64_t>(number)); };
  for (const plan::Buffer& buffer : view.buffers()) {
    if (buffer.space != plan::Space::persistent) continue;
    text += std::string("\n") + view.text(buffer.name);
    for (int64_t number : {int64_t{static_cast<int>(buffer.dtype)}, static_cast<int64_t>(buffer.offset), int64_t{buffer.block_axis},
                           int64_t{buffer.block}})
      add(number);
    for (int axis = 0; axis < buffer.rank; ++axis) {
      add(buffer.dims[axis]);
      add(buffer.order[axis]);
    }
  }
  return hashOf(text);
}

std::string weightFile(const std::string& image, uint64_t layout) {
  embed::WeightHeader header = {};
  header.magic = embed::kWeightMagic;
  header.version = embed::kWeightVersion;
  header.bytes = image.size();
  header.layout = layout;
  header.checksum = embed::checksum(image.data(), image.size());
  return std::string(reinterpret_cast<const char*>(&header), sizeof header) + image;
}

uint64_t hashOf(const std::string& text) {
  llvm::SHA256 hash;
  hash.update(text);
  std::array<uint8_t, 32> sum = hash.final();
  return llvm::support::endian::read64le(sum.data());
}

}  // namespace mxc::driver

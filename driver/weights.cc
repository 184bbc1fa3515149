// See weights.h. runtime/io reads and checks the file, as it does for the trainer's `predict`.
#include "driver/weights.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <fstream>
#include <system_error>

#include "llvm/Support/Endian.h"
#include "llvm/Support/SHA256.h"
#include "runtime/core/storage.h"
#include "runtime/embed/weights.h"
#include "runtime/io/program_tensors.h"

namespace mxc::driver {

using frontend::Fault;

namespace {

constexpr size_t kPiece = 1 << 20;  // of a file that is read, at a time
constexpr int kPiecesHeld = 16;     // parts of tensors whose places stay in memory

// A file that is written by writing to memory; what has been written need not stay there.
class MappedFile {
 public:
  MappedFile(const std::string& path, uint64_t bytes) : bytes_(bytes), file_(open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)) {
    // Room is taken beforehand: a full disk is no error of a store.
    error_ = file_ < 0 ? errno : bytes > 0 ? posix_fallocate(file_, 0, static_cast<off_t>(bytes)) : 0;
    if (error_ != 0 || bytes == 0) return;
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    if (memory == MAP_FAILED) error_ = errno;
    else memory_ = memory;
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile() {
    if (memory_) munmap(memory_, bytes_);
    if (file_ >= 0) close(file_);
  }

  int error() const { return error_; }  // of the system; 0: none
  char* at(uint64_t offset) const { return static_cast<char*>(memory_) + offset; }
  // Leaves what has been written so far to the system, which has it in the file.
  void release() const {
    if (memory_) madvise(memory_, bytes_, MADV_DONTNEED);
  }

 private:
  uint64_t bytes_;
  int file_, error_ = 0;
  void* memory_ = nullptr;
};

}  // namespace

std::optional<uint64_t> writeWeightImage(const core::PlanView& view, const std::string& params, const std::string& image, DiagnosticPrinter& printer) {
  auto fail = [&](const absl::Status& status) { return printer.error(status), std::nullopt; };
  absl::StatusOr<io::TensorFile> file = io::TensorFile();
  const std::vector<io::ProgramTensor> tensors = io::program_tensors(view);
  if (!params.empty()) file = io::read_safetensors(params);
  if (!file.ok()) return fail(file.status());
  absl::Status status = params.empty() ? absl::OkStatus() : io::check_checkpoint(view, tensors, params, *file, io::Wanted::for_inference);
  if (!status.ok()) return fail(status);
  const uint64_t bytes = embed::persistent(embed::PlanRecords(&view.header())).fresh;
  const MappedFile made(image, bytes);
  if (made.error()) return printer.error(Fault::input, "cannot write '" + image + "': " + std::generic_category().message(made.error())), std::nullopt;
  int pieces = 0;
  for (io::Tensor& tensor : file->tensors)
    tensor.read = [read = std::move(tensor.read), &pieces, &made](uint64_t begin, uint64_t size, void* out) {
      if (++pieces % kPiecesHeld == 0) made.release();
      return read(begin, size, out);
    };
  status = io::take_tensors(view, tensors, *file, io::Wanted::for_inference,
                            [&](const io::ProgramTensor& tensor) { return made.at(view.buffer(tensor.buffer).offset); });
  if (!status.ok()) return fail(status);
  for (const plan::Hyper& hyper : view.hypers()) {
    const plan::Buffer& buffer = view.buffer(hyper.buffer);
    if (buffer.offset >= bytes) continue;  // each context has its own
    core::write_scalar(buffer.dtype, made.at(buffer.offset), hyper.default_value);
  }
  return bytes;
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

std::optional<Content> weightFile(const std::string& image, uint64_t layout, DiagnosticPrinter& printer) {
  embed::Checksum sum;
  std::ifstream file(image, std::ios::binary);
  std::string piece(kPiece, '\0');
  while (file.read(piece.data(), kPiece), file.gcount() > 0) sum.add(piece.data(), file.gcount());
  if (!file.eof()) return printer.error(Fault::internal, "cannot read '" + image + "'"), std::nullopt;
  embed::WeightHeader header = {};
  header.magic = embed::kWeightMagic;
  header.version = embed::kWeightVersion;
  header.bytes = sum.bytes();
  header.layout = layout;
  header.checksum = sum.value();
  Content content(std::string(reinterpret_cast<const char*>(&header), sizeof header));
  content.addFile(image);
  return content;
}

uint64_t hashOf(const std::string& text) {
  llvm::SHA256 hash;
  hash.update(text);
  std::array<uint8_t, 32> sum = hash.final();
  return llvm::support::endian::read64le(sum.data());
}

}  // namespace mxc::driver

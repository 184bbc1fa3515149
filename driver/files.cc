// See files.h.
#include "driver/files.h"

#include "driver/diagnostics.h"
#include "driver/interrupt.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

namespace mxc::driver {

namespace fs = llvm::sys::fs;

std::string installRoot() {
  std::string program = fs::getMainExecutable("mxc", reinterpret_cast<void*>(&installRoot));
  return llvm::sys::path::parent_path(llvm::sys::path::parent_path(program)).str();
}

WorkDirectory::WorkDirectory(const std::string& kept) : path_(kept), kept_(!kept.empty()) {
  llvm::SmallString<128> path(kept);
  std::error_code code = kept_ ? fs::create_directories(path) : fs::createUniqueDirectory("mxc", path);
  if (code) error_ = "cannot make the folder for intermediate files: " + code.message();
  path_ = path.str().str();
  if (!kept_ && error_.empty()) slot_ = removeOnSignal(path_.c_str());
}

WorkDirectory::~WorkDirectory() {
  if (kept_ || !error_.empty()) return;
  fs::remove_directories(path_);
  keepOnSignal(slot_);
}

llvm::Expected<std::string> readWholeFile(const std::string& path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer) return llvm::createStringError(buffer.getError(), buffer.getError().message().c_str());
  return (*buffer)->getBuffer().str();
}

void writeIntermediate(const std::string& path, std::string_view bytes, DiagnosticPrinter& printer) {
  std::error_code code;
  llvm::raw_fd_ostream stream(path, code);
  if (!code) {
    stream << llvm::StringRef(bytes);
    stream.flush();
    code = stream.error();
    stream.clear_error();
  }
  if (code) printer.error(frontend::Fault::input, "cannot write '" + path + "': " + code.message());
}

}  // namespace mxc::driver

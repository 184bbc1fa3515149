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

namespace {

llvm::Error cannotWrite(const std::string& path, const std::string& why) {
  return llvm::createStringError(std::make_error_code(std::errc::io_error), "cannot write '%s': %s", path.c_str(), why.c_str());
}

std::error_code writeTo(llvm::raw_fd_ostream& stream, std::string_view bytes) {
  stream << llvm::StringRef(bytes);
  stream.flush();
  std::error_code code = stream.error();
  stream.clear_error();
  return code;
}

}  // namespace

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

llvm::Error writeWholeFile(const std::string& path, std::string_view bytes, bool executable) {
  fs::file_status status;
  const bool special = path == "-" || (!fs::status(path, status) && fs::exists(status) && !fs::is_regular_file(status));
  std::error_code code;
  if (special) {
    llvm::raw_fd_ostream stream(path, code);
    if (!code) code = writeTo(stream, bytes);
    return code ? cannotWrite(path, code.message()) : llvm::Error::success();
  }
  auto mode = fs::all_read | fs::all_write | (executable ? fs::all_exe : fs::perms(0));
  auto file = fs::TempFile::create(path + ".%%%%%%.tmp", mode);
  if (!file) return cannotWrite(path, llvm::toString(file.takeError()));
  if (fs::is_regular_file(status)) {  // who could read or run the old file can the new one
    const unsigned old = status.permissions() & fs::all_perms;
    (void)fs::setPermissions(file->FD, static_cast<fs::perms>(old | (executable ? (old & fs::all_read) >> 2 : 0)));
  }
  llvm::raw_fd_ostream stream(file->FD, /*shouldClose=*/false);
  if ((code = writeTo(stream, bytes))) {
    llvm::consumeError(file->discard());
    return cannotWrite(path, code.message());
  }
  if (llvm::Error error = file->keep(path)) return cannotWrite(path, llvm::toString(std::move(error)));
  return llvm::Error::success();
}

void writeOutput(const std::string& path, std::string_view bytes, DiagnosticPrinter& printer, bool executable) {
  if (llvm::Error error = writeWholeFile(path, bytes, executable)) printer.error(frontend::Fault::input, llvm::toString(std::move(error)));
}

}  // namespace mxc::driver

// See output_set.h.
#include "driver/output_set.h"

#include <csignal>
#include <fstream>
#include <map>
#include <optional>
#include <set>

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "runtime/train/ignored_signal.h"

namespace mxc::driver {

namespace fs = llvm::sys::fs;
using frontend::Fault;

namespace {

constexpr size_t kPiece = 1 << 20;  // of a file that is copied, at a time

llvm::Error cannotWrite(const std::string& path, const std::string& why) {
  return llvm::createStringError(std::make_error_code(std::errc::io_error), "cannot write '%s': %s", path.c_str(), why.c_str());
}

// Standard output, a device or a pipe. `status` is that of a file which is there.
bool isSpecial(const std::string& path, fs::file_status& status) {
  return path == "-" ||
         (!fs::status(path, status) && fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status));
}

// Empty, or why it is not written. `may_break`: a pipe whose reader has left is no reason.
std::string writeTo(llvm::raw_fd_ostream& stream, const Content& content, bool may_break = false) {
  std::string piece;
  for (const Content::Part& part : content.parts()) {
    stream << part.bytes;
    if (part.file.empty()) continue;
    std::ifstream file(part.file, std::ios::binary);
    piece.resize(kPiece);
    while (file.read(piece.data(), kPiece), file.gcount() > 0) stream << llvm::StringRef(piece.data(), file.gcount());
    if (!file.eof()) return "cannot read '" + part.file + "'";
  }
  stream.flush();
  std::error_code code = stream.error();
  stream.clear_error();
  return !code || (may_break && code == std::errc::broken_pipe) ? "" : code.message();
}

llvm::Error writeSpecial(const std::string& path, const Content& content, bool is_display) {
  std::optional<train::IgnoredSignal> reader_left;
  if (is_display) reader_left.emplace(SIGPIPE);
  std::error_code code;
  llvm::raw_fd_ostream stream(path, code);
  std::string why = code ? code.message() : writeTo(stream, content, is_display);
  return why.empty() ? llvm::Error::success() : cannotWrite(path, why);
}

// The file whole beside the place that it is to have.
llvm::Expected<fs::TempFile> writeBeside(const std::string& path, const Content& content, bool executable,
                                         const fs::file_status& old) {
  if (fs::is_directory(old)) return cannotWrite(path, "it is a folder");
  auto mode = fs::all_read | fs::all_write | (executable ? fs::all_exe : fs::perms(0));
  auto file = fs::TempFile::create(path + ".%%%%%%.tmp", mode);
  if (!file) return cannotWrite(path, llvm::toString(file.takeError()));
  if (fs::is_regular_file(old)) {  // who could read or run the old file can the new one
    const unsigned permissions = old.permissions() & fs::all_perms;
    (void)fs::setPermissions(file->FD, static_cast<fs::perms>(permissions | (executable ? (permissions & fs::all_read) >> 2 : 0)));
  }
  std::string why;
  {
    llvm::raw_fd_ostream stream(file->FD, /*shouldClose=*/false);
    why = writeTo(stream, content);
  }
  if (why.empty()) return file;
  llvm::consumeError(file->discard());
  return cannotWrite(path, why);
}

// What stood where a new file goes: under another name beside it until all files of the set have their places.
struct Previous {
  std::string path, kept;  // `kept` is empty if there was nothing

  void putBack() const { (void)(kept.empty() ? fs::remove(path) : fs::rename(kept, path)); }
  void forget() const {
    if (!kept.empty()) fs::remove(kept);
  }
};

// A second name for it where the file system has that, else a copy. So the path is never without a file.
llvm::Expected<Previous> keepPrevious(const std::string& path) {
  fs::file_status status;
  fs::status(path, status, /*follow=*/false);
  if (status.type() == fs::file_type::file_not_found) return Previous{path, ""};
  llvm::SmallString<256> kept;
  std::error_code code;
  do {
    fs::createUniquePath(path + ".%%%%%%.old", kept, /*MakeAbsolute=*/false);
    code = fs::create_hard_link(path, kept);
  } while (code == std::errc::file_exists);
  if (code) code = fs::copy_file(path, kept);
  if (!code) return Previous{path, kept.str().str()};
  fs::remove(kept);
  return cannotWrite(path, "what is there cannot be kept meanwhile: " + code.message());
}

// Signals that end a program wait while an object of this class lives.
class HeldSignals {
 public:
  HeldSignals() {
    sigset_t held;
    sigemptyset(&held);
    for (int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) sigaddset(&held, number);
    pthread_sigmask(SIG_BLOCK, &held, &before_);
  }
  ~HeldSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

 private:
  sigset_t before_;
};

// Files that are whole beside their places, and the places.
using Written = std::vector<std::pair<fs::TempFile, std::string>>;

void discard(Written& written) {
  for (auto& [file, path] : written) llvm::consumeError(file.discard());
}

// Gives files their places, all of them or none. The last one needs no way back: renaming does all or nothing itself.
llvm::Error putInPlace(Written& written) {
  HeldSignals held;
  std::vector<Previous> previous;
  auto failed = [&](size_t placed, size_t tried, llvm::Error error) {
    for (size_t i = placed; i-- > 0;) previous[i].putBack();
    for (size_t i = placed; i < previous.size(); ++i) previous[i].forget();
    written.erase(written.begin(), written.begin() + tried);
    discard(written);
    return error;
  };
  for (size_t i = 0; i + 1 < written.size(); ++i) {
    auto kept = keepPrevious(written[i].second);
    if (!kept) return failed(0, 0, kept.takeError());
    previous.push_back(std::move(*kept));
  }
  for (size_t i = 0; i < written.size(); ++i)
    if (llvm::Error error = written[i].first.keep(written[i].second)) {
      llvm::Error told = cannotWrite(written[i].second, llvm::toString(std::move(error)));
      return failed(i, i + 1, std::move(told));
    }
  for (const Previous& each : previous) each.forget();
  return llvm::Error::success();
}

// A place of the file system, whatever its spelling: the folder's real path and the name in it.
std::string placeOf(const std::string& path) {
  llvm::SmallString<256> folder, absolute(path);
  fs::make_absolute(absolute);
  if (fs::real_path(llvm::sys::path::parent_path(absolute), folder)) return absolute.str().str();
  llvm::sys::path::append(folder, llvm::sys::path::filename(absolute));
  return folder.str().str();
}

// The places where writing would change what is read: the file's, and that of the file which a link leads to.
std::set<std::string> placesOf(const std::string& path) {
  llvm::SmallString<256> real;
  std::set<std::string> places = {placeOf(path)};
  if (!fs::real_path(path, real)) places.insert(real.str().str());
  return places;
}

}  // namespace

bool OutputSet::commit(DiagnosticPrinter& printer) {
  Written written;
  auto failed = [&](llvm::Error error) {
    printer.error(Fault::input, llvm::toString(std::move(error)));
    discard(written);
    return false;
  };
  std::vector<const File*> special;
  for (const File& output : files_) {
    fs::file_status status;
    if (isSpecial(output.path, status)) {
      special.push_back(&output);
      continue;
    }
    auto file = writeBeside(output.path, output.content, output.executable, status);
    if (!file) return failed(file.takeError());
    written.push_back({std::move(*file), output.path});
  }
  for (const File* output : special)
    if (llvm::Error error = writeSpecial(output->path, output->content, output->is_display)) return failed(std::move(error));
  llvm::Error error = putInPlace(written);
  if (!error) return true;
  printer.error(Fault::input, llvm::toString(std::move(error)));
  return false;
}

bool checkOverwriting(const std::vector<NamedFile>& read, const std::vector<NamedFile>& written, DiagnosticPrinter& printer) {
  std::map<std::string, std::string> taken;  // place -> what is there
  for (const NamedFile& file : read) {
    if (fs::is_directory(file.path)) continue;  // nothing is written over a folder
    for (const std::string& place : placesOf(file.path)) taken.insert({place, file.what});
  }
  for (const NamedFile& file : written) {
    fs::file_status status;
    if (isSpecial(file.path, status)) continue;
    auto [other, is_new] = taken.insert({placeOf(file.path), file.what});
    if (is_new) continue;
    printer.error(Fault::usage, file.path + ": " + file.what + " would be written over " + other->second);
    return false;
  }
  return true;
}

}  // namespace mxc::driver

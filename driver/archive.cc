// See archive.h. The format, which is that of System V: after the line "!<arch>" members, each of a header of 60 characters and its bytes, padded to an
// even number. The first, called "/", lists the symbols: their number, for each the place of its member's header in the file (both
// big-endian, of 32 bits), and their names.
#include "driver/archive.h"

#include "llvm/Object/SymbolicFile.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MemoryBuffer.h"

namespace mxc::driver {

namespace {

constexpr llvm::StringRef kStart = "!<arch>\n";
constexpr size_t kHeaderBytes = 60;

std::string memberHeader(std::string name, uint64_t bytes) {
  auto field = [](std::string text, size_t width) { return text.append(width - text.size(), ' '); };
  return field(std::move(name), 16) + field("0", 12) + field("0", 6) + field("0", 6) + field("644", 8) +
         field(std::to_string(bytes), 10) + "`\n";
}

std::string number(uint32_t value) {
  std::string bytes(sizeof value, '\0');
  llvm::support::endian::write32be(bytes.data(), value);
  return bytes;
}

// What others may refer to, each name with a NUL behind it, and how many they are.
llvm::Expected<std::pair<std::string, uint32_t>> symbolsOf(llvm::MemoryBufferRef object) {
  auto file = llvm::object::SymbolicFile::createSymbolicFile(object);
  if (!file) return file.takeError();
  std::string names;
  uint32_t count = 0;
  for (const llvm::object::BasicSymbolRef& symbol : (*file)->symbols()) {
    auto flags = symbol.getFlags();
    if (!flags) return flags.takeError();
    using Flag = llvm::object::BasicSymbolRef;
    if (!(*flags & Flag::SF_Global) || (*flags & (Flag::SF_Undefined | Flag::SF_FormatSpecific))) continue;
    llvm::raw_string_ostream stream(names);
    if (llvm::Error error = symbol.printName(stream)) return error;
    stream << '\0';
    ++count;
  }
  return std::pair{names, count};
}

}  // namespace

std::optional<Content> archiveOf(const std::string& object, const std::string& name, DiagnosticPrinter& printer) {
  auto fail = [&](const std::string& why) {
    return printer.error(frontend::Fault::internal, "the archive cannot be made: " + why), std::nullopt;
  };
  auto buffer = llvm::MemoryBuffer::getFile(object, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer) return fail(buffer.getError().message());
  auto symbols = symbolsOf((*buffer)->getMemBufferRef());
  if (!symbols) return fail(llvm::toString(symbols.takeError()));
  auto& [names, count] = *symbols;
  if ((sizeof(uint32_t) * (count + 1) + names.size()) % 2 != 0) names += '\0';
  const uint64_t list = sizeof(uint32_t) * (count + 1) + names.size(), member = kStart.size() + kHeaderBytes + list;
  std::string front = kStart.str() + memberHeader("/", list) + number(count);
  for (uint32_t i = 0; i < count; ++i) front += number(static_cast<uint32_t>(member));
  front += names + memberHeader(name + "/", (*buffer)->getBufferSize());
  Content archive;
  archive.add(std::move(front));
  archive.addFile(object);
  archive.add((*buffer)->getBufferSize() % 2 != 0 ? "\n" : "");
  return archive;
}

}  // namespace mxc::driver

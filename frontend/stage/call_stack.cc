// Reads the DWARF line table with LLVM's symbolizer. A frame's address is that of the instruction after the call: one less lies in it.
#include "frontend/stage/call_stack.h"

#include <map>

#include "llvm/DebugInfo/Symbolize/Symbolize.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"

namespace mxc::frontend {

namespace {

// An absolute path as the user would write it: `source`, if it is that file; else relative, if it lies in the current folder.
std::string spelling(llvm::StringRef path, const std::string& source) {
  llvm::SmallString<256> whole(source), current;
  if (!llvm::sys::fs::make_absolute(whole)) llvm::sys::path::remove_dots(whole, /*remove_dot_dot=*/true);
  llvm::SmallString<256> given(path);
  llvm::sys::path::remove_dots(given, /*remove_dot_dot=*/true);
  if (given == whole) return source;
  if (!llvm::sys::fs::current_path(current) && given.starts_with(current) && given.substr(current.size()).starts_with("/"))
    return given.substr(current.size() + 1).str();
  return given.str().str();
}

// `["file", line, column]`, or nothing if the address has no line.
std::string placeOf(llvm::symbolize::LLVMSymbolizer& symbolizer, const std::string& object, const std::string& source,
                    uint64_t address) {
  auto line = symbolizer.symbolizeCode(object, {address - 1, llvm::object::SectionedAddress::UndefSection});
  if (!line) {
    llvm::consumeError(line.takeError());
    return "";
  }
  if (line->Line == 0 || line->FileName == llvm::DILineInfo::BadString) return "";
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(
      llvm::json::Array{spelling(line->FileName, source), line->Line, line->Column});
  return text;
}

}  // namespace

std::string nameCallers(const std::string& json, const std::string& object, const std::string& source) {
  constexpr llvm::StringRef kKey = ", \"frames\": [";
  llvm::symbolize::LLVMSymbolizer::Options options;
  options.Demangle = false;
  options.PathStyle = llvm::DILineInfoSpecifier::FileLineInfoKind::AbsoluteFilePath;
  llvm::symbolize::LLVMSymbolizer symbolizer(options);
  std::map<uint64_t, std::string> known;
  std::string out;
  llvm::StringRef rest = json;
  for (size_t at; (at = rest.find(kKey)) != llvm::StringRef::npos;) {
    out += rest.take_front(at);
    auto [addresses, after] = rest.drop_front(at + kKey.size()).split(']');
    std::string callers;
    for (llvm::StringRef text : llvm::split(addresses, ", ")) {
      uint64_t address = 0;
      if (text.getAsInteger(10, address)) continue;
      auto [place, fresh] = known.try_emplace(address);
      if (fresh) place->second = placeOf(symbolizer, object, source, address);
      if (!place->second.empty()) callers += (callers.empty() ? "" : ", ") + place->second;
    }
    if (!callers.empty()) out += ", \"callers\": [" + callers + "]";
    rest = after;
  }
  return out + rest.str();
}

}  // namespace mxc::frontend

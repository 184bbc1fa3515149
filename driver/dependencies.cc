// See dependencies.h.
#include "driver/dependencies.h"

#include "llvm/Support/Path.h"

namespace mxc::driver {

using frontend::Fault;

namespace {

bool isSymbolJson(const CompileOptions& options) { return llvm::sys::path::extension(options.source) == ".json"; }

// A rule, as compilers write it, with one more file that the target depends on.
std::string withDependency(llvm::StringRef rule, llvm::StringRef file) {
  return rule.rtrim().str() + " \\\n  " + makeName(file) + "\n";
}

}  // namespace

std::string makeName(llvm::StringRef file) {
  std::string escaped;
  for (char c : file) escaped += c == ' ' || c == '#' ? std::string("\\") + c : c == '$' ? "$$" : std::string(1, c);
  return escaped;
}

std::string dependencyFile(const CompileOptions& options, const std::string& output) {
  if (!options.dependency_file.empty()) return options.dependency_file;
  llvm::SmallString<128> name(output == "-" ? llvm::sys::path::stem(options.source) : llvm::StringRef(output));
  llvm::sys::path::replace_extension(name, "d");
  return name.str().str();
}

std::string dependencyTarget(const CompileOptions& options, const std::string& output) {
  return options.dependency_target.empty() ? makeName(output) : options.dependency_target;
}

std::string rawRule(const std::string& work_folder) { return work_folder + "/model.d"; }

void addDependencies(const CompileOptions& options, const std::string& output, const WorkDirectory& work, OutputSet& outputs,
                     DiagnosticPrinter& printer) {
  std::string rule = dependencyTarget(options, output) + ": " + makeName(options.source) + "\n";
  if (!isSymbolJson(options)) {
    auto raw = readWholeFile(rawRule(work.path()));
    if (!raw) return printer.error(Fault::internal, "the host compiler wrote no dependencies: " + llvm::toString(raw.takeError()));
    rule = std::move(*raw);
  }
  outputs.add(dependencyFile(options, output), options.params.empty() ? rule : withDependency(rule, options.params));
}

std::vector<std::string> filesOfRule(llvm::StringRef rule) {
  std::vector<std::string> words(1), files;
  for (size_t i = 0; i < rule.size(); ++i) {
    char c = rule[i], next = i + 1 < rule.size() ? rule[i + 1] : '\0';
    if (c == '\\' && (next == ' ' || next == '#')) words.back() += rule[++i];
    else if (c == '\\' && next == '\n') words.emplace_back(), ++i;
    else if (c == '$' && next == '$') words.back() += rule[++i];
    else if (c == ' ' || c == '\n') words.emplace_back();
    else words.back() += c;
  }
  for (std::string& word : words)
    if (!word.empty() && word.back() != ':') files.push_back(std::move(word));
  return files;
}

}  // namespace mxc::driver

// Compiles, finds the model, runs it, and turns whatever went wrong into a diagnostic: see stage.h.
#include "frontend/stage/stage.h"

#include <string.h>

#include <algorithm>
#include <fstream>

#include "frontend/stage/call_stack.h"
#include "frontend/stage/open_symbols.h"
#include "frontend/stage/process.h"
#include "frontend/stage/progress.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

namespace mxc::frontend {

namespace {

constexpr llvm::StringRef kStagePrefix = "mxc_stage_";
constexpr uint64_t kRoomForStaging = 16 << 20;  // bytes; a model's shared object takes one to three million

bool fail(const DiagnosticSink& sink, SourcePlace place, std::string message, Fault fault = Fault::input) {
  Diagnostic diagnostic;
  diagnostic.fault = fault;
  diagnostic.place = std::move(place);
  diagnostic.message = std::move(message);
  sink(diagnostic);
  return false;
}

std::string objectPath(const StageOptions& options) { return options.work_directory + "/model.so"; }
std::string resultPath(const StageOptions& options) { return options.work_directory + "/model.json"; }
std::string progressPath(const StageOptions& options) { return options.work_directory + "/progress"; }

std::vector<std::string> compileCommand(const StageOptions& options) {
  std::vector<std::string> command = {options.host_compiler, "-std=c++20", "-O0", "-g1", "-fPIC", "-shared", "-Wl,-z,lazy", "-I",
                                      options.include_directory};
  if (!options.color.empty()) command.push_back("-fdiagnostics-color=" + options.color);
  if (!options.dependencies.empty())
    command.insert(command.end(), {"-MD", "-MF", options.dependencies, "-MT", options.dependency_target});
  for (const std::string& define : options.defines) command.push_back("-D" + define);
  command.insert(command.end(), {"-x", "c++", options.source, "-o", objectPath(options)});
  return command;
}

std::vector<std::string> runCommand(const StageOptions& options, const std::string& model) {
  std::vector<std::string> command = {options.runner, objectPath(options), model, resultPath(options), progressPath(options)};
  for (const auto& [name, size] : options.dims) command.push_back(name + "=" + std::to_string(size));
  return command;
}

bool compileModel(const StageOptions& options, const DiagnosticSink& sink) {
  ProcessResult result = runProcess(compileCommand(options), {.stdout_to_stderr = true, .verbose = options.verbose});
  SourcePlace file{options.source};
  if (!result.started) return fail(sink, {}, "cannot run the host compiler '" + options.host_compiler + "': " + result.error);
  if (result.signal) return fail(sink, file, std::string("the host compiler was ended by ") + strsignal(result.signal));
  if (!result.exit_code) return true;
  // Without room for its files the compiler fails whatever the model is.
  if (auto space = llvm::sys::fs::disk_space(options.work_directory); space && space->available < kRoomForStaging)
    return fail(sink, {}, "the host C++ compiler failed (see above): only " + std::to_string(space->available >> 10) +
                              " KiB are free for intermediate files in " + options.work_directory + " (TMPDIR chooses another place)");
  return fail(sink, file, "the host C++ compiler rejects this file (see above)");
}

// Reads the symbols that a shared object exports.
SourceFile lookInto(const std::string& object) {
  SourceFile found;
  auto buffer = llvm::MemoryBuffer::getFile(object);
  if (!buffer) return found;
  auto file = llvm::object::ObjectFile::createObjectFile(**buffer);
  if (!file) {
    llvm::consumeError(file.takeError());
    return found;
  }
  auto* elf = llvm::dyn_cast<llvm::object::ELFObjectFileBase>(file->get());
  if (!elf) return found;
  for (llvm::object::ELFSymbolRef symbol : elf->getDynamicSymbolIterators()) {
    auto name = symbol.getName();
    auto flags = symbol.getFlags();
    if (!name || !flags) {
      if (!name) llvm::consumeError(name.takeError());
      if (!flags) llvm::consumeError(flags.takeError());
      continue;
    }
    if (*flags & llvm::object::SymbolRef::SF_Undefined) continue;
    if (name->starts_with(kStagePrefix)) found.models.push_back(name->substr(kStagePrefix.size()).str());
    found.has_main |= *name == "main";
  }
  std::sort(found.models.begin(), found.models.end());
  return found;
}

SourcePlace readPlace(const llvm::json::Value* json) {
  SourcePlace place;
  const llvm::json::Array* list = json ? json->getAsArray() : nullptr;
  if (!list || list->size() != 3) return place;
  place.file = (*list)[0].getAsString().value_or("").str();
  place.line = static_cast<uint32_t>((*list)[1].getAsInteger().value_or(0));
  place.column = static_cast<uint32_t>((*list)[2].getAsInteger().value_or(0));
  return place;
}

// The innermost caller that stands in the source itself, rather than in a header of mxc's; those within it leave the list, and so does it.
void takePlace(std::vector<SourcePlace>& callers, const std::string& source, SourcePlace& place) {
  auto own = std::find_if(callers.begin(), callers.end(), [&](const SourcePlace& caller) { return caller.file == source; });
  if (own == callers.end()) own = callers.begin();
  place = *own;
  callers.erase(callers.begin(), own + 1);
}

// What mxc-stage wrote when it exited with 1.
bool reportThrown(const StageOptions& options, const std::string& text, const std::string& object, const Progress& progress,
                  const DiagnosticSink& sink) {
  auto json = llvm::json::parse(nameCallers(text, object, options.source));
  if (!json) {
    llvm::consumeError(json.takeError());
    return fail(sink, {options.source}, "the model's code ended the staging process with exit code 1");
  }
  const llvm::json::Object& error = *json->getAsObject();
  Diagnostic diagnostic;
  diagnostic.message = error.getString("error").value_or("").str();
  diagnostic.place = readPlace(error.get("at"));
  std::vector<SourcePlace> callers;
  if (const llvm::json::Array* list = error.getArray("callers"))
    for (const llvm::json::Value& caller : *list) callers.push_back(readPlace(&caller));
  // What makes the global variables of a file has no line of its own.
  if (progress.phase == Progress::loading && callers.size() > 1) callers.pop_back();
  if (diagnostic.place.file.empty() && !callers.empty()) takePlace(callers, options.source, diagnostic.place);
  if (diagnostic.place.file.empty()) diagnostic.place.file = options.source;
  diagnostic.word = error.getString("word").value_or("").str();
  if (auto note = error.getString("note"))
    diagnostic.notes.push_back({readPlace(error.get("note_at")), note->str(), diagnostic.word});
  for (const SourcePlace& caller : callers) diagnostic.notes.push_back({caller, "called from here", ""});
  sink(diagnostic);
  return false;
}

Progress readProgress(const std::string& path) {
  Progress progress{};
  std::ifstream(path, std::ios::binary).read(reinterpret_cast<char*>(&progress), sizeof progress);
  progress.op[sizeof progress.op - 1] = progress.file[sizeof progress.file - 1] = 0;
  return progress;
}

// A process that did not end by itself, or with an exit code of the model's own.
bool reportDeath(const StageOptions& options, const ProcessResult& result, const Progress& progress, const DiagnosticSink& sink) {
  Diagnostic diagnostic;
  diagnostic.place.file = options.source;
  if (result.timed_out) {
    diagnostic.message = "staging did not end within " + std::to_string(options.time_limit_seconds) + " s (--stage-time-limit)";
  } else if (result.signal) {
    diagnostic.message = std::string("staging crashed: ") + strsignal(result.signal);
  } else {
    diagnostic.message = "the model's code ended the staging process with exit code " + std::to_string(result.exit_code);
  }
  if (progress.line) {
    diagnostic.place = {progress.file, progress.line, progress.column};
    diagnostic.word = progress.op;
    diagnostic.message += "; the last operation before that was " + std::string(progress.op);
  } else {
    diagnostic.message += progress.phase == Progress::loading ? "; it was loading the file" : "; no operation had been made";
  }
  sink(diagnostic);
  return false;
}

// Adds what the model has loaded, one path a line of a file that mxc-stage leaves, to the rule for make.
void addLoadedFiles(const StageOptions& options) {
  if (options.dependencies.empty()) return;
  std::ifstream loaded(resultPath(options) + ".loaded");
  std::ofstream rule(options.dependencies, std::ios::app);
  for (std::string path; std::getline(loaded, path);) rule << options.dependency_target << ": " << path << "\n";
}

std::string readFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

std::optional<SourceFile> compileSource(const StageOptions& options, const DiagnosticSink& sink) {
  if (bool folder = llvm::sys::fs::is_directory(options.source); folder || !std::ifstream(options.source)) {
    fail(sink, {options.source}, strerror(folder ? EISDIR : errno));
    return std::nullopt;
  }
  if (!compileModel(options, sink)) return std::nullopt;
  weakenOpenSymbols(objectPath(options));
  return lookInto(objectPath(options));
}

std::optional<std::string> chooseModel(const StageOptions& options, const SourceFile& file, const std::string& wanted,
                                       const DiagnosticSink& sink) {
  std::string list;
  for (const std::string& model : file.models) list += (list.empty() ? "" : ", ") + model;
  SourcePlace place{options.source};
  if (file.models.empty()) {
    fail(sink, place, "there is no model in this file: write MXC_MODEL(name) { ... }");
  } else if (wanted.empty() && file.models.size() == 1) {
    return file.models[0];
  } else if (wanted.empty()) {
    fail(sink, place, "there are several models in this file: choose with --model: " + list, Fault::usage);
  } else if (std::find(file.models.begin(), file.models.end(), wanted) == file.models.end()) {
    fail(sink, place, "there is no model '" + wanted + "' in this file; there is: " + list, Fault::usage);
  } else {
    return wanted;
  }
  return std::nullopt;
}

std::optional<std::string> stage(const StageOptions& options, const std::string& model, const DiagnosticSink& sink) {
  std::string object = objectPath(options), page = progressPath(options);
  std::ofstream(page, std::ios::binary) << std::string(sizeof(Progress), '\0');
  ProcessResult result = runProcess(runCommand(options, model), {.time_limit_seconds = options.time_limit_seconds,
                                                                 .memory_limit_bytes = options.memory_limit_bytes,
                                                                 .stdout_to_stderr = true,
                                                                 .end_descendants = true,
                                                                 .verbose = options.verbose});
  Progress progress = readProgress(page);
  std::string text = readFile(resultPath(options));
  if (!result.started) {
    fail(sink, {}, "cannot run '" + options.runner + "': " + result.error, Fault::internal);
  } else if (result.timed_out || result.signal || result.exit_code > 1) {
    reportDeath(options, result, progress, sink);
  } else if (result.exit_code == 1) {
    reportThrown(options, text, object, progress, sink);
  } else if (progress.phase != Progress::done) {
    reportDeath(options, result, progress, sink);
  } else {
    addLoadedFiles(options);
    return nameCallers(text, object, options.source);
  }
  return std::nullopt;
}

std::vector<std::vector<std::string>> stageCommands(const StageOptions& options, const std::vector<std::string>& models) {
  std::vector<std::vector<std::string>> commands = {compileCommand(options)};
  for (const std::string& model : models) commands.push_back(runCommand(options, model));
  return commands;
}

}  // namespace mxc::frontend

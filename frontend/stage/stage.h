// Staging: model.cpp to symbol JSON. The host compiler makes a shared object of the file; for each model a process of its own
// (mxc-stage) loads it and calls the model's function under a time and a memory limit.
//
// Whatever the model's code does, mxc goes on: an exception, a crash or an endless loop becomes a diagnostic at the last operation
// that was made. What the code prints to its standard output goes to standard error.
//
// A file may hold a `main` beside its models. It is no part of staging, and need not be able to run: the shared object leaves open what
// only the runtime of a program defines. A global variable, or a model, that calls it all the same is an error at its line.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "frontend/diagnostic.h"

namespace mxc::frontend {

struct StageOptions {
  std::string source;                   // path of model.cpp
  std::vector<std::string> defines;     // "name" or "name=value", for the preprocessor
  std::map<std::string, int64_t> dims;  // "batch" -> 1
  std::string host_compiler = "c++";
  std::string include_directory;  // holds mxc/mxc.h
  std::string runner;             // path of mxc-stage
  std::string work_directory;     // exists; model.so and the like are left here
  int time_limit_seconds = 10;    // of staging; compiling is not limited
  int64_t memory_limit_bytes = int64_t{4} << 30;
  bool verbose = false;  // print the commands that are run to standard error
  std::string color;     // "always" or "never": what the host compiler is told; empty: it decides
  // A rule for make is left in the file `dependencies` (empty: none): `target` depends on the source, on what it includes and on
  // what it loads.
  std::string dependencies, dependency_target;
};

// What a source holds.
struct SourceFile {
  std::vector<std::string> models;  // names, in alphabetical order
  bool has_main = false;
};

// Makes the shared object, which `stage` needs, and looks into it. Diagnostics of the host compiler go to standard error as they are.
std::optional<SourceFile> compileSource(const StageOptions& options, const DiagnosticSink& sink);

// The model that is meant: the one called `wanted`, or, if that is empty, the only one.
std::optional<std::string> chooseModel(const StageOptions& options, const SourceFile& file, const std::string& wanted,
                                       const DiagnosticSink& sink);

// The symbol JSON (docs/symbol-json.md) of a model of the file.
std::optional<std::string> stage(const StageOptions& options, const std::string& model, const DiagnosticSink& sink);

// The commands that the two run, in order.
std::vector<std::vector<std::string>> stageCommands(const StageOptions& options, const std::vector<std::string>& models);

}  // namespace mxc::frontend

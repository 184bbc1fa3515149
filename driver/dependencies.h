// What an output depends on, as a rule for make (-MD), and as files that nothing may be written over.
#pragma once

#include <string>
#include <vector>

#include "driver/compile.h"
#include "driver/files.h"
#include "driver/output_set.h"

namespace mxc::driver {

// A file's name as it stands in a rule.
std::string makeName(llvm::StringRef file);

// Where the rule goes: -MF, or the output's name with .d.
std::string dependencyFile(const CompileOptions& options, const std::string& output);

// The target of the rule: -MT, or the output.
std::string dependencyTarget(const CompileOptions& options, const std::string& output);

// Where the host compiler and staging leave the rule of a model in C++.
std::string rawRule(const std::string& work_folder);

// The rule for `output`. Errors are in `printer`.
void addDependencies(const CompileOptions& options, const std::string& output, const WorkDirectory& work, OutputSet& outputs,
                     DiagnosticPrinter& printer);

// The files in such a rule, without its targets.
std::vector<std::string> filesOfRule(llvm::StringRef rule);

}  // namespace mxc::driver

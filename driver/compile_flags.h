// The command line of the verbs that compile: `mxc compile` and `mxc run`.
#pragma once

#include <string>
#include <vector>

#include "driver/compile.h"

namespace mxc::driver {

class CompileFlags {
 public:
  // Adds the flags that say what is compiled and how. Requires: `app` does not outlive this.
  explicit CompileFlags(CLI::App& app);
  CompileFlags(const CompileFlags&) = delete;
  CompileFlags& operator=(const CompileFlags&) = delete;

  // Adds those that say what is written and where.
  void addOutputs(CLI::App& app);

  // After parsing: makes `options` complete. False after an error, which has been printed.
  bool check(DiagnosticPrinter& printer);

  CompileOptions options;
  Color color = Color::automatic;

 private:
  // What the parser fills and check() reads.
  struct Raw {
    std::vector<std::string> dims, sets, train;
    std::string memory_limit;
    std::string dtype = "f32", emit = "exe", memory_plan = "both", memory_rules = "own", weights = "embed";
    int64_t stage_memory_mib = 4096;
  };
  Raw raw_;
};

}  // namespace mxc::driver

// mxc compile: from a model to a program, or to one of the forms between.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "driver/diagnostics.h"
#include "passes/pipeline.h"

namespace CLI {
class App;
}

namespace mxc::driver {

// The forms in which a model can be had, in the order of the compiler.
enum class Emit { graph, svg, mlir, plan, llvm, assembly, object, header, library, shared, executable };

struct CompileOptions {
  std::string source;  // model.cpp, or symbol JSON (.json)
  std::string output;  // empty: after the source; "-": standard output
  Emit emit = Emit::executable;
  std::string model;                    // which of several; empty: the only one
  int level = 2;                        // -O
  std::string target;                   // --target, one of target.h; empty: this machine's
  std::string cpu = "native";           // -mcpu
  std::string params;                   // --params: the checkpoint whose weights go into a library
  bool weights_beside = false;          // --weights=file
  bool multiversion = false;            // a library for several levels of x86-64
  bool train = false;                   // --train: a library that trains
  std::vector<std::string> trained;     // layers and parameters that it trains, as the user names them; empty: all
  std::string optimizer;                // as parseOptimizer reads it; empty: the model's
  bool f64 = false;                     // --dtype=f64
  std::vector<std::string> defines;     // -D
  std::map<std::string, int64_t> dims;  // --dim
  std::vector<std::map<std::string, int64_t>> sets;  // --dims: each with what `dims` says; empty: one, of `dims` alone
  std::string host_compiler = "c++";
  int stage_time_limit_seconds = 10;
  int64_t stage_memory_limit_bytes = int64_t{4} << 30;
  int64_t memory_limit_bytes = 0;       // --memory-limit; 0: none
  std::string report, report_file;      // --report=memory[,json|,svg]; file empty: standard output
  MemoryPlan memory_plan = MemoryPlan::both;
  // An analysis by the MXNet paper's rules (passes/paper_memory.h) is the output, in place of what `emit` says.
  bool memory_by_paper = false;
  bool verify_plan = false;             // tell what the verifier of the memory plan has looked at
  bool check_finite = false;            // every result is stored, and training looks at it
  bool dependencies = false;            // -MD
  std::string dependency_file, dependency_target;  // -MF, -MT; empty: after the output
  bool show_commands = false;           // -###: print what would be run, and do nothing
  Color color = Color::automatic;       // also of the tools that are run
  bool verbose = false, time_passes = false, save_temps = false, print_ir = false;
};

// Compiles and writes the output. Errors are in `printer`; after one, no file has been written or changed.
void compile(const CompileOptions& options, DiagnosticPrinter& printer);

}  // namespace mxc::driver

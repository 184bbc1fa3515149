// The pipeline: which passes run over a module, in which order and why. pipeline.cc is the map of the compiler.
//
// Every pass has a name, a reason, a timer and an off switch, and the verifier runs after it. A pass is a function of the module;
// what it needs to know beyond the module stands in PipelineOptions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/LogicalResult.h"

namespace llvm {
class raw_ostream;
}

namespace mxc {

// How values share memory. In place: a result may lie over an operand that dies there. Co-share: values whose lifetimes do not
// overlap may lie at the same place.
enum class MemoryPlan { naive, inplace, coshare, both };
const char* memoryPlanName(MemoryPlan plan);
std::optional<MemoryPlan> findMemoryPlan(llvm::StringRef name);

struct PipelineOptions {
  int64_t lanes = 16;                             // elements of f32 in a block of a packed layout
  MemoryPlan memoryPlan = MemoryPlan::both;
  int64_t memoryLimit = 0;                        // bytes of the whole program, for recompute; 0: none
  bool ownMain = false;                           // code of the user's own runs the model: @forward_backward is built, no loss is needed
  bool byShards = false;                          // several processes, or shards, may train it together: @gradients and @update are built
  bool library = false;                           // an embedded library: @infer is all, there need be no loss
  bool libraryTrains = false;                     // it has @train, too, and so there must be a loss
  std::vector<std::string> trained;               // the parameters that its training changes; empty: all
  bool smallStack = false;                        // the program's machine has a small one: no rows wait on it
  std::vector<std::string> disabled;              // names of passes that are switched off
  bool printAfterAll = false;                     // the module after each pass, to `log`
  bool timePasses = false;                        // milliseconds of each pass, to `log`
  llvm::raw_ostream* log = nullptr;               // Requires: set if one of the two above is
};

using PassFn = mlir::LogicalResult (*)(mlir::ModuleOp, const PipelineOptions&);

struct PassEntry {
  const char* name;
  const char* reason;
  PassFn run;
  PassFn off;  // runs in its place when it is switched off; null: nothing does; `run` itself: it cannot be switched off
};

// All passes in the order in which they run.
llvm::ArrayRef<PassEntry> allPasses();
const PassEntry* findPass(llvm::StringRef name);

// Runs all passes. Fails after a diagnostic: the first pass that fails, IR that does not verify after a pass (a bug of that pass,
// named in a note), a name in `disabled` that is no pass or that cannot be switched off.
mlir::LogicalResult runPipeline(mlir::ModuleOp module, const PipelineOptions& options);
// Runs one pass with its timer and verifier.
mlir::LogicalResult runPass(const PassEntry& pass, mlir::ModuleOp module, const PipelineOptions& options);

}  // namespace mxc

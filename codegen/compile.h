// From planned functions to a program: kernels as machine code, the Plan, and the symbol that ties them.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "codegen/lower_kernels.h"
#include "mlir/IR/BuiltinOps.h"

namespace mxc::codegen {

// What the Plan tells people about its origin.
struct ProgramFacts {
  std::string source;    // model.cpp
  std::string compiler;  // "mxc 0.1.0"
  bool check_finite = false;  // the program is to look for NaN and infinity in training
  std::string symbol = "mxc_program";
  std::vector<std::pair<std::string, std::string>> more;  // keys and values, behind the others
};

struct CompiledProgram {
  std::string plan;                         // the blob (plan.h)
  std::string symbol;                       // of the plan::Program
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::TargetMachine> target;
  std::unique_ptr<llvm::Module> module;     // kernels, the blob, and the plan::Program; declared after its context

  std::string emit(Format format) { return codegen::emit(*module, *target, format); }
};

// Compiles the functions of `module`, which has been through the whole pipeline. Identical kernels are emitted once.
// Fails with a diagnostic.
mlir::FailureOr<CompiledProgram> compileProgram(mlir::ModuleOp module, const TargetOptions& target, const ProgramFacts& facts);

// The Plan of the program that compileProgram would make, without its machine code.
mlir::FailureOr<std::string> planOf(mlir::ModuleOp module, const TargetOptions& target, const ProgramFacts& facts);

}  // namespace mxc::codegen

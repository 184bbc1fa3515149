// From kernels in MLIR to machine code.
//
// A kernel is `func.func @name(%args: !llvm.ptr, %n: i64, %begin: i64, %end: i64)` whose body uses scf, cf, arith, math, vector
// (1-D), ub, and llvm.getelementptr / llvm.load / llvm.store for memory. `lowerToLLVM` makes LLVM IR of it and runs our own
// optimisation pipeline: no unrolling, no auto-vectoriser, no fast-math, no contraction of a * b + c, because kernels come with
// their vectors and register tiles and their bits must not depend on the optimiser. `emit` then runs code generation only, so
// that other globals (the Plan, the kernel table) can be added to the module in between.
//
// math: exp, log, log1p, expm1, tanh, erf on f32 become polynomials (the same bits for scalars and vectors; relative
// error below 6e-7; log of a subnormal number is that of the smallest normal one); everything else that has no instruction (f64, pow,
// sin, cos) is a call to libm for each element.
#pragma once

#include <memory>
#include <string>

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

namespace mxc::codegen {

struct TargetOptions {
  std::string triple;          // empty: this machine
  std::string cpu = "native";  // "native": this machine's CPU with the features found on it; else LLVM's name
  int optLevel = 2;            // 0: no optimisation at all; 1..3
  std::string features = "";   // beside the CPU's own, as LLVM has them: "+f,+d"
  std::string abi = "";        // LLVM's name; empty: the triple's own
};

enum class Format { llvm, assembly, object };

// Registers the dialects that kernels use and their translation to LLVM IR.
void registerKernelDialects(mlir::DialectRegistry& registry);

// Position-independent code where there is an operating system. Emits an error at `loc` if the triple or the CPU is not known.
mlir::FailureOr<std::unique_ptr<llvm::TargetMachine>> makeTargetMachine(mlir::Location loc, const TargetOptions& options);

// Lowers `kernels` (which is changed to the llvm dialect) and optimises for `target`. Loads and stores of vectors that state no
// alignment are given that of their element. Fails with a diagnostic if an op has no lowering.
mlir::FailureOr<std::unique_ptr<llvm::Module>> lowerToLLVM(mlir::ModuleOp kernels, llvm::LLVMContext& context,
                                                           llvm::TargetMachine& target);

// The text of the LLVM IR or of the assembly, or the bytes of an object file.
std::string emit(llvm::Module& module, llvm::TargetMachine& target, Format format);
// The same into a stream: what the assembler fills with zeros (codegen/library.h) is then never in memory.
void emit(llvm::Module& module, llvm::TargetMachine& target, Format format, llvm::raw_pwrite_stream& stream);

}  // namespace mxc::codegen

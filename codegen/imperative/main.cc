// mxc-imperative: writes the object file with NDArray's kernels for one level of processor. Part of the build.
//
//   mxc-imperative CPU LEVEL OUTPUT      mxc-imperative x86-64-v3 x86_64_v3 kernels.o
//
// CPU: LLVM's name, or "native". LEVEL ends the names of the symbols (kernel_table.h). An OUTPUT that ends in .ll is LLVM IR.
#include <fstream>
#include <string>

#include "codegen/imperative/kernel_table.h"
#include "ir/mx.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/IR/MLIRContext.h"

namespace {

int run(const std::string& cpu, const std::string& level, const std::string& output) {
  mlir::DialectRegistry registry;
  mxc::codegen::registerKernelDialects(registry);
  registry.insert<mxc::mx::MxDialect>();
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  mxc::codegen::TargetOptions options;
  options.cpu = cpu;
  auto target = mxc::codegen::makeTargetMachine(mlir::UnknownLoc::get(&context), options);
  if (failed(target)) return 1;
  llvm::LLVMContext llvmContext;
  auto module = mxc::codegen::buildKernelTable(context, llvmContext, **target, level);
  if (failed(module)) return 1;
  bool text = llvm::StringRef(output).ends_with(".ll");
  std::ofstream file(output, std::ios::binary);
  file << mxc::codegen::emit(**module, **target, text ? mxc::codegen::Format::llvm : mxc::codegen::Format::object);
  file.close();
  if (file.good()) return 0;
  llvm::errs() << "mxc-imperative: cannot write " << output << "\n";
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4) return run(argv[1], argv[2], argv[3]);
  llvm::errs() << "usage: mxc-imperative CPU LEVEL OUTPUT\n";
  return 2;
}

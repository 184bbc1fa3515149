#include "driver/paper_memory_text.h"

#include "llvm/Support/FormatVariadic.h"
#include "passes/paper_memory.h"

namespace mxc::driver {

using passes::PaperMemory;
using passes::PaperPass;

namespace {

std::string mebibytes(int64_t bytes) { return llvm::formatv("({0:F2} MiB)", static_cast<double>(bytes) / (1 << 20)).str(); }

std::string line(const char* what, int64_t forward, int64_t training) {
  return llvm::formatv("  {0,-28}{1,12} {2,-14}{3,12} {4}\n", what, forward, mebibytes(forward), training, mebibytes(training)).str();
}

}  // namespace

std::string paperMemoryText(mlir::ModuleOp module, MemoryPlan plan) {
  auto memory = [&](PaperPass pass, BackwardReads reads) { return passes::planByPaper(module, pass, plan, reads); };
  PaperMemory all = memory(PaperPass::forward, BackwardReads::cudnn), allTraining = memory(PaperPass::training, BackwardReads::cudnn);
  PaperMemory least = memory(PaperPass::forward, BackwardReads::minimal), leastTraining = memory(PaperPass::training, BackwardReads::minimal);
  std::string text = llvm::formatv("bytes of internal variables by the MXNet paper's rules, plan '{0}'\n", memoryPlanName(plan)).str();
  text += llvm::formatv("  {0,-28}{1,12} {2,-14}{3,12}\n", "", "forward", "", "training").str();
  text += line("reads as cuDNN's", all.planned, allTraining.planned);
  text += line("minimal reads", least.planned, leastTraining.planned);
  text += line("minimal reads, alive at once", least.peakLive, leastTraining.peakLive);
  return text;
}

}  // namespace mxc::driver

#include "codegen/cpu/vector_unit.h"

#include "llvm/MC/MCSubtargetInfo.h"

namespace mxc::codegen {

VectorUnit vectorUnitOf(const llvm::TargetMachine& target) {
  if (!target.getTargetTriple().isX86()) return {16, 32};
  const llvm::MCSubtargetInfo& subtarget = *target.getMCSubtargetInfo();
  if (subtarget.checkFeatures("+avx512f")) return {64, 32};
  if (subtarget.checkFeatures("+avx")) return {32, 16};
  return {16, 16};
}

}  // namespace mxc::codegen

#include "codegen/cpu/contract.h"
namespace mxc::codegen {
bool emitContract(CpuKernelBuilder&, const Contract&) { return false; }
}

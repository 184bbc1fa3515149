// Loads an object file that mxc made into this process, for tests.
#pragma once

#include <string>

#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "runtime/core/plan.h"

namespace mxc {

class Jit {
 public:
  // `object`: the bytes of a relocatable object. libm is found in this process.
  explicit Jit(const std::string& object) {
    llvm::InitializeNativeTarget();
    jit_ = llvm::cantFail(llvm::orc::LLJITBuilder().create());
    jit_->getMainJITDylib().addGenerator(
        llvm::cantFail(llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(jit_->getDataLayout().getGlobalPrefix())));
    llvm::cantFail(jit_->addObjectFile(llvm::MemoryBuffer::getMemBufferCopy(object, "kernels")));
  }
  template <typename T>
  T* address(llvm::StringRef name) {
    return llvm::cantFail(jit_->lookup(name)).toPtr<T*>();
  }
  plan::Kernel kernel(llvm::StringRef name) { return llvm::cantFail(jit_->lookup(name)).toPtr<plan::Kernel>(); }

 private:
  std::unique_ptr<llvm::orc::LLJIT> jit_;
};

}  // namespace mxc

// See target.h. runtime/embed/CMakeLists.txt names the same targets.
#include "driver/target.h"

#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

namespace mxc::driver {

namespace {

constexpr Target kTargets[] = {
    {"x86_64-linux-gnu", "x86_64-unknown-linux-gnu", "x86-64", "", "", true, true, true},
    {"aarch64-linux-gnu", "aarch64-unknown-linux-gnu", "generic", "", "", true, true, true},
    {"riscv64-linux-gnu", "riscv64-unknown-linux-gnu", "generic-rv64", "+m,+a,+f,+d,+c", "lp64d", true, true, true},
    {"wasm32", "wasm32-unknown-unknown", "generic", "+simd128,+bulk-memory", "", false, false, true},
    {"thumbv7em-none-eabihf", "thumbv7em-none-unknown-eabihf", "cortex-m4", "", "", false, true, false},
};

}  // namespace

std::vector<std::string> targetNames() {
  std::vector<std::string> names;
  for (const Target& target : kTargets) names.emplace_back(target.name);
  return names;
}

const Target* findTarget(const std::string& name) {
  llvm::Triple host(llvm::sys::getDefaultTargetTriple());
  for (const Target& target : kTargets) {
    llvm::Triple triple(target.triple);
    bool own = name.empty() && triple.getArch() == host.getArch() && triple.getOS() == host.getOS();
    if (own || name == target.name) return &target;
  }
  return nullptr;
}

codegen::TargetOptions targetOptions(const CompileOptions& options) {
  codegen::TargetOptions made;
  made.cpu = options.cpu;
  made.optLevel = options.level;
  const Target* target = options.target.empty() && !options.multiversion ? nullptr : findTarget(options.target);
  if (!target) return made;
  made.triple = target->triple;
  if (made.cpu == "native") made.cpu = target->cpu;
  made.features = target->features;
  made.abi = target->abi;
  return made;
}

std::vector<codegen::TargetOptions> variantOptions(const CompileOptions& options) {
  std::vector<codegen::TargetOptions> variants;
  if (!options.multiversion) return variants;
  for (const char* cpu : {"x86-64-v3", "x86-64-v4"}) {
    variants.push_back(targetOptions(options));
    variants.back().cpu = cpu;
  }
  return variants;
}

}  // namespace mxc::driver

// MLIR to LLVM dialect in small steps, translation, optimisation. The header says what is promised.
#include "codegen/lower_kernels.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"

#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/ADCE.h"
#include "llvm/Transforms/Scalar/DeadStoreElimination.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/IndVarSimplify.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/LoopRotation.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"

using namespace mlir;

namespace mxc::codegen {
namespace {

// Functions with neither an instruction nor a polynomial become calls; f32 ones are gone before if they have a polynomial.
LogicalResult callLibm(ModuleOp kernels) {
  MLIRContext* context = kernels.getContext();
  RewritePatternSet patterns(context);
  populateMathToLibmConversionPatterns(patterns);
  ConversionTarget target(*context);
  target.markUnknownOpDynamicallyLegal([](Operation*) { return true; });
  target.addIllegalOp<math::ExpOp, math::Exp2Op, math::ExpM1Op, math::LogOp, math::Log2Op, math::Log10Op, math::Log1pOp, math::TanhOp,
                      math::ErfOp, math::SinOp, math::CosOp, math::TanOp, math::SinhOp, math::CoshOp, math::AsinOp, math::AcosOp,
                      math::AtanOp, math::Atan2Op, math::AsinhOp, math::AcoshOp, math::AtanhOp, math::PowFOp, math::CbrtOp>();
  return applyPartialConversion(kernels, target, std::move(patterns));
}

// MLIR's polynomials hold a few ulp over the whole range for these; its sine and cosine do not for large arguments.
LogicalResult approximate(ModuleOp kernels) {
  MLIRContext* context = kernels.getContext();
  SmallVector<Operation*> ops;
  kernels.walk([&](Operation* op) {
    if (isa<math::ExpOp, math::LogOp, math::Log1pOp, math::ExpM1Op, math::TanhOp, math::ErfOp>(op)) ops.push_back(op);
  });
  RewritePatternSet patterns(context);
  populateMathPolynomialApproximationPatterns(patterns);
  GreedyRewriteConfig config;
  config.strictMode = GreedyRewriteStrictness::ExistingAndNewOps;
  (void)applyOpPatternsAndFold(ops, std::move(patterns), config);
  return success();
}

// No processor but the newest rounds to bf16: it becomes arithmetic on the bits.
LogicalResult expandSmallFloats(ModuleOp kernels) {
  RewritePatternSet patterns(kernels.getContext());
  arith::populateExpandBFloat16Patterns(patterns);
  ConversionTarget target(*kernels.getContext());
  target.markUnknownOpDynamicallyLegal([](Operation*) { return true; });
  target.addDynamicallyLegalOp<arith::ExtFOp>([](arith::ExtFOp op) { return !getElementTypeOrSelf(op.getIn().getType()).isBF16(); });
  target.addDynamicallyLegalOp<arith::TruncFOp>([](arith::TruncFOp op) { return !getElementTypeOrSelf(op.getType()).isBF16(); });
  return applyPartialConversion(kernels, target, std::move(patterns));
}

// One step to the llvm dialect for all that is left after scf.
LogicalResult convertToLLVMDialect(ModuleOp kernels) {
  MLIRContext* context = kernels.getContext();
  {
    RewritePatternSet patterns(context);
    vector::populateVectorBroadcastLoweringPatterns(patterns);
    if (failed(applyPatternsAndFoldGreedily(kernels, std::move(patterns)))) return failure();
  }
  LowerToLLVMOptions options(context);
  LLVMTypeConverter types(context, options);
  RewritePatternSet patterns(context);
  arith::populateArithToLLVMConversionPatterns(types, patterns);
  populateMathToLLVMConversionPatterns(types, patterns);
  cf::populateControlFlowToLLVMConversionPatterns(types, patterns);
  populateFuncToLLVMConversionPatterns(types, patterns);
  populateVectorToLLVMConversionPatterns(types, patterns);
  ub::populateUBToLLVMConversionPatterns(types, patterns);
  LLVMConversionTarget target(*context);
  target.addLegalOp<ModuleOp>();
  return applyFullConversion(kernels, target, std::move(patterns));
}

// A vector in memory is only as aligned as its elements: tensors start at 64 bytes, rows need not.
void alignToElements(ModuleOp kernels) {
  auto alignment = [](Type type) -> uint64_t {
    auto v = dyn_cast<VectorType>(type);
    return v ? std::max<uint64_t>(1, v.getElementTypeBitWidth() / 8) : 0;
  };
  kernels.walk([&](Operation* op) {
    if (auto load = dyn_cast<LLVM::LoadOp>(op)) {
      if (uint64_t a = alignment(load.getType()); a && !load.getAlignment()) load.setAlignment(a);
    } else if (auto store = dyn_cast<LLVM::StoreOp>(op)) {
      if (uint64_t a = alignment(store.getValue().getType()); a && !store.getAlignment()) store.setAlignment(a);
    }
  });
}

LogicalResult runCleanup(ModuleOp kernels) {
  PassManager passes(kernels.getContext());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  passes.addPass(createLoopInvariantCodeMotionPass());
  return passes.run(kernels);
}

LogicalResult runScfToCf(ModuleOp kernels) {
  PassManager passes(kernels.getContext());
  passes.addPass(createConvertSCFToCFPass());
  return passes.run(kernels);
}

void setAttributes(llvm::Module& module, llvm::TargetMachine& target) {
  for (llvm::Function& f : module) {
    f.addFnAttr(llvm::Attribute::NoUnwind);
    if (f.isDeclaration()) continue;
    f.addFnAttr("target-cpu", target.getTargetCPU());
    f.addFnAttr("target-features", target.getTargetFeatureString());
    f.addFnAttr("prefer-vector-width", "512");
    f.addFnAttr("no-trapping-math", "true");
  }
}

// What brings addresses and control flow into shape and leaves the arithmetic as it was written.
void optimise(llvm::Module& module, llvm::TargetMachine& target) {
  llvm::LoopAnalysisManager lam;
  llvm::FunctionAnalysisManager fam;
  llvm::CGSCCAnalysisManager cgam;
  llvm::ModuleAnalysisManager mam;
  llvm::PassBuilder builder(&target);
  builder.registerModuleAnalyses(mam);
  builder.registerCGSCCAnalyses(cgam);
  builder.registerFunctionAnalyses(fam);
  builder.registerLoopAnalyses(lam);
  builder.crossRegisterProxies(lam, fam, cgam, mam);

  llvm::FunctionPassManager f;
  f.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  f.addPass(llvm::EarlyCSEPass());
  f.addPass(llvm::SimplifyCFGPass());
  f.addPass(llvm::InstCombinePass());
  llvm::LoopPassManager loops;
  loops.addPass(llvm::LoopRotatePass());
  loops.addPass(llvm::LICMPass(llvm::LICMOptions()));
  f.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(loops), /*UseMemorySSA=*/true));
  f.addPass(llvm::InstCombinePass());
  f.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  f.addPass(llvm::ADCEPass());
  f.addPass(llvm::SimplifyCFGPass());
  llvm::ModulePassManager m;
  m.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(f)));
  m.run(module, mam);
}

}  // namespace

void registerKernelDialects(DialectRegistry& registry) {
  registry.insert<arith::ArithDialect, math::MathDialect, scf::SCFDialect, cf::ControlFlowDialect, func::FuncDialect, vector::VectorDialect,
                  ub::UBDialect, LLVM::LLVMDialect>();
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
}

FailureOr<std::unique_ptr<llvm::TargetMachine>> makeTargetMachine(Location loc, const TargetOptions& options) {
  llvm::InitializeAllTargetInfos();
  llvm::InitializeAllTargets();
  llvm::InitializeAllTargetMCs();
  llvm::InitializeAllAsmPrinters();
  llvm::InitializeAllAsmParsers();  // for the label of a library's weights
  std::string triple = options.triple.empty() ? llvm::sys::getDefaultTargetTriple() : options.triple, message;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, message);
  if (!target) return emitError(loc) << "unknown target '" << triple << "'";
  std::string cpu = options.cpu, features = options.features;
  if (cpu == "native") {
    if (!options.triple.empty() && llvm::Triple(triple).getArch() != llvm::Triple(llvm::sys::getDefaultTargetTriple()).getArch())
      return emitError(loc) << "cpu 'native' is not for target '" << triple << "'; name a cpu";
    cpu = llvm::sys::getHostCPUName().str();
    for (const auto& feature : llvm::sys::getHostCPUFeatures())
      features += (features.empty() ? "" : ",") + std::string(feature.second ? "+" : "-") + feature.first().str();
  }
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget(target->createMCSubtargetInfo(triple, "", ""));
  if (!cpu.empty() && !subtarget->isCPUStringValid(cpu)) return emitError(loc) << "unknown cpu '" << cpu << "' for target '" << triple << "'";
  llvm::TargetOptions machine;
  machine.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  machine.NoTrappingFPMath = true;
  machine.MCOptions.ABIName = options.abi;
  auto relocation = llvm::Triple(triple).isOSLinux() ? llvm::Reloc::PIC_ : llvm::Reloc::Static;
  auto level = static_cast<llvm::CodeGenOptLevel>(std::clamp(options.optLevel, 0, 3));
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(triple, cpu, features, machine, relocation, std::nullopt, level));
}

FailureOr<std::unique_ptr<llvm::Module>> lowerToLLVM(ModuleOp kernels, llvm::LLVMContext& context, llvm::TargetMachine& target) {
  kernels.getContext()->loadDialect<arith::ArithDialect, math::MathDialect, cf::ControlFlowDialect, func::FuncDialect, vector::VectorDialect,
                                    LLVM::LLVMDialect>();
  if (failed(runCleanup(kernels)) || failed(approximate(kernels)) || failed(callLibm(kernels)) || failed(expandSmallFloats(kernels)) ||
      failed(runCleanup(kernels)) || failed(runScfToCf(kernels)) || failed(convertToLLVMDialect(kernels)))
    return failure();
  alignToElements(kernels);
  std::unique_ptr<llvm::Module> module = translateModuleToLLVMIR(kernels, context, "kernels");
  if (!module) return emitError(kernels.getLoc()) << "kernels cannot be translated to LLVM IR";
  module->setTargetTriple(target.getTargetTriple().str());
  module->setDataLayout(target.createDataLayout());
  if (target.isPositionIndependent()) module->setPICLevel(llvm::PICLevel::BigPIC);
  setAttributes(*module, target);
  if (target.getOptLevel() != llvm::CodeGenOptLevel::None) optimise(*module, target);
  return module;
}

void emit(llvm::Module& module, llvm::TargetMachine& target, Format format, llvm::raw_pwrite_stream& stream) {
  if (format == Format::llvm) return module.print(stream, nullptr);
  llvm::legacy::PassManager passes;
  auto type = format == Format::object ? llvm::CodeGenFileType::ObjectFile : llvm::CodeGenFileType::AssemblyFile;
  [[maybe_unused]] bool unsupported = target.addPassesToEmitFile(passes, stream, nullptr, type);
  assert(!unsupported && "every target of ours writes assembly and objects");
  passes.run(module);
}

std::string emit(llvm::Module& module, llvm::TargetMachine& target, Format format) {
  llvm::SmallString<0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  emit(module, target, format, stream);
  return bytes.str().str();
}

}  // namespace mxc::codegen

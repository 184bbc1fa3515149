// See generator.h.
#include "driver/generator.h"

#include "driver/aligned_plan.h"
#include "driver/hyper_limits.h"
#include "driver/library.h"
#include "driver/main_file.h"
#include "driver/memory_report.h"
#include "driver/target.h"
#include "driver/trained.h"
#include "frontend/import/import.h"
#include "ir/mx.h"
#include "llvm/Support/Path.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/pipeline.h"

namespace mxc::driver {

using frontend::Fault;

std::string printed(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  return text;
}

void requireError(DiagnosticPrinter& printer, const std::string& stage) {
  if (!printer.failed()) printer.error(Fault::internal, stage + " failed without saying why");
}

Imported importModel(const Model& model, const CompileOptions& options, DiagnosticPrinter& printer) {
  Imported imported;
  imported.context = std::make_unique<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED);
  imported.context->loadDialect<mx::MxDialect, mlir::func::FuncDialect>();
  imported.handler = showMlirDiagnostics(*imported.context, printer);
  frontend::ImportOptions import;
  import.path = options.source;
  import.f64 = options.f64;
  import.optimizer = options.optimizer;
  auto module = frontend::importModel(model.graph, import, *imported.context, printer.sink());
  if (module) pointAtNames(*module, printer);
  if (!printer.failed() && mlir::succeeded(checkOptimizer(*module, options))) imported.module = std::move(module);
  return imported;
}

std::optional<codegen::CompiledProgram> Generator::generate(const Model& model, mlir::ModuleOp module) {
  keep(model, "import.mlir", [&] { return printed(module); });
  if (mlir::failed(runPasses(module, options_.trained))) return requireError(printer_, "a pass"), std::nullopt;
  keep(model, "passes.mlir", [&] { return printed(module); });
  auto program = generateFor(targetOptions(options_), model, module);
  if (!program) return std::nullopt;
  if (!options_.report.empty()) report(AlignedPlan(program->plan).view());
  keep(model, "ll", [&] { return program->emit(codegen::Format::llvm); });
  return program;
}

std::string Generator::planAllTrained(const Model& model, mlir::ModuleOp module) {
  if (options_.trained.empty()) return "";
  mlir::ScopedDiagnosticHandler told_already(module.getContext(), [](mlir::Diagnostic&) { return mlir::success(); });
  mlir::FailureOr<std::string> plan = mlir::failure();
  if (mlir::succeeded(runPasses(module, {}, /*compared=*/true))) plan = codegen::planOf(module, targetOptions(options_), factsOf(model));
  if (mlir::succeeded(plan)) return *plan;
  printer_.error(Fault::internal, "the training of all layers cannot be planned");
  return "";
}

std::vector<codegen::CompiledProgram> Generator::generateVariants(const Model& model, mlir::ModuleOp module) {
  std::vector<codegen::CompiledProgram> programs;
  for (const codegen::TargetOptions& target : variantOptions(options_)) {
    auto program = generateFor(target, model, module);
    if (!program) return {};
    programs.push_back(std::move(*program));
  }
  return programs;
}

void Generator::write(const Model& model, const std::string& name, const std::string& text) {
  std::string before = has_main_ && isProgram(options_) ? model.name + "." : "";
  for (const auto& [dimension, size] : model.dims) before += dimension + "_" + std::to_string(size) + ".";
  writeIntermediate(work_.file(before.empty() && name == "ll" ? "model.ll" : before + name), text, printer_);
}

void Generator::addReport(OutputSet& outputs) const {
  if (!options_.report.empty()) outputs.addDisplay(options_.report_file.empty() ? "-" : options_.report_file, report_);
}

std::optional<codegen::CompiledProgram> Generator::generateFor(const codegen::TargetOptions& target, const Model& model,
                                                               mlir::ModuleOp module) {
  mlir::FailureOr<codegen::CompiledProgram> program = codegen::compileProgram(module, target, factsOf(model));
  if (mlir::failed(program)) return requireError(printer_, "code generation"), std::nullopt;
  core::Status status = AlignedPlan(program->plan).status();
  if (!status.ok()) return printer_.error(Fault::internal, status.text), std::nullopt;
  return std::move(*program);
}

codegen::ProgramFacts Generator::factsOf(const Model& model) const {
  codegen::ProgramFacts facts;
  facts.source = llvm::sys::path::filename(options_.source).str();
  facts.compiler = "mxc " MXC_VERSION;
  facts.check_finite = options_.check_finite;
  if (has_main_) facts.symbol += "_" + model.name;
  if (isLibrary(options_)) facts.more = libraryFacts(options_, model.dims);
  return facts;
}

mlir::LogicalResult Generator::runPasses(mlir::ModuleOp module, const std::vector<std::string>& trained, bool compared) {
  PipelineOptions pipeline;
  auto parameters = trainedParameters(module, trained);
  if (mlir::failed(parameters)) return mlir::failure();
  pipeline.libraryTrains = options_.train;
  pipeline.trained = std::move(*parameters);
  pipeline.memoryLimit = compared ? 0 : options_.memory_limit_bytes;
  pipeline.memoryPlan = options_.memory_plan;
  pipeline.ownMain = has_main_;
  pipeline.library = isLibrary(options_);
  pipeline.byShards = !pipeline.ownMain && !pipeline.library;
  const Target* machine = findTarget(options_.target);
  pipeline.smallStack = pipeline.library && machine && !machine->hosted;
  if (options_.check_finite) pipeline.disabled.push_back("fuse");  // so that each operation's result can be looked at
  pipeline.printAfterAll = options_.print_ir && !compared;
  pipeline.timePasses = options_.time_passes && !compared;
  pipeline.log = &llvm::errs();
  if (mlir::failed(runPipeline(module, pipeline))) return mlir::failure();
  if (options_.verify_plan && !compared) tellVerified(module);
  return mlir::success();
}

// "verified the memory plan of digits: train 14 kernels, 20 values; ..."
void Generator::tellVerified(mlir::ModuleOp module) {
  std::string text;
  for (auto function : module.getOps<mlir::func::FuncOp>()) {
    size_t kernels = 0, values = 0;
    function.walk([&](mx::KernelOp kernel) {
      ++kernels;
      values += kernel.getNumResults();
    });
    text += (text.empty() ? "" : "; ") + function.getName().str() + " " + std::to_string(kernels) + " kernels, " + std::to_string(values) + " values";
  }
  llvm::errs() << "verified the memory plan of " << module.getName().value_or("model") << ": " << text << "\n";
}

void Generator::report(const core::PlanView& plan) {
  MemoryReport memory = memoryReport(plan);
  if (!report_.empty()) report_ += "\n";
  report_ += options_.report == "memory,json" ? memoryJson(memory) : options_.report == "memory,svg" ? memorySvg(memory) : memoryText(memory);
}

}  // namespace mxc::driver

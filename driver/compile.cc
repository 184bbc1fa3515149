// The way of a model through the compiler; each stage is the output if --emit says so.
#include "driver/compile.h"

#include "codegen/compile.h"
#include "driver/aligned_plan.h"
#include "driver/crash.h"
#include "driver/files.h"
#include "driver/link.h"
#include "driver/memory_report.h"
#include "driver/paper_memory_text.h"
#include "driver/plan_text.h"
#include "frontend/import/import.h"
#include "frontend/stage/stage.h"
#include "ir/mx.h"
#include "llvm/Support/Path.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/pipeline.h"

namespace mxc::driver {

using frontend::Fault;

namespace {

// Where the output goes if -o does not say: text that people read to standard output, files after the source's name.
std::string outputPath(const CompileOptions& options) {
  if (!options.output.empty()) return options.output;
  if (options.memory_by_paper) return "-";
  std::string stem = llvm::sys::path::stem(options.source).str();
  switch (options.emit) {
    case Emit::graph:
    case Emit::mlir:
    case Emit::plan:
    case Emit::llvm:
    case Emit::assembly: return "-";
    case Emit::object: return stem + ".o";
    case Emit::executable: return stem;
  }
  return stem;
}

void write(const std::string& path, std::string_view bytes, bool executable, DiagnosticPrinter& printer) {
  if (llvm::Error error = writeWholeFile(path, bytes, executable)) printer.error(Fault::input, llvm::toString(std::move(error)));
}

// The symbol JSON: the file itself, or what staging makes of it. Empty after an error.
std::string readGraph(const CompileOptions& options, const WorkDirectory& work, DiagnosticPrinter& printer) {
  if (llvm::sys::path::extension(options.source) == ".json") {
    auto text = readWholeFile(options.source);
    if (text) return std::move(*text);
    frontend::Diagnostic diagnostic;
    diagnostic.place.file = options.source;
    diagnostic.message = llvm::toString(text.takeError());
    printer.print(diagnostic);
    return "";
  }
  frontend::StageOptions stage;
  stage.source = options.source;
  stage.model = options.model;
  stage.defines = options.defines;
  stage.dims = options.dims;
  stage.host_compiler = options.host_compiler;
  stage.include_directory = installRoot() + "/include";
  stage.runner = installRoot() + "/lib/mxc-stage";
  stage.work_directory = work.path();
  stage.time_limit_seconds = options.stage_time_limit_seconds;
  stage.memory_limit_bytes = options.stage_memory_limit_bytes;
  stage.verbose = options.verbose;
  return frontend::stage(stage, printer.sink()).value_or("");
}

std::string printed(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  return text;
}

void writePlan(const std::string& output, const std::string& blob, DiagnosticPrinter& printer) {
  AlignedPlan plan(blob);
  if (!plan.status().ok()) return printer.error(Fault::internal, plan.status().text);
  write(output, planText(plan.view(), {}), false, printer);
}

// --report.
void writeReport(const CompileOptions& options, const std::string& blob, DiagnosticPrinter& printer) {
  AlignedPlan plan(blob);
  if (!plan.status().ok()) return printer.error(Fault::internal, plan.status().text);
  MemoryReport report = memoryReport(plan.view());
  std::string text = options.report == "memory,json" ? memoryJson(report) : options.report == "memory,svg" ? memorySvg(report) : memoryText(report);
  write(options.report_file.empty() ? "-" : options.report_file, text, false, printer);
}

// Makes sure that a failure has been told, whoever forgot it.
void requireError(DiagnosticPrinter& printer, const std::string& stage) {
  if (!printer.failed()) printer.error(Fault::internal, stage + " failed without saying why");
}

mlir::LogicalResult runPasses(mlir::ModuleOp module, const CompileOptions& options) {
  PipelineOptions pipeline;
  pipeline.optimizer = options.optimizer;
  pipeline.memoryLimit = options.memory_limit_bytes;
  pipeline.memoryPlan = options.memory_plan;
  pipeline.printAfterAll = options.print_ir;
  pipeline.timePasses = options.time_passes;
  pipeline.log = &llvm::errs();
  return runPipeline(module, pipeline);
}

void writePaperMemory(mlir::ModuleOp module, const CompileOptions& options, const std::string& output, DiagnosticPrinter& printer) {
  if (mlir::failed(runPass(*findPass("infer-shapes"), module, {}))) return requireError(printer, "a pass");
  write(output, paperMemoryText(module, options.memory_plan), false, printer);
}

// The forms that need the whole compiler.
void compileModule(mlir::ModuleOp module, const CompileOptions& options, const std::string& output, const WorkDirectory& work,
                   DiagnosticPrinter& printer) {
  if (mlir::failed(runPasses(module, options))) return requireError(printer, "a pass");
  if (options.save_temps) write(work.file("passes.mlir"), printed(module), false, printer);
  codegen::TargetOptions target;
  target.cpu = options.cpu;
  target.optLevel = options.level;
  codegen::ProgramFacts facts{llvm::sys::path::filename(options.source).str(), "mxc " MXC_VERSION};
  mlir::FailureOr<codegen::CompiledProgram> program = codegen::compileProgram(module, target, facts);
  if (mlir::failed(program)) return requireError(printer, "code generation");
  if (core::Status status = AlignedPlan(program->plan).status(); !status.ok()) return printer.error(Fault::internal, status.text);
  if (!options.report.empty()) writeReport(options, program->plan, printer);
  if (options.save_temps) write(work.file("model.ll"), program->emit(codegen::Format::llvm), false, printer);
  switch (options.emit) {
    case Emit::plan: return writePlan(output, program->plan, printer);
    case Emit::llvm: return write(output, program->emit(codegen::Format::llvm), false, printer);
    case Emit::assembly: return write(output, program->emit(codegen::Format::assembly), false, printer);
    case Emit::object: return write(output, program->emit(codegen::Format::object), false, printer);
    default: break;
  }
  std::string bytes = linkProgram(program->emit(codegen::Format::object), options, work, printer);
  if (!printer.failed()) write(output, bytes, true, printer);
}

}  // namespace

void compile(const CompileOptions& options, DiagnosticPrinter& printer) {
  std::string output = outputPath(options);
  WorkDirectory work(options.save_temps ? (output == "-" ? "mxc" : output) + ".temps" : "");
  if (!work.error().empty()) return printer.error(Fault::input, work.error());
  std::string graph = readGraph(options, work, printer);
  if (printer.failed()) return;
  if (options.emit == Emit::graph) return write(output, graph, false, printer);
  if (options.save_temps) write(work.file("graph.json"), graph, false, printer);
  Reproducer reproducer(llvm::sys::path::stem(options.source).str() + ".reproducer.json", graph);

  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<mx::MxDialect, mlir::func::FuncDialect>();
  auto handler = showMlirDiagnostics(context, printer);
  frontend::ImportOptions import;
  import.path = options.source;
  import.f64 = options.f64;
  import.optimizer = options.optimizer;
  auto module = frontend::importModel(graph, import, context, printer.sink());
  if (printer.failed()) return;
  if (options.save_temps) write(work.file("import.mlir"), printed(*module), false, printer);
  if (options.emit == Emit::mlir) return write(output, printed(*module), false, printer);
  if (options.memory_by_paper) return writePaperMemory(*module, options, output, printer);
  compileModule(*module, options, output, work, printer);
  if (printer.exitCode() == kInternal) reproducer.write(printer);
}

}  // namespace mxc::driver

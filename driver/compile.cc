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
#include "frontend/dsl/draw.h"
#include "frontend/import/import.h"
#include "frontend/stage/process.h"
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
    case Emit::svg:
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

bool isSymbolJson(const CompileOptions& options) { return llvm::sys::path::extension(options.source) == ".json"; }

// Where -MD leaves the rule while the host compiler runs.
constexpr llvm::StringRef kDependencies = "/model.d";

frontend::StageOptions stageOptions(const CompileOptions& options, const std::string& output, const std::string& folder) {
  frontend::StageOptions stage;
  stage.source = options.source;
  stage.model = options.model;
  stage.defines = options.defines;
  stage.dims = options.dims;
  stage.host_compiler = options.host_compiler;
  stage.include_directory = installRoot() + "/include";
  stage.runner = installRoot() + "/lib/mxc-stage";
  stage.work_directory = folder;
  stage.time_limit_seconds = options.stage_time_limit_seconds;
  stage.memory_limit_bytes = options.stage_memory_limit_bytes;
  stage.verbose = options.verbose;
  if (options.color != Color::automatic) stage.color = options.color == Color::always ? "always" : "never";
  if (options.dependencies) stage.dependencies = folder + kDependencies.str();
  stage.dependency_target = options.dependency_target.empty() ? output : options.dependency_target;
  return stage;
}

// -###
void showCommands(const CompileOptions& options, const std::string& output, DiagnosticPrinter& printer) {
  std::vector<std::vector<std::string>> commands;
  std::string folder = "TEMPORARY";
  if (!isSymbolJson(options)) commands = frontend::stageCommands(stageOptions(options, output, folder));
  if (options.emit == Emit::executable) commands.push_back(linkCommand(folder + "/model.o", folder + "/program", options, printer));
  for (const std::vector<std::string>& command : commands) llvm::errs() << frontend::shellLine(command) << "\n";
}

// The symbol JSON: the file itself, or what staging makes of it. Empty after an error.
std::string readGraph(const CompileOptions& options, const std::string& output, const WorkDirectory& work,
                      DiagnosticPrinter& printer) {
  if (!isSymbolJson(options)) return frontend::stage(stageOptions(options, output, work.path()), printer.sink()).value_or("");
  auto text = readWholeFile(options.source);
  if (text) return std::move(*text);
  frontend::Diagnostic diagnostic;
  diagnostic.place.file = options.source;
  diagnostic.message = llvm::toString(text.takeError());
  printer.print(diagnostic);
  return "";
}

// -MD: after the output, so that a rule stands for an output that is there.
void writeDependencies(const CompileOptions& options, const std::string& output, const WorkDirectory& work,
                       DiagnosticPrinter& printer) {
  std::string path = options.dependency_file, target = options.dependency_target.empty() ? output : options.dependency_target;
  if (path.empty()) {
    llvm::SmallString<128> name(output == "-" ? llvm::sys::path::stem(options.source) : llvm::StringRef(output));
    llvm::sys::path::replace_extension(name, "d");
    path = name.str().str();
  }
  if (isSymbolJson(options)) return write(path, target + ": " + options.source + "\n", false, printer);
  auto rule = readWholeFile(work.path() + kDependencies.str());
  if (!rule) return printer.error(Fault::internal, "the host compiler wrote no dependencies: " + llvm::toString(rule.takeError()));
  write(path, *rule, false, printer);
}

std::string printed(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  return text;
}

// --report.
void writeReport(const CompileOptions& options, const core::PlanView& plan, DiagnosticPrinter& printer) {
  MemoryReport report = memoryReport(plan);
  std::string text = options.report == "memory,json"  ? memoryJson(report)
                     : options.report == "memory,svg" ? memorySvg(report)
                                                      : memoryText(report);
  write(options.report_file.empty() ? "-" : options.report_file, text, false, printer);
}

// --emit=svg: the graph with the shapes that its operations give.
void drawModel(const std::string& graph, mlir::ModuleOp module, const CompileOptions& options, const std::string& output,
               DiagnosticPrinter& printer) {
  if (mlir::failed(runPass(*findPass("infer-shapes"), module, {}))) return;
  std::map<std::string, std::string> shapes;
  for (mlir::Operation& op : module.getBody()->getOperations())
    if (auto name = llvm::dyn_cast<mlir::NameLoc>(op.getLoc()); name && op.getNumResults() > 0 && rankedType(op.getResult(0)))
      shapes[name.getName().str()] = shapeText(rankedType(op.getResult(0)));
  std::string error, svg = detail::drawModel(graph, shapes, error);
  if (!error.empty()) return printer.error(Fault::internal, error);
  write(output, svg, false, printer);
}

// Makes sure that a failure has been told, whoever forgot it.
void requireError(DiagnosticPrinter& printer, const std::string& stage) {
  if (!printer.failed()) printer.error(Fault::internal, stage + " failed without saying why");
}

mlir::LogicalResult runPasses(mlir::ModuleOp module, const CompileOptions& options) {
  PipelineOptions pipeline;
  pipeline.memoryLimit = options.memory_limit_bytes;
  pipeline.memoryPlan = options.memory_plan;
  if (options.check_finite) pipeline.disabled.push_back("fuse");  // so that each operation's result can be looked at
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
  codegen::ProgramFacts facts{llvm::sys::path::filename(options.source).str(), "mxc " MXC_VERSION, options.check_finite};
  mlir::FailureOr<codegen::CompiledProgram> program = codegen::compileProgram(module, target, facts);
  if (mlir::failed(program)) return requireError(printer, "code generation");
  AlignedPlan plan(program->plan);
  if (!plan.status().ok()) return printer.error(Fault::internal, plan.status().text);
  if (!options.report.empty()) writeReport(options, plan.view(), printer);
  if (options.save_temps) write(work.file("model.ll"), program->emit(codegen::Format::llvm), false, printer);
  switch (options.emit) {
    case Emit::plan: return write(output, planText(plan.view(), {}), false, printer);
    case Emit::llvm: return write(output, program->emit(codegen::Format::llvm), false, printer);
    case Emit::assembly: return write(output, program->emit(codegen::Format::assembly), false, printer);
    case Emit::object: return write(output, program->emit(codegen::Format::object), false, printer);
    default: break;
  }
  std::string bytes = linkProgram(program->emit(codegen::Format::object), options, work, printer);
  if (!printer.failed()) write(output, bytes, true, printer);
}

// From the symbol JSON on.
void compileGraph(const std::string& graph, const CompileOptions& options, const std::string& output, const WorkDirectory& work,
                  DiagnosticPrinter& printer) {
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
  if (options.emit == Emit::svg) return drawModel(graph, *module, options, output, printer);
  if (options.emit == Emit::mlir) return write(output, printed(*module), false, printer);
  if (options.memory_by_paper) return writePaperMemory(*module, options, output, printer);
  compileModule(*module, options, output, work, printer);
  if (printer.exitCode() == kInternal) reproducer.write(printer);
}

}  // namespace

void compile(const CompileOptions& options, DiagnosticPrinter& printer) {
  std::string output = outputPath(options);
  if (options.show_commands) return showCommands(options, output, printer);
  WorkDirectory work(options.save_temps ? (output == "-" ? "mxc" : output) + ".temps" : "");
  if (!work.error().empty()) return printer.error(Fault::input, work.error());
  std::string graph = readGraph(options, output, work, printer);
  if (!printer.failed()) compileGraph(graph, options, output, work, printer);
  if (!printer.failed() && options.dependencies) writeDependencies(options, output, work, printer);
}

}  // namespace mxc::driver

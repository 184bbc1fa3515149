// The way of a model through the compiler; each stage is the output if --emit says so.
#include "driver/compile.h"

#include "driver/files.h"
#include "frontend/import/import.h"
#include "frontend/stage/stage.h"
#include "ir/mx.h"
#include "llvm/Support/Path.h"

namespace mxc::driver {

using frontend::Fault;

namespace {

// Where the output goes if -o does not say: text that people read to standard output, files after the source's name.
std::string outputPath(const CompileOptions& options) {
  if (!options.output.empty()) return options.output;
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

}  // namespace

void compile(const CompileOptions& options, DiagnosticPrinter& printer) {
  std::string output = outputPath(options);
  WorkDirectory work(options.save_temps ? (output == "-" ? "mxc" : output) + ".temps" : "");
  if (!work.error().empty()) return printer.error(Fault::input, work.error());
  std::string graph = readGraph(options, work, printer);
  if (printer.failed()) return;
  if (options.emit == Emit::graph) return write(output, graph, false, printer);

  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<mx::MxDialect>();
  auto handler = showMlirDiagnostics(context, printer);
  frontend::ImportOptions import;
  import.path = options.source;
  import.f64 = options.f64;
  import.optimizer = options.optimizer;
  auto module = frontend::importModel(graph, import, context, printer.sink());
  if (printer.failed()) return;
  if (options.emit == Emit::mlir) return write(output, printed(*module), false, printer);
}

}  // namespace mxc::driver

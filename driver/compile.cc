// The way of a model through the compiler; each stage is the output if --emit says so.
//
// A file with a `main` of its own goes that way with each of its models; their objects, each with its Plan under a name of its own, and
// the file itself, compiled by the host compiler, make the program.
#include "driver/compile.h"

#include "codegen/compile.h"
#include "driver/aligned_plan.h"
#include "driver/crash.h"
#include "driver/dependencies.h"
#include "driver/files.h"
#include "driver/generator.h"
#include "driver/library.h"
#include "driver/link.h"
#include "driver/main_file.h"
#include "driver/output_set.h"
#include "driver/paper_memory_text.h"
#include "driver/plan_text.h"
#include "frontend/dsl/draw.h"
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
    case Emit::header:
    case Emit::assembly: return "-";
    case Emit::object: return stem + ".o";
    case Emit::library: return "lib" + stem + ".a";
    case Emit::shared: return "lib" + stem + ".so";
    case Emit::executable: return stem;
  }
  return stem;
}

bool isSymbolJson(const CompileOptions& options) { return llvm::sys::path::extension(options.source) == ".json"; }

// Libraries come with files whose names -o does not say: which the model includes is known before they are written.
bool asksForDependencies(const CompileOptions& options) { return options.dependencies || isLibrary(options); }

frontend::StageOptions stageOptions(const CompileOptions& options, const std::string& output, const std::string& folder) {
  frontend::StageOptions stage;
  stage.source = options.source;
  stage.defines = options.defines;
  stage.dims = options.dims;
  stage.host_compiler = options.host_compiler;
  stage.include_directory = installRoot() + "/include";
  stage.runner = installRoot() + "/lib/mxc/mxc-stage";
  stage.work_directory = folder;
  stage.time_limit_seconds = options.stage_time_limit_seconds;
  stage.memory_limit_bytes = options.stage_memory_limit_bytes;
  stage.verbose = options.verbose;
  if (options.color != Color::automatic) stage.color = options.color == Color::always ? "always" : "never";
  if (asksForDependencies(options)) stage.dependencies = rawRule(folder);
  stage.dependency_target = dependencyTarget(options, output);
  return stage;
}

// What the source gives.
struct Source {
  std::vector<Model> models;
  bool has_main = false;  // of its own
};

// Which models of a file are compiled. Nothing after an error, which has been printed.
std::optional<std::vector<std::string>> wantedModels(const frontend::SourceFile& file, const frontend::StageOptions& stage,
                                                     const CompileOptions& options, DiagnosticPrinter& printer) {
  if (file.has_main && isProgram(options)) {
    if (!checkMainOptions(file, options, printer)) return std::nullopt;
    return file.models;
  }
  if (file.has_main && !checkModelOfMainFile(file, options, printer)) return std::nullopt;
  std::optional<std::string> model = frontend::chooseModel(stage, file, options.model, printer.sink());
  if (!model) return std::nullopt;
  return std::vector<std::string>{*model};
}

// -###. What is in the file decides what is run: so the host compiler looks at it, in a temporary folder.
void showCommands(const CompileOptions& options, const std::string& output, DiagnosticPrinter& printer) {
  std::vector<std::vector<std::string>> commands;
  const std::string folder = "TEMPORARY";
  frontend::SourceFile file;
  std::vector<std::string> objects = {folder + "/model.o"};
  if (!isSymbolJson(options)) {
    WorkDirectory work;
    if (!work.error().empty()) return printer.error(Fault::input, work.error());
    frontend::StageOptions look = stageOptions(options, output, work.path());
    look.verbose = false;
    auto found = frontend::compileSource(look, printer.sink());
    auto models = found ? wantedModels(*found, stageOptions(options, output, folder), options, printer) : std::nullopt;
    if (!models) return;
    file = *found;
    commands = frontend::stageCommands(stageOptions(options, output, folder), *models);
    if (file.has_main && isProgram(options)) {
      objects = {folder + "/main.o"};
      for (const std::string& model : *models) objects.push_back(folder + "/" + model + ".o");
      commands.push_back(mainCommand(options, objects[0]));
    }
  }
  if (isProgram(options))
    commands.push_back(linkCommand(objects, file.has_main ? Runtime::library : Runtime::trainer, folder + "/program", options, printer));
  if (options.emit == Emit::shared)
    commands.push_back(sharedCommand(folder + "/library.o", folder + "/library", llvm::sys::path::filename(output).str(), options));
  for (const std::vector<std::string>& command : commands) llvm::errs() << frontend::shellLine(command) << "\n";
}

// Reads symbol JSON, or stages the models that are wanted. Nothing after an error, which has been printed.
std::optional<Source> readSource(const CompileOptions& options, const std::string& output, const WorkDirectory& work,
                                 DiagnosticPrinter& printer) {
  if (isSymbolJson(options)) {
    auto text = readWholeFile(options.source);
    if (text) return Source{{Model{"", std::move(*text), {}}}, false};
    frontend::Diagnostic diagnostic;
    diagnostic.place.file = options.source;
    diagnostic.message = llvm::toString(text.takeError());
    printer.print(diagnostic);
    return std::nullopt;
  }
  frontend::StageOptions stage = stageOptions(options, output, work.path());
  auto file = frontend::compileSource(stage, printer.sink());
  auto names = file ? wantedModels(*file, stage, options, printer) : std::nullopt;
  if (!names) return std::nullopt;
  Source source{{}, file->has_main};
  const std::vector<std::map<std::string, int64_t>> one_set(1);
  for (const auto& dims : options.sets.empty() ? one_set : options.sets) {
    frontend::StageOptions sized = stage;
    for (const auto& [name, size] : dims) sized.dims[name] = size;
    for (const std::string& name : *names) {
      auto graph = frontend::stage(sized, name, printer.sink());
      if (!graph) return std::nullopt;
      source.models.push_back({name, std::move(*graph), dims});
    }
  }
  return source;
}

// The files of the command line that are read, and those that will be written.
std::vector<NamedFile> filesRead(const CompileOptions& options) {
  std::vector<NamedFile> files = {{"the model", options.source}};
  if (!options.params.empty()) files.push_back({"the parameters", options.params});
  return files;
}

std::vector<NamedFile> filesWritten(const CompileOptions& options, const std::string& output) {
  std::vector<NamedFile> files = libraryFiles(options, output);
  if (!isLibrary(options)) files.push_back({isProgram(options) ? "the program" : "the output", output});
  if (options.dependencies) files.push_back({"the rule of -MD", dependencyFile(options, output)});
  if (!options.report.empty() && !options.report_file.empty()) files.push_back({"the report", options.report_file});
  return files;
}

// The same with what the model includes and loads.
bool checkIncluded(const CompileOptions& options, const std::string& output, const WorkDirectory& work, DiagnosticPrinter& printer) {
  if (isSymbolJson(options) || !asksForDependencies(options)) return true;
  auto rule = readWholeFile(rawRule(work.path()));
  if (!rule) return llvm::consumeError(rule.takeError()), true;
  std::vector<NamedFile> read = filesRead(options);
  for (std::string& file : filesOfRule(*rule)) read.push_back({"a file that the model includes or loads", std::move(file)});
  return checkOverwriting(read, filesWritten(options, output), printer);
}

// --emit=svg: the graph with the shapes that its operations give.
void drawModel(const std::string& graph, mlir::ModuleOp module, const std::string& output, OutputSet& outputs, DiagnosticPrinter& printer) {
  if (mlir::failed(runPass(*findPass("infer-shapes"), module, {}))) return;
  std::map<std::string, std::string> shapes;
  for (mlir::Operation& op : module.getBody()->getOperations())
    if (auto name = llvm::dyn_cast<mlir::NameLoc>(op.getLoc()); name && op.getNumResults() > 0 && rankedType(op.getResult(0)))
      shapes[name.getName().str()] = shapeText(rankedType(op.getResult(0)));
  std::string error, svg = detail::drawModel(graph, shapes, error);
  if (!error.empty()) return printer.error(Fault::internal, error);
  outputs.add(output, svg);
}

void writePaperMemory(mlir::ModuleOp module, const CompileOptions& options, const std::string& output, OutputSet& outputs, DiagnosticPrinter& printer) {
  if (mlir::failed(runPass(*findPass("infer-shapes"), module, {}))) return requireError(printer, "a pass");
  outputs.add(output, paperMemoryText(module, options.memory_plan));
}

// What `emit` says of a program that has been generated.
std::string emitted(codegen::CompiledProgram& program, Emit emit) {
  switch (emit) {
    case Emit::plan: return planText(AlignedPlan(program.plan).view(), {});
    case Emit::llvm: return program.emit(codegen::Format::llvm);
    case Emit::assembly: return program.emit(codegen::Format::assembly);
    default: return program.emit(codegen::Format::object);
  }
}

// The program of one model: with the standard trainer.
void addTrainer(codegen::CompiledProgram& program, const CompileOptions& options, const std::string& output, const WorkDirectory& work,
                OutputSet& outputs, DiagnosticPrinter& printer) {
  std::string object = work.file("model.o");
  writeIntermediate(object, program.emit(codegen::Format::object), printer);
  if (!printer.failed()) outputs.add(output, linkProgram({object}, Runtime::trainer, options, work, printer), /*executable=*/true);
}

// One model from its symbol JSON to what --emit says; a program gets the standard trainer.
void compileModel(const Model& model, bool has_main, const CompileOptions& options, const std::string& output, const WorkDirectory& work,
                  OutputSet& outputs, DiagnosticPrinter& printer) {
  if (options.emit == Emit::graph) return outputs.add(output, model.graph);
  Generator generator(options, has_main, work, printer);
  generator.keep(model, "graph.json", [&] { return model.graph; });
  Reproducer reproducer(llvm::sys::path::stem(options.source).str() + ".reproducer.json", model.graph);
  Imported imported = importModel(model, options, printer);
  if (!imported.module) return;
  if (options.emit == Emit::svg) return drawModel(model.graph, *imported.module, output, outputs, printer);
  if (options.emit == Emit::mlir) return outputs.add(output, printed(*imported.module));
  if (options.memory_by_paper) return writePaperMemory(*imported.module, options, output, outputs, printer);
  if (auto program = generator.generate(model, *imported.module)) {
    generator.addReport(outputs);
    if (options.emit == Emit::executable) {
      addTrainer(*program, options, output, work, outputs, printer);
    } else {
      outputs.add(output, emitted(*program, options.emit));
    }
  }
  if (printer.exitCode() == kInternal) reproducer.write(printer);
}

// A library of a model, for each set of sizes: `models` are that one, staged with each.
void compileLibrary(const Source& source, const CompileOptions& options, const std::string& output, const WorkDirectory& work,
                    OutputSet& outputs, DiagnosticPrinter& printer) {
  Generator generator(options, source.has_main, work, printer);
  std::vector<LibrarySet> sets;
  for (const Model& model : source.models) {
    generator.keep(model, "graph.json", [&] { return model.graph; });
    Reproducer reproducer(llvm::sys::path::stem(options.source).str() + ".reproducer.json", model.graph);
    Imported imported = importModel(model, options, printer);
    if (!imported.module) return;
    if (options.emit != Emit::header && options.params.empty() && !imported.module->getOps<mx::ParameterOp>().empty())
      return printer.error(Fault::usage, "the model has trained parameters: name their file with --params");
    mlir::OwningOpRef<mlir::ModuleOp> whole = llvm::cast<mlir::ModuleOp>(imported.module->getOperation()->clone());
    auto program = generator.generate(model, *imported.module);
    if (program) {
      std::vector<codegen::CompiledProgram> variants = generator.generateVariants(model, *imported.module);
      sets.push_back({model.dims, std::move(*program), std::move(variants), generator.planAllTrained(model, *whole)});
    }
    if (printer.exitCode() == kInternal) reproducer.write(printer);
    if (printer.failed()) return;
  }
  generator.addReport(outputs);
  addLibrary(sets, options, output, work, outputs, printer);
}

// A file with a main: all its models, and the file itself.
void compileMainProgram(const Source& source, const CompileOptions& options, const std::string& output, const WorkDirectory& work,
                        OutputSet& outputs, DiagnosticPrinter& printer) {
  Generator generator(options, /*has_main=*/true, work, printer);
  std::vector<std::string> objects = {work.file("main.o")};
  for (const Model& model : source.models) {
    generator.keep(model, "graph.json", [&] { return model.graph; });
    Reproducer reproducer(model.name + ".reproducer.json", model.graph);
    Imported imported = importModel(model, options, printer);
    if (!imported.module) return;
    auto program = generator.generate(model, *imported.module);
    if (!program) {
      if (printer.exitCode() == kInternal) reproducer.write(printer);
      return;
    }
    objects.push_back(work.file(model.name + ".o"));
    writeIntermediate(objects.back(), program->emit(codegen::Format::object), printer);
  }
  generator.addReport(outputs);
  if (printer.failed() || !compileMain(options, objects[0], printer)) return;
  outputs.add(output, linkProgram(objects, Runtime::library, options, work, printer), /*executable=*/true);
}

}  // namespace

void compile(const CompileOptions& options, DiagnosticPrinter& printer) {
  std::string output = outputPath(options);
  if (options.show_commands) return showCommands(options, output, printer);
  if (!checkOverwriting(filesRead(options), filesWritten(options, output), printer)) return;
  WorkDirectory work(options.save_temps ? (output == "-" ? "mxc" : output) + ".temps" : "");
  if (!work.error().empty()) return printer.error(Fault::input, work.error());
  std::optional<Source> source = readSource(options, output, work, printer);
  if (!source || !checkIncluded(options, output, work, printer)) return;
  OutputSet outputs;
  if (source->has_main && isProgram(options)) compileMainProgram(*source, options, output, work, outputs, printer);
  else if (isLibrary(options)) compileLibrary(*source, options, output, work, outputs, printer);
  else compileModel(source->models[0], source->has_main, options, output, work, outputs, printer);
  // The rule comes last: it stands for an output that is there.
  if (!printer.failed() && options.dependencies) addDependencies(options, output, work, outputs, printer);
  if (!printer.failed()) outputs.commit(printer);
}

}  // namespace mxc::driver

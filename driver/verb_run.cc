// mxc run: compiles into a temporary folder and runs the program with the arguments after the model; with --params, the model's inference
// on arrays of files.
#include <CLI/CLI.hpp>

#include "driver/array_files.h"
#include "driver/compile_flags.h"
#include "driver/files.h"
#include "driver/loaded_library.h"
#include "driver/verbs.h"
#include "frontend/nearest.h"
#include "frontend/stage/process.h"

namespace mxc::driver {

using frontend::Fault;

namespace {

// Of inference.
struct InferOptions {
  std::string params;
  std::vector<std::string> inputs, outputs;
};

int run(CompileFlags& flags, const std::vector<std::string>& arguments) {
  DiagnosticPrinter printer(flags.color);
  WorkDirectory work;
  if (!flags.check(printer)) return printer.exitCode();
  if (!work.error().empty()) return printer.error(Fault::input, work.error()), printer.exitCode();
  flags.options.output = work.file("program");
  compile(flags.options, printer);
  if (printer.failed() || flags.options.show_commands) return printer.exitCode();
  std::vector<std::string> command = {flags.options.output};
  command.insert(command.end(), arguments.begin(), arguments.end());
  frontend::ProcessResult result = frontend::runProcess(command, {.foreground = true});
  if (!result.started) printer.error(Fault::internal, "cannot run the program: " + result.error);
  if (printer.failed()) return printer.exitCode();
  return result.signal ? 128 + result.signal : result.exit_code;
}

// --output NAME=FILE.npy each, of outputs that there are.
void writeOutputs(const Arrays& results, const std::vector<std::string>& wanted, DiagnosticPrinter& printer) {
  std::vector<std::pair<std::string, std::string>> files;
  std::vector<std::string> names;
  for (const auto& [name, array] : results) names.push_back(name);
  for (const std::string& text : wanted) {
    auto assignment = readAssignment("--output", text, printer);
    if (!assignment) return;
    if (!results.count(assignment->first))
      return printer.error(Fault::input, "the model has no output '" + assignment->first + "'" + frontend::didYouMean(assignment->first, names));
    files.push_back({assignment->second, io::npy_bytes(results.at(assignment->first))});
  }
  for (const auto& [path, bytes] : files)
    if (!printer.failed()) writeOutput(path, bytes, printer);
}

void infer(CompileFlags& flags, const InferOptions& options, const std::vector<std::string>& arguments, DiagnosticPrinter& printer) {
  WorkDirectory work;
  if (!arguments.empty()) return printer.error(Fault::usage, "'" + arguments[0] + "' is one word too many: with --params no program is run");
  if (options.outputs.empty()) return printer.error(Fault::usage, "--params runs the model's inference: say where a result goes with --output NAME=FILE.npy");
  if (!flags.check(printer)) return;
  if (!work.error().empty()) return printer.error(Fault::input, work.error());
  auto inputs = readArrays("--input", options.inputs, printer);
  if (!inputs) return;
  flags.options.params = options.params;
  auto library = LoadedLibrary::make(flags.options, work, printer);
  auto results = library ? library->run(*inputs, printer) : std::nullopt;
  if (results) writeOutputs(*results, options.outputs, printer);
}

}  // namespace

void addRunVerb(CLI::App& app, int& exit_code) {
  CLI::App* verb = app.add_subcommand("run", "Compile a model and run it: mxc run model.cpp -- train --epochs 3");
  auto flags = std::make_shared<CompileFlags>(*verb);
  auto options = std::make_shared<InferOptions>();
  verb->add_option("--params", options->params, "Run the model's inference with these trained parameters, without a program")->type_name("FILE");
  CLI::Option* params = verb->get_option("--params");
  verb->add_option("--input", options->inputs, "The array for an input, one or more samples, in NumPy's .npy")
      ->type_name("NAME=FILE")
      ->allow_extra_args(false)
      ->needs(params);
  verb->add_option("--output", options->outputs, "Where an output goes, in NumPy's .npy")->type_name("NAME=FILE")->allow_extra_args(false)->needs(params);
  verb->prefix_command();
  verb->callback([flags, options, verb, &exit_code] {
    if (options->params.empty()) {
      exit_code = run(*flags, verb->remaining());
      return;
    }
    DiagnosticPrinter printer(flags->color);
    infer(*flags, *options, verb->remaining(), printer);
    exit_code = printer.exitCode();
  });
}

}  // namespace mxc::driver

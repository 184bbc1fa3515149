// mxc run: compiles into a temporary folder and runs the program with the arguments after the model; with --params or --output, the model's
// inference on arrays of files.
#include <CLI/CLI.hpp>
#include <algorithm>

#include "driver/array_files.h"
#include "driver/compile_flags.h"
#include "driver/files.h"
#include "driver/loaded_library.h"
#include "driver/output_set.h"
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

using Assignments = std::vector<std::pair<std::string, std::string>>;

// --output NAME=FILE.npy each. Nothing after an error, which has been printed.
std::optional<Assignments> readOutputs(const std::vector<std::string>& wanted, DiagnosticPrinter& printer) {
  Assignments outputs;
  for (const std::string& text : wanted) {
    auto assignment = readAssignment("--output", text, printer);
    if (!assignment) return std::nullopt;
    outputs.push_back(std::move(*assignment));
  }
  return outputs;
}

// Whether results would go over what is read, or over each other.
bool checkFiles(const CompileOptions& compiled, const InferOptions& options, const Assignments& outputs, DiagnosticPrinter& printer) {
  std::vector<NamedFile> read = {{"the model", compiled.source}}, written;
  if (!options.params.empty()) read.push_back({"the parameters", options.params});
  for (const std::string& text : options.inputs)
    if (size_t equals = text.find('='); equals != std::string::npos) read.push_back({"input '" + text.substr(0, equals) + "'", text.substr(equals + 1)});
  for (const auto& [name, path] : outputs) written.push_back({"output '" + name + "'", path});
  return checkOverwriting(read, written, printer);
}

// Whether the model has the outputs; their names.
std::optional<std::set<std::string>> knownOutputs(const LoadedLibrary& library, const Assignments& outputs, DiagnosticPrinter& printer) {
  const std::vector<std::string> names = library.outputs();
  std::set<std::string> wanted;
  for (const auto& [name, path] : outputs) {
    if (std::find(names.begin(), names.end(), name) == names.end())
      return printer.error(Fault::input, "the model has no output '" + name + "'" + frontend::didYouMean(name, names)), std::nullopt;
    wanted.insert(name);
  }
  return wanted;
}

void infer(CompileFlags& flags, const InferOptions& options, const std::vector<std::string>& arguments, DiagnosticPrinter& printer) {
  WorkDirectory work;
  if (!arguments.empty())
    return printer.error(Fault::usage, "'" + arguments[0] + "' is one word too many: with --params, --input and --output no program is run");
  if (options.outputs.empty()) return printer.error(Fault::usage, "the model's inference is run: say where a result goes with --output NAME=FILE.npy");
  if (!flags.check(printer)) return;
  if (!work.error().empty()) return printer.error(Fault::input, work.error());
  auto outputs = readOutputs(options.outputs, printer);
  if (!outputs || !checkFiles(flags.options, options, *outputs, printer)) return;
  auto inputs = readArrays("--input", options.inputs, printer);
  if (!inputs) return;
  flags.options.params = options.params;
  auto library = LoadedLibrary::make(flags.options, work, printer);
  auto wanted = library ? knownOutputs(*library, *outputs, printer) : std::nullopt;
  auto results = wanted ? library->run(*inputs, *wanted, printer) : std::nullopt;
  if (!results) return;
  OutputSet files;
  for (const auto& [name, path] : *outputs) files.add(path, io::npy_bytes(results->at(name)));
  files.commit(printer);
}

}  // namespace

void addRunVerb(CLI::App& app, int& exit_code) {
  CLI::App* verb = app.add_subcommand("run", "Compile a model and run it: mxc run model.cpp -- train --epochs 3");
  auto flags = std::make_shared<CompileFlags>(*verb);
  auto options = std::make_shared<InferOptions>();
  verb->add_option("--params", options->params, "Run the model's inference with these trained parameters, without a program")->type_name("FILE");
  verb->add_option("--input", options->inputs, "The array for an input of the inference, one or more samples, in NumPy's .npy")
      ->type_name("NAME=FILE")
      ->allow_extra_args(false);
  verb->add_option("--output", options->outputs, "Where an output of the inference goes, in NumPy's .npy")->type_name("NAME=FILE")->allow_extra_args(false);
  verb->prefix_command();
  verb->callback([flags, options, verb, &exit_code] {
    if (options->params.empty() && options->inputs.empty() && options->outputs.empty()) {
      exit_code = run(*flags, verb->remaining());
      return;
    }
    DiagnosticPrinter printer(flags->color);
    infer(*flags, *options, verb->remaining(), printer);
    exit_code = printer.exitCode();
  });
}

}  // namespace mxc::driver

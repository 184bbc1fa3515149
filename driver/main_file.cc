// See main_file.h. The file has been through the host compiler once, for staging: what that had to say is not said again.
#include "driver/main_file.h"

#include <string.h>

#include "driver/files.h"
#include "driver/library.h"
#include "frontend/stage/process.h"

namespace mxc::driver {

using frontend::Fault;

namespace {

bool fail(const CompileOptions& options, Fault fault, std::string message, DiagnosticPrinter& printer) {
  frontend::Diagnostic diagnostic;
  diagnostic.fault = fault;
  diagnostic.place.file = options.source;
  diagnostic.message = std::move(message);
  printer.print(diagnostic);
  return false;
}

}  // namespace

bool isProgram(const CompileOptions& options) { return options.emit == Emit::executable && !options.memory_by_paper; }

bool checkMainOptions(const frontend::SourceFile& file, const CompileOptions& options, DiagnosticPrinter& printer) {
  if (!options.model.empty())
    return fail(options, Fault::usage, "this file has a main, and its program gets all models of the file: --model is of use with --emit alone",
                printer);
  if (options.check_finite)
    return fail(options, Fault::usage, "--check-finite is a matter of the standard trainer, and this file has a main of its own", printer);
  bool text = options.report.empty() || options.report == "memory";
  if (!text && file.models.size() > 1)
    return fail(options, Fault::usage, "--report=" + options.report + " is of one model, and this file has several: choose with --model and --emit=obj",
                printer);
  return true;
}

bool checkModelOfMainFile(const frontend::SourceFile& file, const CompileOptions& options, DiagnosticPrinter& printer) {
  bool object = options.emit == Emit::object || isLibrary(options);
  if (!object || !options.model.empty() || file.models.empty()) return true;
  std::string made = options.emit == Emit::object ? "--emit=obj makes the object" : "--emit=lib makes the library";
  return fail(options, Fault::usage, made + " of a model, without the main of this file: say which with --model", printer);
}

std::vector<std::string> mainCommand(const CompileOptions& options, const std::string& object) {
  std::vector<std::string> command = {options.host_compiler, "-std=c++20", "-O2", "-w", "-ffunction-sections", "-fdata-sections",
                                      "-DMXC_WITHOUT_STAGING", "-I", installRoot() + "/include"};
  if (options.color != Color::automatic)
    command.push_back(std::string("-fdiagnostics-color=") + (options.color == Color::always ? "always" : "never"));
  for (const std::string& define : options.defines) command.push_back("-D" + define);
  command.insert(command.end(), {"-x", "c++", "-c", options.source, "-o", object});
  return command;
}

bool compileMain(const CompileOptions& options, const std::string& object, DiagnosticPrinter& printer) {
  frontend::ProcessResult result = frontend::runProcess(mainCommand(options, object), {.stdout_to_stderr = true, .verbose = options.verbose});
  if (!result.started) return fail(options, Fault::input, "cannot run the host compiler '" + options.host_compiler + "': " + result.error, printer);
  if (result.signal) return fail(options, Fault::input, std::string("the host compiler was ended by ") + strsignal(result.signal), printer);
  if (result.exit_code) return fail(options, Fault::input, "the host C++ compiler rejects this file (see above)", printer);
  return true;
}

}  // namespace mxc::driver

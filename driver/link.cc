// The arguments behind the object files are those that the build wrote down in lib/mxc: link_runtime.txt (the trainer) and link_main.txt, one a line;
// names of archives stand relative to that file's folder.
#include "driver/link.h"

#include "frontend/stage/process.h"
#include "llvm/ADT/StringRef.h"

namespace mxc::driver {

using frontend::Fault;

std::vector<std::string> linkCommand(const std::vector<std::string>& objects, Runtime runtime, const std::string& program,
                                     const CompileOptions& options, DiagnosticPrinter& printer) {
  std::string folder = installRoot() + "/lib/mxc/";
  auto list = readWholeFile(folder + (runtime == Runtime::trainer ? "link_runtime.txt" : "link_main.txt"));
  if (!list)
    return printer.error(Fault::internal, "the runtime is not installed: " + llvm::toString(list.takeError())),
           std::vector<std::string>();
  std::vector<std::string> command = {options.host_compiler, "-o", program};
  command.insert(command.end(), objects.begin(), objects.end());
  for (llvm::StringRef rest = *list; !rest.empty();) {
    auto [line, next] = rest.split('\n');
    rest = next;
    if (line.empty()) continue;
    command.push_back(line.starts_with("-") || line.starts_with("/") ? line.str() : folder + line.str());
  }
  return command;
}

namespace {

// Runs a linker's command. False after an error, which has been printed; `fault` is whose it is if the linker refuses.
bool runLinker(const std::vector<std::string>& command, Fault fault, const CompileOptions& options, DiagnosticPrinter& printer) {
  frontend::ProcessResult result = frontend::runProcess(command, {.stdout_to_stderr = true, .verbose = options.verbose});
  if (!result.started) return printer.error(Fault::input, "cannot run the host compiler '" + options.host_compiler + "': " + result.error), false;
  if (result.exit_code == 0 && !result.signal) return true;
  return printer.error(fault, fault == Fault::input ? "linking failed (see above)" : "linking failed"), false;
}

}  // namespace

std::string linkProgram(const std::vector<std::string>& objects, Runtime runtime, const CompileOptions& options, const WorkDirectory& work,
                        DiagnosticPrinter& printer) {
  std::string programPath = work.file("program");
  std::vector<std::string> command = linkCommand(objects, runtime, programPath, options, printer);
  if (command.empty()) return "";
  // A main may call what nobody defines.
  if (!runLinker(command, runtime == Runtime::library ? Fault::input : Fault::internal, options, printer)) return "";
  auto bytes = readWholeFile(programPath);
  if (!bytes) return printer.error(Fault::internal, llvm::toString(bytes.takeError())), "";
  return std::move(*bytes);
}

std::vector<std::string> sharedCommand(const std::string& object, const std::string& library, const std::string& name,
                                       const CompileOptions& options) {
  return {options.host_compiler, "-shared", "-o", library, object, "-Wl,-soname," + name, "-Wl,-z,defs", "-Wl,--as-needed", "-lm"};
}

std::string linkShared(const std::string& object, const std::string& name, const CompileOptions& options, const WorkDirectory& work,
                       DiagnosticPrinter& printer) {
  std::string library = work.file("library");
  return runLinker(sharedCommand(object, library, name, options), Fault::internal, options, printer) ? library : "";
}

}  // namespace mxc::driver

// The arguments behind the object files are those that the build wrote down in lib/link_runtime.txt (the trainer) and lib/link_main.txt: one a line;
// names of archives stand relative to that file's folder.
#include "driver/link.h"

#include "frontend/stage/process.h"
#include "llvm/ADT/StringRef.h"

namespace mxc::driver {

using frontend::Fault;

std::vector<std::string> linkCommand(const std::vector<std::string>& objects, Runtime runtime, const std::string& program,
                                     const CompileOptions& options, DiagnosticPrinter& printer) {
  std::string folder = installRoot() + "/lib/";
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

std::string linkProgram(const std::vector<std::string>& objects, Runtime runtime, const CompileOptions& options, const WorkDirectory& work,
                        DiagnosticPrinter& printer) {
  std::string programPath = work.file("program");
  std::vector<std::string> command = linkCommand(objects, runtime, programPath, options, printer);
  if (command.empty()) return "";
  frontend::ProcessResult result = frontend::runProcess(command, {.stdout_to_stderr = true, .verbose = options.verbose});
  if (!result.started)
    return printer.error(Fault::input, "cannot run the host compiler '" + options.host_compiler + "': " + result.error), "";
  if (result.exit_code != 0 || result.signal) {
    // A main may call what nobody defines.
    bool own = runtime == Runtime::library;
    return printer.error(own ? Fault::input : Fault::internal, own ? "linking failed (see above)" : "linking failed"), "";
  }
  auto program = readWholeFile(programPath);
  if (!program) return printer.error(Fault::internal, llvm::toString(program.takeError())), "";
  return std::move(*program);
}

}  // namespace mxc::driver

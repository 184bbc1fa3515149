// The arguments behind the object file are those that the runtime's build wrote down in lib/link_runtime.txt: one a line; names of
// archives stand relative to that file's folder.
#include "driver/link.h"

#include "frontend/stage/process.h"
#include "llvm/ADT/StringRef.h"

namespace mxc::driver {

using frontend::Fault;

std::vector<std::string> linkCommand(const std::string& object, const std::string& program, const CompileOptions& options,
                                     DiagnosticPrinter& printer) {
  std::string folder = installRoot() + "/lib/";
  auto list = readWholeFile(folder + "link_runtime.txt");
  if (!list)
    return printer.error(Fault::internal, "the runtime is not installed: " + llvm::toString(list.takeError())),
           std::vector<std::string>();
  std::vector<std::string> command = {options.host_compiler, "-o", program, object};
  for (llvm::StringRef rest = *list; !rest.empty();) {
    auto [line, next] = rest.split('\n');
    rest = next;
    if (line.empty()) continue;
    command.push_back(line.starts_with("-") || line.starts_with("/") ? line.str() : folder + line.str());
  }
  return command;
}

std::string linkProgram(const std::string& object, const CompileOptions& options, const WorkDirectory& work,
                        DiagnosticPrinter& printer) {
  std::string objectPath = work.file("model.o"), programPath = work.file("program");
  if (llvm::Error error = writeWholeFile(objectPath, object))
    return printer.error(Fault::input, llvm::toString(std::move(error))), "";
  std::vector<std::string> command = linkCommand(objectPath, programPath, options, printer);
  if (command.empty()) return "";
  frontend::ProcessResult result = frontend::runProcess(command, {.stdout_to_stderr = true, .verbose = options.verbose});
  if (!result.started)
    return printer.error(Fault::input, "cannot run the host compiler '" + options.host_compiler + "': " + result.error), "";
  if (result.exit_code != 0 || result.signal) return printer.error(Fault::internal, "linking failed"), "";
  auto program = readWholeFile(programPath);
  if (!program) return printer.error(Fault::internal, llvm::toString(program.takeError())), "";
  return std::move(*program);
}

}  // namespace mxc::driver

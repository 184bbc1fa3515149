// Showing diagnostics: `file:line:column: error: message`, the source line, a caret under the operation's name, notes.
//
// The columns that host compilers report for a call differ (its name, its parenthesis), so the caret goes to the operation's name in the
// line, the occurrence nearest to the column.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "frontend/diagnostic.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"

namespace mxc::driver {

// Exit codes of mxc.
enum ExitCode { kSuccess = 0, kInputWrong = 1, kUsageWrong = 2, kUnsupported = 3, kInternal = 70 };

// Whether diagnostics are coloured; automatic: on a terminal.
enum class Color { automatic, always, never };

// Writes diagnostics to standard error and remembers what the exit code is to be.
class DiagnosticPrinter {
 public:
  explicit DiagnosticPrinter(Color color = Color::automatic);
  void print(const frontend::Diagnostic& diagnostic);
  frontend::DiagnosticSink sink() {
    return [this](const frontend::Diagnostic& diagnostic) { print(diagnostic); };
  }
  // An error without a place: "mxc: error: message".
  void error(frontend::Fault fault, const std::string& message);
  // One of the runtime's: what it does not read is unsupported, all else is the input's fault.
  void error(const absl::Status& status);

  // A place with the column of what stands there: `word`, an operation or a function.
  frontend::SourcePlace pointed(const frontend::SourcePlace& place, const std::string& word);

  bool failed() const { return exit_code_ != kSuccess; }
  // That of the gravest error; success if there was none.
  ExitCode exitCode() const { return exit_code_; }

 private:
  void printPlaced(const frontend::SourcePlace& place, const char* kind, const std::string& message, const std::string& word);
  const std::vector<std::string>& lines(const std::string& file);
  std::string colored(const char* code, const std::string& text) const;

  bool colored_;
  ExitCode exit_code_ = kSuccess;
  std::map<std::string, std::vector<std::string>> files_;
};

// Where the caret goes in `line`, and how many characters it underlines: the occurrence of one of `words` nearest to `column` (from 1;
// 0: unknown). If there is none, the function that is called at the column, else {column, 1}; {0, 0} if there is no column either.
std::pair<size_t, size_t> findCaret(const std::string& line, const std::vector<std::string>& words, size_t column);

// Moves the columns of all places of a module to where carets go, for those who show a column without the line (Plans, reports).
void pointAtNames(mlir::ModuleOp module, DiagnosticPrinter& printer);

// While it lives, diagnostics of MLIR in `context` go to `printer`. A message may begin with "unsupported: " or "internal: ".
std::unique_ptr<mlir::ScopedDiagnosticHandler> showMlirDiagnostics(mlir::MLIRContext& context, DiagnosticPrinter& printer);

}  // namespace mxc::driver

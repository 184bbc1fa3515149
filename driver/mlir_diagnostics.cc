// MLIR's diagnostics become the user's: locations are unwrapped to the line of the operation, its callers become notes, and the
// operation's name loses its dialect.
#include "driver/diagnostics.h"
#include "mlir/IR/Location.h"

namespace mxc::driver {

using frontend::Diagnostic;
using frontend::Fault;
using frontend::SourcePlace;

namespace {

// The innermost file location, and the places from which it was called.
void unwrap(mlir::Location location, SourcePlace& place, std::vector<SourcePlace>& callers) {
  if (auto named = llvm::dyn_cast<mlir::NameLoc>(location)) return unwrap(named.getChildLoc(), place, callers);
  if (auto call = llvm::dyn_cast<mlir::CallSiteLoc>(location)) {
    unwrap(call.getCallee(), place, callers);
    SourcePlace caller;
    std::vector<SourcePlace> outer;
    unwrap(call.getCaller(), caller, outer);
    callers.push_back(caller);
    callers.insert(callers.end(), outer.begin(), outer.end());
    return;
  }
  if (auto fused = llvm::dyn_cast<mlir::FusedLoc>(location)) {
    for (mlir::Location part : fused.getLocations())
      if (place.file.empty()) unwrap(part, place, callers);
    return;
  }
  if (auto file = llvm::dyn_cast<mlir::FileLineColLoc>(location)) place = {file.getFilename().str(), file.getLine(), file.getColumn()};
}

// "'mx.dense' op expects ..." becomes "dense expects ..."; `word` becomes "dense". An operation of another dialect is ours to answer for.
void readMessage(std::string text, Diagnostic& diagnostic) {
  llvm::StringRef message = text;
  if (message.consume_front("unsupported: ")) diagnostic.fault = Fault::unsupported;
  if (message.consume_front("internal: ")) diagnostic.fault = Fault::internal;
  auto [quoted, rest] = message.drop_front(message.starts_with("'") ? 1 : 0).split("' op ");
  if (!message.starts_with("'") || rest.empty() || !quoted.contains('.')) {
    diagnostic.message = message.str();
    return;
  }
  auto [dialect, op] = quoted.split('.');
  if (dialect != "mx") diagnostic.fault = Fault::internal;
  rest = rest.ltrim();
  if (rest.consume_front("unsupported: ")) diagnostic.fault = Fault::unsupported;
  diagnostic.word = op.str();
  diagnostic.message = (dialect == "mx" ? op : quoted).str() + " " + rest.str();
}

}  // namespace

std::unique_ptr<mlir::ScopedDiagnosticHandler> showMlirDiagnostics(mlir::MLIRContext& context, DiagnosticPrinter& printer) {
  context.printOpOnDiagnostic(false);
  return std::make_unique<mlir::ScopedDiagnosticHandler>(&context, [&printer](mlir::Diagnostic& given) {
    Diagnostic diagnostic;
    std::vector<SourcePlace> callers;
    if (given.getSeverity() != mlir::DiagnosticSeverity::Error) diagnostic.severity = Diagnostic::Severity::warning;
    unwrap(given.getLocation(), diagnostic.place, callers);
    readMessage(given.str(), diagnostic);
    for (mlir::Diagnostic& note : given.getNotes()) {
      SourcePlace place;
      std::vector<SourcePlace> ignored;
      unwrap(note.getLocation(), place, ignored);
      diagnostic.notes.push_back({place, note.str()});
    }
    for (const SourcePlace& caller : callers) diagnostic.notes.push_back({caller, "called from here"});
    printer.print(diagnostic);
  });
}

}  // namespace mxc::driver

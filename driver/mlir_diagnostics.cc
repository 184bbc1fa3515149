// MLIR's diagnostics become the user's: locations are unwrapped to the line of the operation, its callers become notes, and the
// operation's name loses its dialect.
#include "driver/diagnostics.h"
#include "frontend/import/op_schema.h"
#include "mlir/IR/Location.h"

namespace mxc::driver {

using frontend::Diagnostic;
using frontend::Fault;
using frontend::SourcePlace;

namespace {

// What a location says: the innermost place, the places from which it was called, and the operation that stands there.
struct Unwrapped {
  SourcePlace place;
  std::vector<SourcePlace> callers;
  std::string word;
};

// The operation in an automatic name: "conv2d" in "encoder.conv2d0.weight". Empty if the user chose the name.
std::string operationIn(llvm::StringRef name) {
  for (llvm::StringRef rest = name; !rest.empty();) {
    auto [outer, last] = rest.rsplit('.');
    llvm::StringRef op = (last.empty() ? outer : last).rtrim("0123456789");
    if (frontend::findOpSchema({op.data(), op.size()})) return op.str();
    rest = last.empty() ? llvm::StringRef() : outer;
  }
  return "";
}

void unwrap(mlir::Location location, Unwrapped& result) {
  if (auto named = llvm::dyn_cast<mlir::NameLoc>(location)) {
    if (result.word.empty()) result.word = operationIn(named.getName());
    unwrap(named.getChildLoc(), result);
  } else if (auto call = llvm::dyn_cast<mlir::CallSiteLoc>(location)) {
    unwrap(call.getCallee(), result);
    Unwrapped caller;
    unwrap(call.getCaller(), caller);
    result.callers.push_back(caller.place);
    result.callers.insert(result.callers.end(), caller.callers.begin(), caller.callers.end());
  } else if (auto fused = llvm::dyn_cast<mlir::FusedLoc>(location)) {
    for (mlir::Location part : fused.getLocations())
      if (result.place.file.empty()) unwrap(part, result);
  } else if (auto file = llvm::dyn_cast<mlir::FileLineColLoc>(location)) {
    result.place = {file.getFilename().str(), file.getLine(), file.getColumn()};
  }
}

// Element types as the DSL writes them, without quotes: "got 'i1'" becomes "got bool".
std::string withDslTypes(std::string text) {
  static constexpr std::pair<llvm::StringRef, llvm::StringRef> kNames[] = {
      {"'f32'", "f32"}, {"'f64'", "f64"}, {"'i32'", "i32"}, {"'i64'", "i64"}, {"'ui8'", "u8"}, {"'i1'", "bool"}, {"'index'", "index"}};
  for (auto [from, to] : kNames)
    for (size_t at; (at = text.find(from)) != std::string::npos;) text.replace(at, from.size(), to);
  return text;
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

// The same location with the column of its innermost place moved to `word`.
mlir::Location pointed(mlir::Location location, const std::string& word, DiagnosticPrinter& printer) {
  if (auto named = llvm::dyn_cast<mlir::NameLoc>(location)) return mlir::NameLoc::get(named.getName(), pointed(named.getChildLoc(), word, printer));
  if (auto call = llvm::dyn_cast<mlir::CallSiteLoc>(location)) return mlir::CallSiteLoc::get(pointed(call.getCallee(), word, printer), call.getCaller());
  if (auto fused = llvm::dyn_cast<mlir::FusedLoc>(location)) {
    llvm::SmallVector<mlir::Location> parts;
    for (mlir::Location part : fused.getLocations()) parts.push_back(pointed(part, word, printer));
    return mlir::FusedLoc::get(location.getContext(), parts, fused.getMetadata());
  }
  auto file = llvm::dyn_cast<mlir::FileLineColLoc>(location);
  if (!file) return location;
  SourcePlace place = printer.pointed({file.getFilename().str(), file.getLine(), file.getColumn()}, word);
  return mlir::FileLineColLoc::get(file.getFilename(), place.line, place.column);
}

}  // namespace

void pointAtNames(mlir::ModuleOp module, DiagnosticPrinter& printer) {
  for (mlir::Operation& op : module.getBody()->getOperations()) {
    auto named = llvm::dyn_cast<mlir::NameLoc>(op.getLoc());
    std::string word = named ? operationIn(named.getName()) : "";
    op.setLoc(pointed(op.getLoc(), word.empty() ? op.getName().stripDialect().str() : word, printer));
  }
}

std::unique_ptr<mlir::ScopedDiagnosticHandler> showMlirDiagnostics(mlir::MLIRContext& context, DiagnosticPrinter& printer) {
  context.printOpOnDiagnostic(false);
  return std::make_unique<mlir::ScopedDiagnosticHandler>(&context, [&printer](mlir::Diagnostic& given) {
    Diagnostic diagnostic;
    if (given.getSeverity() != mlir::DiagnosticSeverity::Error) diagnostic.severity = Diagnostic::Severity::warning;
    Unwrapped at;
    unwrap(given.getLocation(), at);
    diagnostic.place = at.place;
    diagnostic.word = at.word;
    readMessage(withDslTypes(given.str()), diagnostic);
    for (mlir::Diagnostic& note : given.getNotes()) {
      Unwrapped place;
      unwrap(note.getLocation(), place);
      diagnostic.notes.push_back({place.place, withDslTypes(note.str()), place.word});
    }
    for (const SourcePlace& caller : at.callers) diagnostic.notes.push_back({caller, "called from here", ""});
    printer.print(diagnostic);
  });
}

}  // namespace mxc::driver

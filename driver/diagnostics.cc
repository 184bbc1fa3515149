// See diagnostics.h.
#include "driver/diagnostics.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <fstream>

#include "frontend/import/op_schema.h"

namespace mxc::driver {

using frontend::Diagnostic;
using frontend::Fault;
using frontend::SourcePlace;

namespace {

ExitCode exitCodeOf(Fault fault) {
  switch (fault) {
    case Fault::input: return kInputWrong;
    case Fault::usage: return kUsageWrong;
    case Fault::unsupported: return kUnsupported;
    case Fault::internal: return kInternal;
  }
  return kInternal;
}

// What stands in the source for an operation: its function in the DSL, or an operator.
std::vector<std::string> spellings(const std::string& op) {
  static const std::map<std::string, std::string> kOperators = {
      {"add", "+"}, {"sub", "-"}, {"mul", "*"}, {"div", "/"}, {"neg", "-"}};
  std::vector<std::string> words;
  if (op.empty()) return words;
  const frontend::OpSchema* schema = frontend::findOpSchema(op);
  words.emplace_back(schema ? std::string(schema->function) : op);
  if (auto found = kOperators.find(op); found != kOperators.end()) words.push_back(found->second);
  return words;
}

bool isWordCharacter(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Is `word` at `at` in `line`, and not a part of a longer identifier?
bool standsAt(const std::string& line, const std::string& word, size_t at) {
  if (!isWordCharacter(word[0])) return true;
  bool before = at > 0 && isWordCharacter(line[at - 1]);
  bool after = at + word.size() < line.size() && isWordCharacter(line[at + word.size()]);
  return !before && !after;
}

// The identifier that a call at `column` is made with: GCC gives the column of its parenthesis, clang that of its first letter.
std::pair<size_t, size_t> callAt(const std::string& line, size_t column) {
  if (column == 0 || column > line.size()) return {column, column ? 1 : 0};
  size_t begin = column - 1, end = begin;
  if (line[begin] == '(') {
    while (begin > 0 && isWordCharacter(line[begin - 1])) --begin;
  } else {
    while (end < line.size() && isWordCharacter(line[end])) ++end;
  }
  return begin == end ? std::pair<size_t, size_t>{column, 1} : std::pair<size_t, size_t>{begin + 1, end - begin};
}

std::string asText(const SourcePlace& place, size_t column) {
  if (place.file.empty()) return "mxc";
  std::string text = place.file;
  if (place.line) text += ":" + std::to_string(place.line);
  if (place.line && column) text += ":" + std::to_string(column);
  return text;
}

}  // namespace

std::pair<size_t, size_t> findCaret(const std::string& line, const std::vector<std::string>& words, size_t column) {
  std::pair<size_t, size_t> best = callAt(line, column);
  size_t best_distance = std::string::npos;
  for (const std::string& word : words) {
    for (size_t at = line.find(word); at != std::string::npos; at = line.find(word, at + 1)) {
      if (!standsAt(line, word, at)) continue;
      size_t start = at + 1, end = start + word.size();
      size_t distance = column < start ? start - column : column > end ? column - end : 0;
      if (distance >= best_distance) continue;
      best_distance = distance;
      best = {start, word.size()};
    }
    if (best_distance != std::string::npos) return best;
  }
  return best;
}

DiagnosticPrinter::DiagnosticPrinter(Color color)
    : colored_(color == Color::always || (color == Color::automatic && isatty(STDERR_FILENO))) {}

std::string DiagnosticPrinter::colored(const char* code, const std::string& text) const {
  return colored_ ? "\033[" + std::string(code) + "m" + text + "\033[0m" : text;
}

const std::vector<std::string>& DiagnosticPrinter::lines(const std::string& file) {
  auto [entry, fresh] = files_.try_emplace(file);
  if (!fresh || file.empty()) return entry->second;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) entry->second.push_back(line);
  return entry->second;
}

SourcePlace DiagnosticPrinter::pointed(const SourcePlace& place, const std::string& word) {
  const auto& source = lines(place.file);
  if (place.line == 0 || place.line > source.size()) return place;
  return {place.file, place.line, static_cast<uint32_t>(findCaret(source[place.line - 1], spellings(word), place.column).first)};
}

void DiagnosticPrinter::printPlaced(const SourcePlace& place, const char* kind, const std::string& message,
                                    const std::string& word) {
  const auto& source = lines(place.file);
  bool shown = place.line > 0 && place.line <= source.size();
  std::pair<size_t, size_t> caret{place.column, 1};
  if (shown) caret = findCaret(source[place.line - 1], spellings(word), place.column);
  bool error = std::string(kind) == "error";
  std::string text = colored("1", asText(place, caret.first) + ": ") + colored(error ? "1;31" : "1;36", std::string(kind) + ": ") +
                     colored("1", message) + "\n";
  if (shown && caret.first) {
    const std::string& line = source[place.line - 1];
    std::string margin;
    for (size_t i = 0; i + 1 < caret.first; ++i) margin += i < line.size() && line[i] == '\t' ? '\t' : ' ';
    text += line + "\n" + margin + colored("1;32", "^" + std::string(std::max<size_t>(caret.second, 1) - 1, '~')) + "\n";
  }
  std::fputs(text.c_str(), stderr);
}

void DiagnosticPrinter::print(const Diagnostic& diagnostic) {
  bool error = diagnostic.severity == Diagnostic::Severity::error;
  if (error) exit_code_ = std::max(exit_code_, exitCodeOf(diagnostic.fault));
  printPlaced(diagnostic.place, error ? "error" : "warning", diagnostic.message, diagnostic.word);
  for (const frontend::Note& note : diagnostic.notes) printPlaced(note.place, "note", note.message, note.word);
}

void DiagnosticPrinter::error(Fault fault, const std::string& message) {
  Diagnostic diagnostic;
  diagnostic.fault = fault;
  diagnostic.message = message;
  print(diagnostic);
}

void DiagnosticPrinter::error(const absl::Status& status) {
  error(absl::IsUnimplemented(status) ? frontend::Fault::unsupported : frontend::Fault::input, std::string(status.message()));
}

}  // namespace mxc::driver

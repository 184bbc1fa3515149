// What is told to the user: errors, warnings and notes with their place in his source.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace mxc::frontend {

// A place in a source file. line 0: the file as a whole; file empty: no place.
struct SourcePlace {
  std::string file;
  uint32_t line = 0, column = 0;
};

struct Note {
  SourcePlace place;
  std::string message;
  std::string word = {};  // as in Diagnostic
};

// Whose fault it is decides the exit code of mxc.
enum class Fault {
  input,        // the user's model or file is wrong
  usage,        // the command line is wrong
  unsupported,  // valid, but mxc cannot do it
  internal,     // a bug of mxc
};

struct Diagnostic {
  enum class Severity { error, warning };
  Severity severity = Severity::error;
  Fault fault = Fault::input;
  SourcePlace place;
  std::string message;  // one line, no period at its end
  std::string word;     // where the caret goes: this word in the line, nearest to the column; empty: the column
  std::vector<Note> notes;
};

// Receives diagnostics in the order in which they are found. A function that fails has reported at least one error.
using DiagnosticSink = std::function<void(const Diagnostic&)>;

}  // namespace mxc::frontend

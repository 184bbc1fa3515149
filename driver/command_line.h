// The command line of mxc beside its parsing, which is CLI11's: flags with one dash and several letters as clang has them, response
// files, help, what was meant by a mistyped word; and the whole as data, from which the manual page and the completions are made.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "driver/diagnostics.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace mxc::driver {

struct Flag {
  std::vector<std::string> names;    // "-v", "--verbose"; of a positional argument: its name alone
  std::string value;                 // "FILE"; empty: takes none
  std::vector<std::string> choices;  // of its value; empty: any
  std::string help, default_value;
  bool positional = false, required = false;
};

struct Verb {
  std::string name, summary;  // the name of mxc's own flags is empty
  std::vector<Flag> flags;
};

// mxc's own flags, then the verbs in their order.
std::vector<Verb> describeCommandLine(const CLI::App& app);

// Sets up help and usage of `app` and of the verbs that are added to it after this.
void styleHelp(CLI::App& app);

// What is wrong with a value that must be one of `choices`; empty: nothing.
std::string wrongChoice(const std::string& given, const std::vector<std::string>& choices);

// An option whose value is one of `choices`. A wrong one is an error that names them.
CLI::Option* addChoice(CLI::App& verb, const std::string& name, std::string& value, const std::vector<std::string>& choices,
                       const std::string& help);
// --color.
void addColor(CLI::App& verb, Color& color);

// What CLI11 is to parse: `@file` replaced by the words in that file, -MF FILE and the like spelled with two dashes. What follows "--"
// stays as it is. Error text in `error`.
std::vector<std::string> readArguments(int argc, const char* const* argv, std::string& error);

// Parses and runs the verb. Returns the exit code of a wrong command line, or -1.
int parseCommandLine(CLI::App& app, std::vector<std::string> arguments);

}  // namespace mxc::driver

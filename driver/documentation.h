// The manual page and the shells' completions, made from the command line's own definition, so that they cannot fall behind it.
#pragma once

#include <string>
#include <vector>

#include "driver/command_line.h"

namespace mxc::driver {

// mxc.1, in the man macros of roff.
std::string manualPage(const std::vector<Verb>& verbs);
// A script for bash: complete -F _mxc mxc.
std::string bashCompletion(const std::vector<Verb>& verbs);
// A completion function for zsh (#compdef mxc).
std::string zshCompletion(const std::vector<Verb>& verbs);

// --man, --completion=bash|zsh: printed instead of running a verb.
void addDocumentation(CLI::App& app);

}  // namespace mxc::driver

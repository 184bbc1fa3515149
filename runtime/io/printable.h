// Text of unknown origin (a cell, a name in a file), made fit for a line of a message: whatever it holds, it neither breaks the line
// nor reaches the terminal as a command.
#pragma once

#include <cstddef>
#include <string>

namespace mxc::io {

// What a message shows of a cell or a name.
constexpr size_t kMostShown = 60;

// The text with line feeds as \n, tabs as \t and other control characters and bytes that are no UTF-8 as \xNN. Longer than `most`
// bytes: cut there, with "..." for the rest.
std::string printable(const std::string& text, size_t most = std::string::npos);

// Is it well-formed UTF-8? Control characters are.
bool is_utf8(const std::string& text);

}  // namespace mxc::io

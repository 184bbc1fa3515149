// How far a model's code has got while it is staged: a page shared by mxc and the staging process.
//
// The staging process writes the place of each operation before it makes it; mxc reads the last one after the process has ended,
// whatever ended it: an exception, a signal, a limit.
#pragma once

#include <cstdint>

namespace mxc::frontend {

struct Progress {
  enum Phase : uint32_t { loading, describing, done };
  Phase phase;
  uint32_t line, column;  // 0: no operation yet
  char op[64];
  char file[944];
};

}  // namespace mxc::frontend

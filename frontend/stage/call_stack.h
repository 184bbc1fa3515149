// Return addresses in symbol JSON become places in the source: the lines of helper functions' callers.
#pragma once

#include <string>

namespace mxc::frontend {

// Replaces each `"frames": [address, ...]` of the JSON that mxc-stage wrote by `"callers": [[file, line, column], ...]`, read from the
// line table of `object` (the model's shared object, compiled from `source`). An address without a line is left out.
std::string nameCallers(const std::string& json, const std::string& object, const std::string& source);

}  // namespace mxc::frontend

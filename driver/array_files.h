// NumPy's files on the command line: NAME=FILE.npy.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "driver/diagnostics.h"
#include "driver/loaded_library.h"

namespace mxc::driver {

// "image=digit.npy" as its two parts. Nothing after an error, which has been printed; `flag` is named in it.
std::optional<std::pair<std::string, std::string>> readAssignment(const std::string& flag, const std::string& text, DiagnosticPrinter& printer);

// The arrays of NAME=FILE.npy each. Nothing after an error, which has been printed.
std::optional<Arrays> readArrays(const std::string& flag, const std::vector<std::string>& assignments, DiagnosticPrinter& printer);

// The arrays of an archive. Nothing after an error, which has been printed.
std::optional<Arrays> readArchive(const std::string& path, DiagnosticPrinter& printer);

}  // namespace mxc::driver

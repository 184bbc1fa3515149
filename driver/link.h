// Making a program out of a model's object file with the host's linker.
#pragma once

#include <string>

#include "driver/compile.h"
#include "driver/files.h"

namespace mxc::driver {

// The linker's command. Empty after an error, which has been printed.
std::vector<std::string> linkCommand(const std::string& object, const std::string& program, const CompileOptions& options,
                                     DiagnosticPrinter& printer);

// Links `object` with the runtime into a program, whose bytes are returned. Empty after an error, which has been printed.
std::string linkProgram(const std::string& object, const CompileOptions& options, const WorkDirectory& work,
                        DiagnosticPrinter& printer);

}  // namespace mxc::driver

// Making a program out of a model's object file with the host's linker.
#pragma once

#include <string>

#include "driver/compile.h"
#include "driver/files.h"

namespace mxc::driver {

// Links `object` with the runtime into a program, whose bytes are returned. Empty after an error, which has been printed.
std::string linkProgram(const std::string& object, const CompileOptions& options, const WorkDirectory& work,
                        DiagnosticPrinter& printer);

}  // namespace mxc::driver

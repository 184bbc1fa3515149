// Embedded libraries: --emit=lib, shared and header, and --emit=obj with --params.
#pragma once

#include <string>
#include <vector>

#include "codegen/compile.h"
#include "driver/compile.h"
#include "driver/files.h"

namespace mxc::driver {

// Whether the output is a library, be it an object or its header alone.
bool isLibrary(const CompileOptions& options);

// Whether the flags go together. False after an error, which has been printed.
bool checkLibraryOptions(const CompileOptions& options, DiagnosticPrinter& printer);

// Writes the library with its headers beside it, or the header alone. `variants`: the same program for newer processors, x86-64-v3 and v4,
// or none. Errors are in `printer`.
void writeLibrary(codegen::CompiledProgram& program, std::vector<codegen::CompiledProgram>& variants, const CompileOptions& options,
                  const std::string& output, const WorkDirectory& work, DiagnosticPrinter& printer);

}  // namespace mxc::driver

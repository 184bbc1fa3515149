// Files that hold a `main` of their own beside their models: what may be asked of them, and how the host compiler compiles them.
#pragma once

#include <string>
#include <vector>

#include "driver/compile.h"
#include "frontend/stage/stage.h"

namespace mxc::driver {

// Whether a program is asked for, and not a form on the way to one.
bool isProgram(const CompileOptions& options);

// Whether the options go with a program that has the file's main. Otherwise an error has been printed.
bool checkMainOptions(const frontend::SourceFile& file, const CompileOptions& options, DiagnosticPrinter& printer);
// The same of a form other than a program, which holds one model and no main.
bool checkModelOfMainFile(const frontend::SourceFile& file, const CompileOptions& options, DiagnosticPrinter& printer);

// The command that compiles the file to `object`. frontend/CMakeLists.txt precompiles mxc/mxc.h with its flags.
std::vector<std::string> mainCommand(const CompileOptions& options, const std::string& object);
// Runs it. False after an error, which has been printed.
bool compileMain(const CompileOptions& options, const std::string& object, DiagnosticPrinter& printer);

}  // namespace mxc::driver

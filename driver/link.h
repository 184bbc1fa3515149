// Making a program out of object files with the host's linker.
#pragma once

#include <string>
#include <vector>

#include "driver/compile.h"
#include "driver/files.h"

namespace mxc::driver {

// What a program is linked with beside its objects: the standard trainer, or what a `main` of the user's own may call.
enum class Runtime { trainer, library };

// The linker's command. Empty after an error, which has been printed.
std::vector<std::string> linkCommand(const std::vector<std::string>& objects, Runtime runtime, const std::string& program,
                                     const CompileOptions& options, DiagnosticPrinter& printer);

// Links the object files into a program, whose bytes are returned. Empty after an error, which has been printed.
std::string linkProgram(const std::vector<std::string>& objects, Runtime runtime, const CompileOptions& options, const WorkDirectory& work,
                        DiagnosticPrinter& printer);

// The command that makes a shared library of an object. What is visible in the object is what the library shows.
std::vector<std::string> sharedCommand(const std::string& object, const std::string& library, const std::string& name,
                                       const CompileOptions& options);

// Makes a shared library, called `name`, of an object: a file in `work`. Empty after an error, which has been printed.
std::string linkShared(const std::string& object, const std::string& name, const CompileOptions& options, const WorkDirectory& work,
                       DiagnosticPrinter& printer);

}  // namespace mxc::driver

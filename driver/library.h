// Embedded libraries: --emit=lib, shared and header, and --emit=obj with --params.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "codegen/compile.h"
#include "driver/compile.h"
#include "driver/files.h"
#include "driver/output_set.h"
#include "runtime/core/plan_view.h"

namespace mxc::driver {

// Whether the output is a library, be it an object or its header alone.
bool isLibrary(const CompileOptions& options);

// Whether the flags go together. False after an error, which has been printed.
bool checkLibraryOptions(const CompileOptions& options, DiagnosticPrinter& printer);

// What a library is made of: the same model for each set of sizes.
struct LibrarySet {
  std::map<std::string, int64_t> dims;             // empty: there is one set
  codegen::CompiledProgram program;
  std::vector<codegen::CompiledProgram> variants;  // for newer processors, x86-64-v3 and v4, or none
  std::string all_trained;                         // the Plan that it would have if it trained everything; empty: it does, or trains nothing
};

// What the Plan of a library says beside those of programs: where its weights are ("embed" or "file"), the flags that it was compiled with, and the
// sizes of its set but the batch ("length=16,width=3", by which embed::is_alike goes).
std::vector<std::pair<std::string, std::string>> libraryFacts(const CompileOptions& options, const std::map<std::string, int64_t>& dims);

// The number that tells headers of one build from those of another (plan::Library::build), from the Plans of all sets and where the weights are.
uint64_t buildNumber(const std::vector<core::PlanView>& sets, bool weights_beside);

// The files that addLibrary makes for this output; none if it is no library.
std::vector<NamedFile> libraryFiles(const CompileOptions& options, const std::string& output);

// Adds the library with its headers beside it, or the header alone. Errors are in `printer`: also, parameters that have other shapes
// in one set than in another.
void addLibrary(std::vector<LibrarySet>& sets, const CompileOptions& options, const std::string& output, const WorkDirectory& work,
                OutputSet& outputs, DiagnosticPrinter& printer);

}  // namespace mxc::driver

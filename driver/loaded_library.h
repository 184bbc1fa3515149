// A model's library made for this machine, loaded into mxc and run on arrays: behind `mxc run --params` and `mxc verify`.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "driver/aligned_plan.h"
#include "driver/compile.h"
#include "driver/files.h"
#include "runtime/io/npz.h"

namespace mxc::driver {

using Arrays = std::map<std::string, io::NpyArray>;

class LoadedLibrary {
 public:
  // Compiles the model with its parameters, if it has any, into a shared library in `work`, which outlives this, and loads that. Null after an
  // error, which has been printed.
  static std::unique_ptr<LoadedLibrary> make(CompileOptions options, const WorkDirectory& work, DiagnosticPrinter& printer);
  ~LoadedLibrary();

  const core::PlanView& plan() const { return plan_.view(); }

  std::vector<std::string> outputs() const;  // names, in the model's order

  // The outputs that are wanted, for as many samples as the inputs have (for one if the model has no inputs with samples); an input may also be
  // one sample without its batch axis. Nothing after an error, which has been printed: an input is missing, has another type or shape, has
  // another number of samples than the others, or a value that the model has no place for; an output that is one for all samples is wanted
  // for more of them than the model takes at a time. Inputs that are not the model's are not looked at. Requires: the outputs are the model's.
  std::optional<Arrays> run(const Arrays& inputs, const std::set<std::string>& wanted, DiagnosticPrinter& printer);

 private:
  LoadedLibrary() = default;
  bool load(const std::string& path, DiagnosticPrinter& printer);
  bool runPart(const Arrays& inputs, Arrays& results, int64_t first, int64_t n, int64_t count, DiagnosticPrinter& printer);
  std::optional<int64_t> countSamples(const Arrays& inputs, DiagnosticPrinter& printer) const;

  AlignedPlan plan_;
  void* handle_ = nullptr;
  void* context_ = nullptr;
  int (*run_)(void*, const void* const*, void* const*, int64_t) = nullptr;
  void (*destroy_)(void*) = nullptr;
  const char* (*status_text_)(int) = nullptr;
};

}  // namespace mxc::driver

// Tensors within a model, by the names that the symbol graph gives to its operations, as outputs: so they can be compared one by one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "driver/diagnostics.h"
#include "driver/files.h"
#include "driver/loaded_library.h"

namespace mxc::driver {

// What a reference has an array for.
struct ReferencedTensor {
  std::string name;
  bool output = false;          // of the model's own
  frontend::SourcePlace place;  // of the operation
  std::string op;               // which it is
};

// Replaces `options.source` by the same model in `work` with all tensors as outputs that `reference` has arrays for, and warns of arrays that
// are none of the model's. An operation's result has its name; if it has several, the others are NAME.1, NAME.2 and so on. Returns the
// tensors in the order of computation, and in `inner` the names of all operations that are not outputs of the model's own. Nothing after an error,
// which has been printed.
std::optional<std::vector<ReferencedTensor>> exposeTensors(CompileOptions& options, const Arrays& reference,
                                                           const WorkDirectory& work, std::vector<std::string>& inner,
                                                           DiagnosticPrinter& printer);

}  // namespace mxc::driver

// A static library of one object.
#pragma once

#include <optional>
#include <string>

#include "driver/output_set.h"

namespace mxc::driver {

// The archive, with the list of the object's symbols by which linkers find it, in GNU's format. `object` is a file, and is not held in memory; `name`: what
// the archive calls it, of 15 characters at most. The same object gives the same bytes: no time, no user. Nothing after an error, which has been printed.
std::optional<Content> archiveOf(const std::string& object, const std::string& name, DiagnosticPrinter& printer);

}  // namespace mxc::driver

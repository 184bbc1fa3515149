// Internal errors, mxc's own crashes among them, leave a file with which they can be had again.
#pragma once

#include <string>

#include "driver/diagnostics.h"

namespace mxc::driver {

// From here on a crash of this process is told in one line and ends it with exit code 70, after writing the reproducer, if there is one.
void installCrashHandler();

// While it lives, a crash writes `text` to `path` in the current folder. At most one at a time.
class Reproducer {
 public:
  // Requires: `text` outlives this.
  Reproducer(std::string path, const std::string& text);
  ~Reproducer();
  Reproducer(const Reproducer&) = delete;
  Reproducer& operator=(const Reproducer&) = delete;

  // Writes it now and says so.
  void write(DiagnosticPrinter& printer);

 private:
  std::string path_;
  const std::string& text_;
};

}  // namespace mxc::driver

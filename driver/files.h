// Files of the driver: where mxc is installed, temporary folders and what lies in them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "llvm/Support/Error.h"

namespace mxc::driver {

class DiagnosticPrinter;

// The folder above the one that mxc lies in: it holds include/mxc/ and lib/mxc/. Both in a build and
// where mxc is installed, so that an installation can be moved.
std::string installRoot();

// A folder for intermediate files: a fresh one that is removed with what is in it when this goes or mxc is interrupted, or the one named `kept`, which stays.
class WorkDirectory {
 public:
  explicit WorkDirectory(const std::string& kept = "");
  ~WorkDirectory();
  WorkDirectory(const WorkDirectory&) = delete;
  WorkDirectory& operator=(const WorkDirectory&) = delete;
  const std::string& path() const { return path_; }
  std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }
  // Empty: it was made. Otherwise what went wrong.
  const std::string& error() const { return error_; }

 private:
  std::string path_, error_;
  bool kept_;
  int slot_ = -1;  // in removeOnSignal's list
};

// The file's bytes.
llvm::Expected<std::string> readWholeFile(const std::string& path);
// Writes an intermediate file; an error is printed. What a command leaves goes through output_set.h.
void writeIntermediate(const std::string& path, std::string_view bytes, DiagnosticPrinter& printer);

}  // namespace mxc::driver

// The files that a command makes: all of them appear, or none does, and none of them is one that the command reads.
//
// What they hold is collected while the command works, and is written at its end, into files beside, which are then renamed together. If one cannot
// take its place, those that have are taken back, and what was there before is there again; signals that end a program wait so long. A crash of the
// machine, or SIGKILL, between two renames may leave some new files beside old ones.
#pragma once

#include <string>
#include <vector>

#include "driver/diagnostics.h"

namespace mxc::driver {

// What a file is to hold, in order: bytes, and what is in other files. So large parts need not be in memory.
class Content {
 public:
  Content() = default;
  Content(std::string bytes) { add(std::move(bytes)); }
  void add(std::string bytes) { parts_.push_back({std::move(bytes), ""}); }
  // The file stays as it is until the output has been written.
  void addFile(std::string path) { parts_.push_back({"", std::move(path)}); }

  struct Part {
    std::string bytes, file;  // one of both
  };
  const std::vector<Part>& parts() const { return parts_; }

 private:
  std::vector<Part> parts_;
};

class OutputSet {
 public:
  // Later ones appear after earlier ones. "-" is standard output, and a device or pipe is written as it is, before files appear. A file that was
  // there keeps its permissions. `executable`: with the permission to run.
  void add(std::string path, Content content, bool executable = false) {
    files_.push_back({std::move(path), std::move(content), executable, false});
  }

  // The same for what is only to be looked at: a pipe whose reader has left (`mxc compile --report=memory | head -1`) is no error.
  void addDisplay(std::string path, Content content) { files_.push_back({std::move(path), std::move(content), false, true}); }

  // Writes them all. False after an error, which has been printed; then no file has changed, whatever has gone to devices and pipes.
  bool commit(DiagnosticPrinter& printer);

 private:
  struct File {
    std::string path;
    Content content;
    bool executable, is_display;
  };
  std::vector<File> files_;
};

// A file of a command line and what it is there: {"the weights", "lenet.weights"}.
struct NamedFile {
  std::string what, path;
};

// Whether `written`, none of which is written yet, are different files, none of which is among `read`. Standard output and devices are
// left out. False after an error, which has been printed: "lenet.cpp: the program would be written over the model".
bool checkOverwriting(const std::vector<NamedFile>& read, const std::vector<NamedFile>& written, DiagnosticPrinter& printer);

}  // namespace mxc::driver

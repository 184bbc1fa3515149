// The engine of the process, through which arrays and executors run: which kind it is, and a record of what it does.
//
//     int main(int argc, char** argv) {
//       mxc::set_engine({.serial = true});          // before anything uses it
//       mxc::TraceFile trace("what_ran.json");      // written when it goes away
//       ...
//     }
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "mxc/error.h"

namespace mxc {

namespace engine {
class Trace;
}

struct EngineOptions {
  bool serial = false;       // each operation runs when it is called, on the thread that calls: the same results, easier to follow
  int threads = 0;           // that compute; 0: one per CPU. Results do not depend on it
  int64_t run_ahead = 4096;  // operations queued and not ended at which the program waits
};

// Throws: arrays or executors have been made already; numbers that are impossible (threads in [0, 256], run_ahead at least 1).
void set_engine(const EngineOptions& options, Here here = Here::current());

// While it lives, what runs is recorded: operations with their lanes and sizes, steps of graphs, and who waited for what. The file is for
// chrome://tracing or Perfetto. One at a time.
class TraceFile {
 public:
  // Throws: the file cannot be written; another one records.
  explicit TraceFile(std::string path, Here here = Here::current());
  ~TraceFile();  // `finish`; an error has nobody to go to
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;
  // Waits for all that is queued, and writes the file. Nothing is recorded afterwards. Throws: it cannot be written.
  void finish(Here here = Here::current());

 private:
  std::string path_;
  std::unique_ptr<engine::Trace> trace_;  // null: finished
};

}  // namespace mxc

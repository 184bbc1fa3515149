// The engine of the process as imperative code sees it (mxc/engine.h).
#include <utility>

#include "absl/strings/str_cat.h"
#include "mxc/engine.h"
#include "runtime/engine/default_engine.h"
#include "runtime/engine/trace.h"
#include "runtime/io/atomic_file.h"
#include "runtime/ndarray/held.h"

namespace mxc {

void set_engine(const EngineOptions& options, Here here) {
  if (options.threads < 0 || options.threads > 256) throw Error(absl::StrCat("set_engine: ", options.threads, " threads: 0 to 256 are possible"), here);
  if (options.run_ahead < 1) throw Error(absl::StrCat("set_engine: run_ahead is ", options.run_ahead, ": at least 1"), here);
  engine::Engine::Options own = engine::default_options();
  own.naive = options.serial;
  if (options.threads > 0) own.threads[static_cast<int>(engine::Lane::compute)] = options.threads;
  own.run_ahead = static_cast<size_t>(options.run_ahead);
  const absl::Status status = engine::make_default_engine(own);
  if (!status.ok()) throw Error(absl::StrCat("set_engine: ", status.message()), here);
}

TraceFile::TraceFile(std::string path, Here here) : path_(std::move(path)) {
  engine::Engine& engine = engine::default_engine();
  if (engine.trace() != nullptr) throw Error("TraceFile: another one records", here);
  if (const absl::Status status = io::check_writable(path_); !status.ok()) throw Error(absl::StrCat("TraceFile: ", status.message()), here);
  engine.untold();  // waits: a trace begins and ends while nothing runs
  trace_ = std::make_unique<engine::Trace>();
  engine.set_trace(trace_.get());
}

TraceFile::~TraceFile() {
  try {
    finish();
  } catch (const Error&) {
  }
}

void TraceFile::finish(Here here) {
  if (trace_ == nullptr) return;
  ndarray::settle_all();
  engine::Engine& engine = engine::default_engine();
  engine.untold();
  engine.set_trace(nullptr);
  const std::string text = std::exchange(trace_, nullptr)->json();
  const absl::Status status = io::write_file_atomically(path_, {{text.data(), text.size()}});
  if (!status.ok()) throw Error(absl::StrCat("TraceFile: ", status.message()), here);
}

}  // namespace mxc

// See default_engine.h.
#include "runtime/engine/default_engine.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/core/thread_pool.h"

namespace mxc::engine {

namespace {

// Release on change, acquire on reading: who sees the pointer sees the engine made.
std::atomic<Engine*> current{nullptr};

std::unique_ptr<Engine> make_engine() {
  absl::StatusOr<std::unique_ptr<Engine>> engine = Engine::create(default_options());
  if (!engine.ok()) engine = Engine::create({.naive = true});  // needs no threads and so cannot fail
  return *std::move(engine);
}

// In a child without an engine of its own this does nothing. Failures stay untold: the frame of main may ask for them still (own_main.cc).
void wait_at_exit() { current.load(std::memory_order_acquire)->untold(); }

}  // namespace

Engine::Options default_options() {
  Engine::Options options;
  options.threads[static_cast<int>(Lane::compute)] = std::clamp(core::available_cpus(), 1, 256);
  return options;
}

absl::Status make_default_engine(const Engine::Options& options) {
  absl::StatusOr<std::unique_ptr<Engine>> made = Engine::create(options);
  if (!made.ok()) return made.status();
  Engine* none = nullptr;
  if (!current.compare_exchange_strong(none, made->get(), std::memory_order_acq_rel)) {
    return absl::FailedPreconditionError("the engine is at work already: choose it before anything uses it");
  }
  std::atexit(wait_at_exit);
  (void)made->release();
  return absl::OkStatus();
}

Engine& default_engine() {
  Engine* engine = current.load(std::memory_order_acquire);
  if (engine != nullptr && !engine->inherited()) return *engine;
  std::unique_ptr<Engine> made = make_engine();
  // Two threads may come here at once: one engine stays, the other ends unused. A forked child leaves its parent's engine as it is.
  if (!current.compare_exchange_strong(engine, made.get(), std::memory_order_acq_rel)) return *engine;
  if (engine == nullptr) std::atexit(wait_at_exit);
  return *made.release();
}

extern "C" const char* mxc_untold_failure() {
  Engine* engine = current.load(std::memory_order_acquire);
  if (engine == nullptr) return nullptr;
  const Engine::Untold untold = engine->untold();
  if (untold.operations == 0) return nullptr;
  static std::string text;
  text = absl::StrCat("an operation failed, and nobody has read its result: ", untold.oldest.message());
  if (untold.operations > 1) absl::StrAppend(&text, "; and ", untold.operations - 1, untold.operations == 2 ? " other" : " others");
  return text.c_str();
}

}  // namespace mxc::engine

// The engine of the process: what arrays and executors run through unless they are given another.
//
// A process has exactly one, the only object here that is reached by no argument: arrays made in different places of a program meet in
// operations, and so must belong to one engine. Everything else takes its engine as an argument.
#pragma once

#include "runtime/engine/engine.h"

namespace mxc::engine {

// Made at the first call: a thread per CPU in the compute lane, one in each other lane; the serial engine if the system grants no
// threads. It is never destroyed, so that arrays with static storage may end after it; at `exit` the process waits for all its
// operations. The child of a fork gets one of its own; variables of its parent's stay with the parent's.
// Threads: callable from any, also at once.
Engine& default_engine();

// What it is made with unless somebody has said otherwise; and making it with other options. Error: it is there already; as of Engine::create.
Engine::Options default_options();
absl::Status make_default_engine(const Engine::Options& options);

// What failed on it without anybody having been told, once all that is queued has ended: a line for the user; null if nothing did. The text stays
// until the next call. Called at the end of `main`, when no other thread uses the engine (own_main.cc).
extern "C" const char* mxc_untold_failure();

}  // namespace mxc::engine

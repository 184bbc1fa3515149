// The role of a process that is no worker: `mxc launch`, the worker of rank 0 or a launcher of DMLC's kind starts the program once more, as the
// job's scheduler.
#pragma once

namespace mxc::kv {

// Called by whoever makes stores, so that a program that makes some can be a scheduler. Does nothing.
void keep_role();

}  // namespace mxc::kv

// The scheduler's whole life, before `main` would begin (own_main.cc). Returns -1 if this process is none, or else its exit code.
extern "C" int mxc_run_role();

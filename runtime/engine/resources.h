// Resources that operations share and that are no arrays: random numbers and scratch memory. Each is a variable of the engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/engine/engine.h"

namespace mxc::engine {

// A source of random numbers. An operation that draws takes its place in the source when it is pushed, and names `variable` among what it
// reads. Its numbers are then fixed by that place and the position of each element (core/philox.h): they depend neither on threads nor on
// when it runs, and operations that draw may run at once.
// Threads: callable from any; places are handed out in the order of the calls.
class Random {
 public:
  Random(Engine& engine, uint64_t seed) : engine_(engine), variable_(engine.variable("random")), seed_(seed) {}

  // The k-th call since the seed was set (from 0) gives k: with the seed and a stream, the numbers of a compiled graph's random operation of
  // that stream in its step k.
  struct Draw {
    uint64_t seed, step;
  };
  Draw next();

  // Starts over with another seed; what was handed out before stays what it is.
  void set_seed(uint64_t seed);

  // `wait_idle` for it waits for all operations that draw.
  const Variable& variable() const { return variable_; }
  Engine& engine() const { return engine_; }

 private:
  Engine& engine_;
  const Variable variable_;
  std::mutex mutex_;    // guards the two below
  uint64_t seed_;
  uint64_t step_ = 0;
};

// Memory for intermediate values of operations, grown to the largest demand and kept. Operations that use one Scratch run one after
// another. As with all that is mutated, it carries the error of an operation that failed: `recover` its variable before the next use.
class Scratch {
 public:
  Scratch(Engine& engine, std::string name) : engine_(engine), variable_(engine.variable(std::move(name))) {}
  // Waits for the operations that use it.
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  // What an operation that uses it names among what it mutates.
  const Variable& variable() const { return variable_; }

  // At least `bytes` bytes of unspecified contents, aligned to plan::kAlign, until the body returns or asks again.
  // Error: ResourceExhausted. Threads: only within the body of an operation that mutates `variable`.
  absl::StatusOr<void*> get(size_t bytes);

 private:
  Engine& engine_;
  const Variable variable_;
  void* memory_ = nullptr;  // this and the next guarded by holding the variable
  size_t bytes_ = 0;
};

}  // namespace mxc::engine

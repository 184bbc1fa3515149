// The headers of an embedded library: C99, and C++17 over it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/core/plan_view.h"

namespace mxc::driver {

// A set of sizes that a library is compiled for.
struct SizeSet {
  core::PlanView view;
  std::map<std::string, int64_t> dims;  // as --dims says them; empty: the library has one set
};

struct HeaderFacts {
  std::string prefix;     // of all names: "lenet"
  std::string file;       // the header's name without its ending: "lenet"
  std::string library;    // "liblenet.a"
  uint64_t build = 0;     // plan::Library::build
  bool hosted = true;     // there is a C library
  bool weights_beside = false;
  std::vector<SizeSet> sets;         // at least one
  uint64_t arena_bytes = 0;          // what a context takes
  uint64_t all_trained_bytes = 0;    // of a library that trains: what it would take if it trained everything
  uint64_t stack_bytes = 0;          // what its functions take of the caller's stack

  const core::PlanView& plan() const { return sets[0].view; }
  bool trains() const { return plan().graphs().size() > 1; }
};

// What a context takes (runtime/embed/context.h) with all sets of sizes.
uint64_t contextBytes(const std::vector<core::PlanView>& sets);

// The most samples of a run: those of a set; of a run that is not told its set, the largest batch of those that it may take
// (embed::is_alike).
int64_t batchOf(const core::PlanView& view);
int64_t largestBatch(const HeaderFacts& facts);

// <prefix>.h and <prefix>.hpp.
std::string libraryHeader(const HeaderFacts& facts);
std::string libraryWrapper(const HeaderFacts& facts);

}  // namespace mxc::driver

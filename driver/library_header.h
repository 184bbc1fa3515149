// The headers of an embedded library: C99, and C++17 over it.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/core/plan_view.h"

namespace mxc::driver {

struct HeaderFacts {
  std::string prefix;     // of all names: "lenet"
  std::string file;       // the header's name without its ending: "lenet"
  std::string library;    // "liblenet.a"
  uint64_t build = 0;     // plan::Library::build
  bool hosted = true;     // there is a C library
  bool weights_beside = false;
};

// <prefix>.h and <prefix>.hpp.
std::string libraryHeader(const core::PlanView& view, const HeaderFacts& facts);
std::string libraryWrapper(const core::PlanView& view, const HeaderFacts& facts);

}  // namespace mxc::driver

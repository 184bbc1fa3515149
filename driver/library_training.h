// What the headers of a library that trains say of training.
#pragma once

#include <string>
#include <vector>

#include "driver/library_header.h"

namespace mxc::driver {

// The parameters that a library trains. Requires: it does.
std::vector<std::string> namesOfTrained(const core::PlanView& view);

// Requires: facts.trains().
std::string trainingHeader(const HeaderFacts& facts);

// For C++: structures, and members of the class `model`.
std::string trainingStructs(const HeaderFacts& facts);
std::string trainingMembers(const HeaderFacts& facts);

}  // namespace mxc::driver

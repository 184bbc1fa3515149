// Parameters that begin with what a file holds (the DSL's from_file). Facts of the Plan say where: "init_file:NAME" is the file of parameter
// NAME, "init_tensor:NAME" the tensor in it; without that one it is called NAME there too. The init graph leaves zeros for them: weights are
// in no program.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/core/plan_view.h"
#include "runtime/io/safetensors.h"

namespace mxc::io {

// Reads the files that the Plan names, each once: parameters and states by buffer, in the Plan's order, and what they begin with, row-major.
// FILE.npy holds one array; FILE.npz and FILE.safetensors hold several, by name. Error (invalid argument, or unimplemented for a kind of
// array that is not read), with the parameter and the file: the file cannot be read or is damaged, has no tensor of the name, or one of
// another shape or dtype.
absl::StatusOr<std::vector<std::pair<uint32_t, std::shared_ptr<const Tensor>>>> read_initial_files(const core::PlanView& view);

}  // namespace mxc::io

// Parameters that begin with what a file holds (the DSL's from_file). Facts of the Plan say where: "init_file:NAME" is the file of parameter
// NAME, "init_tensor:NAME" the tensor in it; without that one it is called NAME there too. The init graph leaves zeros for them: weights are
// in no program.
#pragma once

#include "absl/status/status.h"
#include "runtime/train/model.h"

namespace mxc::train {

// Reads the files that the Plan names, each once, into the model's parameters and states. FILE.npy holds one array; FILE.npz and
// FILE.safetensors hold several, by name. Error (invalid argument, or unimplemented for a kind of array that is not read), with the
// parameter and the file: the file cannot be read or is damaged, has no tensor of the name, or one of another shape or dtype.
absl::Status take_initial_files(const Model& model);

}  // namespace mxc::train

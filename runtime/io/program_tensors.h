// The persistent tensors of a program as a file holds them (safetensors): parameters, the layers' state, and the optimizer's.
//
// Tensors are plain row-major whatever layout the program keeps them in: each parameter under its name, each optimizer slot under
// its binding's name ("conv2d0.weight/momentum"), and other persistent state under its buffer's name. Metadata that say where a
// file comes from: `format` ("mxc-checkpoint-1"), `model`, `optimizer`, `hash` (of the parameters' and states' names, shapes and types).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/core/plan_view.h"
#include "runtime/io/safetensors.h"

namespace mxc::io {

inline constexpr char kCheckpointFormat[] = "mxc-checkpoint-1";

struct ProgramTensor {
  std::string name;
  uint32_t buffer;
  bool of_optimizer;  // else inference needs it too
};

// Parameters first, then optimizer slots, then other persistent state; bytes that several buffer records share appear once.
std::vector<ProgramTensor> program_tensors(const core::PlanView& view);

// A fact of the program, or `fallback`.
std::string program_fact(const core::PlanView& view, const char* key, const char* fallback = "");
inline std::string program_name(const core::PlanView& view) { return program_fact(view, "model", "model"); }

// True for the scalars that the runtime itself counts or is told by other means: step, seed.
inline bool is_internal_hyper(const std::string& name) { return name == "step" || name == "seed"; }

std::vector<int64_t> shape_of(const plan::Buffer& buffer);
// "20x6 f32".
std::string described(plan::DType dtype, const std::vector<int64_t>& shape);

// The command that makes the program with another optimizer.
std::string recompile_command(const core::PlanView& view, const std::string& optimizer);

// What a file has to hold: all tensors, or what inference needs (then other tensors and the metadata may be there or not).
enum class Wanted { everything, for_inference };

// The address of a tensor, in its buffer's layout.
using TensorPlace = std::function<void*(const ProgramTensor&)>;

// A file with the metadata of origin and all tensors, which are read from their places, part by part, when it is written.
TensorFile checkpoint_file(const core::PlanView& view, const std::vector<ProgramTensor>& tensors, const TensorPlace& place);

// Error (invalid argument), for files of this format (of any, if everything is wanted) and with `path` in front: another model, optimizer
// or hash; a tensor that is missing, unknown, or of another shape or dtype, named.
absl::Status check_checkpoint(const core::PlanView& view, const std::vector<ProgramTensor>& tensors, const std::string& path,
                              const TensorFile& file, Wanted wanted);

// Writes a tensor of the buffer's shape and type into its memory, a part at a time. Error: of Tensor::read; then a part is written.
absl::Status put_tensor(const plan::Buffer& buffer, const Tensor& tensor, void* memory);

// The same for what is wanted of a file's tensors. Requires: the file has been checked.
absl::Status take_tensors(const core::PlanView& view, const std::vector<ProgramTensor>& tensors, const TensorFile& file, Wanted wanted,
                  const TensorPlace& place);

}  // namespace mxc::io

// The weights of an embedded library: a checkpoint's tensors as the program's kernels want them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "driver/diagnostics.h"
#include "runtime/core/plan_view.h"

namespace mxc::driver {

// The image of the persistent area, of a library that trains without the optimizer's state and hyper-parameters: every parameter and state of the
// safetensors file `path` in its layout and at its place, hyper-parameters at their defaults, zeros between. Nothing after an error, which has been printed: the file is none, ends early, is of another
// model, lacks a tensor or has it in another shape or type.
std::optional<std::string> weightImage(const core::PlanView& view, const std::string& path, DiagnosticPrinter& printer);

// A number for the names, types, layouts and places of what lies there: images of Plans with one number are interchangeable.
uint64_t weightLayout(const core::PlanView& view);

// A weight file (runtime/embed/weights.h) with this image.
std::string weightFile(const std::string& image, uint64_t layout);

// The first eight bytes of a text's SHA-256, as a number.
uint64_t hashOf(const std::string& text);

}  // namespace mxc::driver

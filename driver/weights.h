// The weights of an embedded library: a checkpoint's tensors as the program's kernels want them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "driver/output_set.h"
#include "runtime/core/plan_view.h"

namespace mxc::driver {

// Writes the image of the persistent area to the file `image`: of a library that trains without the optimizer's state and hyper-parameters; every
// parameter and state of the safetensors file `params` (empty: the model has none) in its layout and at its place, hyper-parameters at
// their defaults, zeros between. How large it is costs no memory. Its size; nothing after an error, which has been printed: the file is none, ends
// early, is of another model, lacks a tensor or has it in another shape or type.
std::optional<uint64_t> writeWeightImage(const core::PlanView& view, const std::string& params, const std::string& image, DiagnosticPrinter& printer);

// A number for the names, types, layouts and places of what lies there: images of Plans with one number are interchangeable.
uint64_t weightLayout(const core::PlanView& view);

// A weight file (runtime/embed/weights.h) with the image that lies in a file, which stays there until it is written. Nothing after an error, which has
// been printed.
std::optional<Content> weightFile(const std::string& image, uint64_t layout, DiagnosticPrinter& printer);

// The first eight bytes of a text's SHA-256, as a number.
uint64_t hashOf(const std::string& text);

}  // namespace mxc::driver

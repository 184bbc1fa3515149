// The memory that MXNet would plan for a model, by the rules behind figure 7 of its paper (arXiv 1512.01274): one step an op, forward
// and backward, nothing fused, a free list of whole blocks. An analysis to compare mxc's own plan with; nothing is compiled from it.
//
// Counted are internal variables: what forward steps write, what dropout and its kin keep, gradients, that of the inputs included.
// Parameters, their gradients and the inputs lie outside. Sizes are logical: no padding of layouts, no alignment.
#pragma once

#include "ir/paper_facts.h"
#include "passes/pipeline.h"

namespace mxc::passes {

enum class PaperPass { forward, training };

struct PaperMemory {
  int64_t planned = 0;  // bytes that the plan allocates
  // The largest sum of bytes alive at once, outputs in place where they may be and outputs that nobody reads left out: no plan for
  // these steps in this order needs less.
  int64_t peakLive = 0;
};

// `forward`: what the model's outputs need; if it has none, its losses. `training`: what its losses need, and all gradients.
// Requires: infer-shapes has run and build-graphs has not.
PaperMemory planByPaper(mlir::ModuleOp module, PaperPass pass, MemoryPlan plan, BackwardReads reads);

}  // namespace mxc::passes

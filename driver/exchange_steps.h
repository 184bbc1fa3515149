// When a step of several shards needs what others have, and has what they need, as the steps of the graph "gradients" say.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "runtime/core/plan_view.h"

namespace mxc::driver {

// The steps of a graph in the order in which they run; those of a loop as often as it runs, once if only the run knows.
std::vector<const plan::Step*> stepsInOrder(const core::PlanView& view, const plan::Graph& graph);

// Places in `steps`: the first that reads `value`, and the last that writes `contribution`. None: no step does. It is memory that counts: views are buffers
// of their own over the same bytes.
struct ExchangeSteps {
  std::optional<size_t> needed, ready;
};
ExchangeSteps exchangeSteps(const core::PlanView& view, const std::vector<const plan::Step*>& steps, const plan::Buffer& value,
                            const plan::Buffer& contribution);

}  // namespace mxc::driver

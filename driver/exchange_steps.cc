// See exchange_steps.h.
#include "driver/exchange_steps.h"

namespace mxc::driver {

namespace {

void flatten(const core::PlanView& view, const plan::Block& block, std::vector<const plan::Step*>& steps) {
  const bool repeats = block.kind == plan::BlockKind::loop && block.trip_buffer == plan::kNone;
  for (int64_t trip = 0; trip < (repeats ? block.trip_count : 1); ++trip) {
    for (const plan::Item& item : view.items(block)) {
      if (item.kind == plan::ItemKind::step) steps.push_back(&view.step(item.index));
      else flatten(view, view.block(item.index), steps);
    }
  }
}

bool shareBytes(const plan::Buffer& a, const plan::Buffer& b) {
  return a.space == b.space && a.device == b.device && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

}  // namespace

std::vector<const plan::Step*> stepsInOrder(const core::PlanView& view, const plan::Graph& graph) {
  std::vector<const plan::Step*> steps;
  flatten(view, view.block(graph.block), steps);
  return steps;
}

ExchangeSteps exchangeSteps(const core::PlanView& view, const std::vector<const plan::Step*>& steps, const plan::Buffer& value,
                            const plan::Buffer& contribution) {
  ExchangeSteps found;
  for (size_t step = 0; step < steps.size(); ++step) {
    for (const plan::Arg& arg : view.args(*steps[step])) {
      const plan::Buffer& buffer = view.buffer(arg.buffer);
      if (!found.needed && arg.access != plan::Access::write && shareBytes(buffer, value)) found.needed = step;
      if (arg.access != plan::Access::read && shareBytes(buffer, contribution)) found.ready = step;
    }
  }
  return found;
}

}  // namespace mxc::driver

// The table of optimizers; see optimizers.h.
#include "frontend/import/optimizers.h"

namespace mxc::frontend {

std::span<const OptimizerSchema> optimizers() {
  static const std::vector<OptimizerSchema> all = {
      {"sgd", {{"lr", 0.01}, {"momentum", 0}, {"weight_decay", 0}, {"nesterov", 0}}},
      {"adam", {{"lr", 0.001}, {"beta1", 0.9}, {"beta2", 0.999}, {"epsilon", 1e-8}, {"weight_decay", 0}}},
      {"adamw", {{"lr", 0.001}, {"beta1", 0.9}, {"beta2", 0.999}, {"epsilon", 1e-8}, {"weight_decay", 0.01}}},
  };
  return all;
}

}  // namespace mxc::frontend

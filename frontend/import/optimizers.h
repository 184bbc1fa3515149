// The optimizers that a model can name, with the defaults of their hyper-parameters (those of mxc/model.h).
#pragma once

#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace mxc::frontend {

struct OptimizerSchema {
  std::string_view kind;
  std::vector<std::pair<std::string_view, double>> defaults;
};

std::span<const OptimizerSchema> optimizers();

}  // namespace mxc::frontend

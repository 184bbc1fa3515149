// Look-up in the table that is made when building.
#include "frontend/import/op_schema.h"

#include <algorithm>

namespace mxc::frontend {

const OpSchema* findOpSchema(std::string_view name) {
  auto ops = opSchemas();
  auto found = std::lower_bound(ops.begin(), ops.end(), name, [](const OpSchema& op, std::string_view n) { return op.name < n; });
  return found != ops.end() && found->name == name ? &*found : nullptr;
}

}  // namespace mxc::frontend

// Which field of a source goes to which input of a model. Every source binds by these rules.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/io/dataset.h"
#include "runtime/io/uri.h"

namespace mxc::io {

// True if samples of shape `have` may be delivered as `want`: equal but for extents of 1, or one of them flat.
bool shapes_agree(const std::vector<int64_t>& have, const std::vector<int64_t>& want);

// The index into `offered` for each of the inputs; -1 for an optional one that has none. An input takes, in this order: the field
// named by the parameter `INPUT=FIELD` of the address; the field of its own name; the only field left whose shape agrees (an
// integer input: of an integer field). Error: no such field, no field for an input; both with the list of the fields.
absl::StatusOr<std::vector<int>> bind_fields(const Uri& uri, const std::vector<Field>& inputs, const std::vector<Field>& offered);

// Error: a parameter of the address that is neither among the source's `options` nor the name of an input.
absl::Status check_parameters(const Uri& uri, const std::vector<std::string>& options, const std::vector<Field>& inputs);

}  // namespace mxc::io

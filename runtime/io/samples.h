// Between samples, as data sets and users have them (one after another, each row-major), and buffers of a graph, whose batch
// axis may be anywhere and whose layout may be blocked.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/core/plan_view.h"

namespace mxc::io {

// Shape of one sample: the buffer's extents without the batch axis, which stays with extent batch_unit if that is above 1.
std::vector<int64_t> sample_shape(const plan::Buffer& buffer);

// True if n samples one after another are byte for byte the buffer's own form.
bool is_sample_major(const plan::Buffer& buffer);

// Writes the first n samples of `physical` from `rows`, or reads them back. `scratch` is resized as needed.
// Requires: a batch axis; rows has n samples, physical core::used_bytes(buffer, n) bytes.
void pack_samples(const plan::Buffer& buffer, int64_t n, const void* rows, std::vector<char>* scratch, void* physical);
void unpack_samples(const plan::Buffer& buffer, int64_t n, const void* physical, std::vector<char>* scratch, void* rows);

}  // namespace mxc::io

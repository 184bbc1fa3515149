// Layout: moves a tensor between the plain row-major order that users and files see and the physical order of a Buffer.
//
// Plain: the logical axes in order, contiguous, with the extents of the first n samples. Physical: Buffer.order, with one axis
// optionally split into blocks whose elements lie innermost; strides are those of the compiled batch N whatever n is.
#pragma once

#include <cstdint>

#include "runtime/core/plan.h"

namespace mxc::core {

// Whether the physical order is the plain one.
bool is_plain(const plan::Buffer& buffer);

// Bytes of the plain form of the first n samples.
uint64_t plain_bytes(const plan::Buffer& buffer, int64_t n);

// Writes the first n samples of `physical` from `plain`. Padding elements of blocks become zero as far as they belong to the
// written samples; other samples stay untouched
// (where the batch axis itself is blocked: those of later blocks).
// Requires: plain has plain_bytes(buffer, n), physical used_bytes(buffer, n) bytes; 0 <= n <= batch_capacity(buffer).
void pack(const plan::Buffer& buffer, int64_t n, const void* plain, void* physical);

// The inverse: reads the first n samples of `physical` into `plain`.
void unpack(const plan::Buffer& buffer, int64_t n, const void* physical, void* plain);

// The same for `count` indices of the first axis from `first` on; `plain` holds these alone, `physical` is the whole buffer's.
// Requires: where the first axis is blocked, `first` is a multiple of the block, and so is `count` unless the part reaches the end. A tensor of
// rank 0 has one row.
void pack_rows(const plan::Buffer& buffer, int64_t n, int64_t first, int64_t count, const void* plain, void* physical);
void unpack_rows(const plan::Buffer& buffer, int64_t n, int64_t first, int64_t count, const void* physical, void* plain);

// How many rows these may take at a time for their plain form to have at most `bytes` bytes; never less than one, or than a block.
int64_t rows_within(const plan::Buffer& buffer, uint64_t bytes);

// Position in `plain` of the first value outside [0, buffer.upper_bound), or -1 if there is none or the buffer is unchecked
// (upper_bound 0, or not an integer type). Kernels index by such values without looking.
int64_t find_out_of_bounds(const plan::Buffer& buffer, int64_t n, const void* plain);

}  // namespace mxc::core

// Arrays over the packed memory of parameters (DESIGN: weights live packed). Users see them as plain ones.
//
// An elementwise operation over arrays of one and the same layout, whose result is 0 where its operands are, runs over the memory as it
// lies, padding included, which stays 0: so the update of a parameter costs one pass. Everything else unpacks what it reads, and
// packs what it writes.
#pragma once

#include "runtime/ndarray/pointwise.h"

namespace mxc::ndarray {

// The array itself if it is plain; else a plain copy of what it shows.
NDArray unpacked(const char* op, const NDArray& array, Here here);

// Is it all of a packed memory, in the order of its plain form?
bool is_whole(const Array& array);
bool same_layout(const plan::Buffer& a, const plan::Buffer& b);

// Runs a call, or prepares it for those who know plain arrays alone: replaces packed operands by unpacked ones. `target`: null, or the
// array that the result goes to. Not empty: the result (the target, if there is one); it is queued.
NDArray compute_packed(Pointwise& call, const Kernel& kernel, const NDArray* target);

// Queues target = values. Requires: target is packed; values is plain and has its shape and dtype.
void write_packed(const char* op, const NDArray& target, const NDArray& values, Here here);

}  // namespace mxc::ndarray

// Copies and fills: elements move, none is computed.
#pragma once

#include "runtime/ndarray/array.h"

namespace mxc::ndarray {

// The array itself if it is plain, contiguous and ready to be taken as a run of elements; else such a copy. Error: an empty handle.
NDArray as_run(const NDArray& array, const char* op, Here here);
// The array itself if its memory is plain; else an unpacked copy. Error: an empty handle.
NDArray as_plain(const NDArray& array, const char* op, Here here);

// What follows is queued as a part of the operation `op`, called at `here`.

// Queues target = values, broadcast. Requires: same dtype, device and engine, shapes that fit, target writable.
void copy_into(const char* op, const NDArray& target, const NDArray& values, Here here);
void fill_with(const char* op, const NDArray& target, uint64_t bits, Here here);
// A new array, contiguous. Error: an empty handle.
NDArray copy_of(const char* op, const NDArray& array, Here here);
// Checks and queues target = values, broadcast.
void assign_to(const char* op, const NDArray& target, const ArrayOperand& values, Here here);

}  // namespace mxc::ndarray

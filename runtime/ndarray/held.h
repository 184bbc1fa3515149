// Held products: the other half of chunk.h's idea.
#pragma once

#include <optional>

#include "runtime/ndarray/array.h"

namespace mxc::ndarray {

// source * factor, of the source's shape and dtype, queued when it is needed. Requires: source has a chunk.
NDArray hold_product(const NDArray& source, uint64_t factor, Here here);

// Queues the product of an array, if it is still held.
void settle(Array& array);
// The same for the array that waits on a chunk, and for all there are.
void settle_waiting(Chunk& chunk);
void settle_all();

// Before an array that nobody refers to goes away.
void forget(Array& array);

// The product of which `array` is the last handle, taken out of it: it will not be queued. None if it is no held product.
struct Product {
  NDArray source;
  uint64_t factor;
};
std::optional<Product> take_product(const NDArray& array);

}  // namespace mxc::ndarray

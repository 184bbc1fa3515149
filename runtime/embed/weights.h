// Weights that do not lie in the library: a file, mapped or brought into memory by whoever uses it.
//
// The file: a WeightHeader, then the image of the persistent area, which contexts read where it lies. Numbers are little-endian.
#pragma once

#include "runtime/embed/context.h"

namespace mxc::embed {

constexpr uint32_t kWeightMagic = 0x5743584d;  // "MXCW"
constexpr uint32_t kWeightVersion = 1;

struct WeightHeader {
  uint32_t magic, version;
  uint64_t bytes;        // of the image
  uint64_t layout;       // plan::Library::weights_layout of the libraries that it goes with
  uint64_t checksum;     // of the image
  uint64_t reserved[4];  // 0
};
static_assert(sizeof(WeightHeader) == plan::kAlign);  // so that the image is as aligned as the file

// Every step of it is a bijection of what it has so far: one flipped bit always changes it. The bytes may come in pieces. Requires: each is a multiple of
// 32 bytes; memory of any alignment.
class Checksum {
 public:
  void add(const void* piece, uint64_t bytes);
  uint64_t bytes() const { return bytes_; }
  uint64_t value() const;

 private:
  static constexpr uint64_t kLanes = 4;  // so that the products do not wait for each other
  uint64_t lanes_[kLanes] = {1, 2, 3, 4}, bytes_ = 0;
};

// That of an image in one piece.
uint64_t checksum(const void* image, uint64_t bytes);

// Whether a file in memory is this library's. ok, or null_pointer, misaligned, weights_truncated, weights_other_version,
// weights_other_model, weights_damaged.
Status check_weights(const plan::Library& library, const void* file, uint64_t bytes);

// Makes a context read these weights, which stay where they are as long as it runs; training begins anew from them. Errors as above, and those of `check`.
Status set_weights(Sets sets, Context* context, const void* file, uint64_t bytes);

// Makes a context read the weights of another one, without looking at them again. Errors: those of `check`, no_weights.
Status share_weights(Sets sets, Context* context, const Context* from);

}  // namespace mxc::embed

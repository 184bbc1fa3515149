// Random arrays. Every number is a function of (seed, step, shard, stream, position): of Philox, as in compiled graphs.
#pragma once

#include <cstdint>
#include <memory>

#include "mxc/ndarray.h"

namespace mxc::engine {
class Random;
}

namespace mxc::random {

// Where numbers come from. Equal keys give equal numbers: those of a compiled graph's random operation with this stream, in this step.
struct Key {
  uint64_t seed = 0, step = 0;
  uint32_t shard = 0, stream = 0;
};

// Uniform in [low, high), and normal. dtype: f32 or f64; f16 and bf16 are rounded from f32. What rounding would make `high` is the largest number
// below it. Throws: low, high - low, mean or deviation is infinite in the dtype, or the dtype has no number in [low, high).
NDArray uniform(const Extents& shape, Key key, double low = 0, double high = 1, DType dtype = f32, Here here = Here::current());
NDArray normal(const Extents& shape, Key key, double mean = 0, double deviation = 1, DType dtype = f32, Here here = Here::current());
// Booleans that are true with this probability.
NDArray bernoulli(const Extents& shape, Key key, double probability, Here here = Here::current());

// Draws one after another: the k-th call (from 0) takes the key of step k. A variable of the engine, like an array: operations that draw
// read it. Copies mean the same generator.
// Threads: any; the order of calls is the order of keys.
class Generator {
 public:
  explicit Generator(uint64_t seed, uint32_t stream = 0);
  Generator(const Generator&) = default;  // a move is a copy
  Generator& operator=(const Generator&) = default;

  NDArray uniform(const Extents& shape, double low = 0, double high = 1, DType dtype = f32, Here here = Here::current());
  NDArray normal(const Extents& shape, double mean = 0, double deviation = 1, DType dtype = f32, Here here = Here::current());
  NDArray bernoulli(const Extents& shape, double probability, Here here = Here::current());
  // The key of the next draw, which is thereby taken.
  Key next();

 private:
  std::shared_ptr<engine::Random> source_;
  uint32_t stream_;
};

}  // namespace mxc::random

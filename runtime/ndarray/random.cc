// Random arrays. The numbers come from the kernels of the compiler's random operations; scaling follows kernels.h.
#include "mxc/random.h"

#include "absl/strings/str_cat.h"
#include "runtime/core/philox.h"
#include "runtime/engine/default_engine.h"
#include "runtime/ndarray/pointwise.h"

namespace mxc::random {

using namespace ndarray;

namespace {

// Queues (key, first = 0, parameter) -> [n].
NDArray draw(const char* name, const char* op, const Extents& extents, Key key, plan::DType dtype, float parameter, Here here) {
  const Kernel* kernel = find_kernel(name, dtype);
  if (kernel == nullptr) fail(op, absl::StrCat("is not defined for ", type_name(dtype)), here);
  NDArray out = new_result(engine::default_engine(), cpu(), kernel->result, checked_shape(op, extents, kernel->result, here));
  const Array& to = *Access::peek(out);
  if (to.elements == 0) return out;
  begin_write(*to.chunk);
  to.chunk->engine->push({.name = op, .cheap = to.elements <= 256}, {}, {to.chunk->variable},
                         [kernel, chunk = to.chunk, n = to.elements, words = core::philox_key(key.seed, key.step, key.shard, key.stream),
                          parameter]() mutable -> absl::Status {
                           if (chunk->ensure() == nullptr) return absl::ResourceExhaustedError("no memory for the result");
                           int64_t first = 0;
                           void* with[] = {&words, &first, &parameter, chunk->memory};
                           void* without[] = {&words, &first, chunk->memory};
                           kernel->run(parameter < 0 ? without : with, n, 0, cells(*kernel, n));
                           return absl::OkStatus();
                         });
  return out;
}

constexpr float kNoParameter = -1;

// numbers * scale + shift, each rounded.
NDArray scaled(const char* op, NDArray numbers, double scale, double shift, Here here) {
  static const KernelFamily* mul_add = find_family("mul_add");
  const plan::DType dtype = Access::peek(numbers)->dtype;
  const uint64_t scale_bits = element_bits(op, scale, dtype, here), shift_bits = element_bits(op, shift, dtype, here);
  return compute({op, mul_add, dtype, here, 3, {{std::move(numbers)}, {{}, scale_bits}, {{}, shift_bits}}});
}

bool is_small_float(DType dtype) { return dtype == f16 || dtype == bf16; }

}  // namespace

NDArray uniform(const Extents& shape, Key key, double low, double high, DType dtype, Here here) {
  if (!(low < high)) fail("uniform", absl::StrCat("[", low, ", ", high, ") is empty"), here);
  if (is_small_float(dtype)) return uniform(shape, key, low, high, f32, here).cast(dtype, here);
  NDArray numbers = draw("random_uniform", "uniform", shape, key, to_plan(dtype), kNoParameter, here);
  return low == 0 && high == 1 ? numbers : scaled("uniform", std::move(numbers), high - low, low, here);
}

NDArray normal(const Extents& shape, Key key, double mean, double deviation, DType dtype, Here here) {
  if (!(deviation >= 0)) fail("normal", absl::StrCat("the deviation is ", deviation), here);
  if (is_small_float(dtype)) return normal(shape, key, mean, deviation, f32, here).cast(dtype, here);
  NDArray numbers = draw("random_normal", "normal", shape, key, to_plan(dtype), kNoParameter, here);
  return mean == 0 && deviation == 1 ? numbers : scaled("normal", std::move(numbers), deviation, mean, here);
}

NDArray bernoulli(const Extents& shape, Key key, double probability, Here here) {
  if (!(probability >= 0 && probability <= 1)) fail("bernoulli", absl::StrCat("the probability is ", probability), here);
  return draw("random_bernoulli", "bernoulli", shape, key, plan::DType::f32, static_cast<float>(probability), here);
}

}  // namespace mxc::random

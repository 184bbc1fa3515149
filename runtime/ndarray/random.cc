// Random arrays. The numbers come from the kernels of the compiler's random operations; scaling follows kernels.h.
#include "mxc/random.h"

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "runtime/core/philox.h"
#include "runtime/engine/default_engine.h"
#include "runtime/engine/resources.h"
#include "runtime/ndarray/pointwise.h"
#include "runtime/ndarray/share.h"
#include "runtime/ndarray/small_float.h"

namespace mxc::random {

using namespace ndarray;

namespace {

// Where a draw's numbers come from: a key, and the source that gave it, which the draw reads. Null: the user gave the key.
struct From {
  Key key;
  const engine::Random* source;
};

// Queues (key, first = 0, parameter) -> [n].
NDArray draw(const char* name, const char* op, const Extents& extents, const From& from, plan::DType dtype, float parameter, Here here) {
  const Kernel* kernel = find_kernel(name, dtype);
  if (kernel == nullptr) fail(op, absl::StrCat("is not defined for ", type_name(dtype)), here);
  NDArray out = new_result(engine::default_engine(), cpu(), kernel->result, checked_shape(op, extents, kernel->result, here), here);
  const Array& to = *Access::peek(out);
  if (to.elements == 0) return out;
  begin_write(*to.chunk);
  const Key& key = from.key;
  auto body = [kernel, chunk = to.chunk, n = to.elements, words = core::philox_key(key.seed, key.step, key.shard, key.stream),
               parameter]() mutable -> absl::Status {
    if (chunk->ensure() == nullptr) return no_memory(*chunk);
    int64_t first = 0;
    void* with[] = {&words, &first, &parameter, chunk->memory};
    void* without[] = {&words, &first, chunk->memory};
    void** args = parameter < 0 ? without : with;
    share(*chunk, n, cells(*kernel, n), [&](int64_t begin, int64_t end) { kernel->run(args, n, begin, end); });
    return absl::OkStatus();
  };
  const engine::Traits traits{.name = op, .cheap = to.elements <= 256};
  // A source that was made before a fork belongs to an engine that is not in this process.
  if (from.source == nullptr || &from.source->engine() != to.chunk->engine) {
    to.chunk->engine->push(traits, {}, {to.chunk->variable}, std::move(body));
  } else {
    to.chunk->engine->push(traits, {from.source->variable()}, {to.chunk->variable}, std::move(body));
  }
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

// The largest number of a floating type that is less than `x`.
double largest_below(double x, DType dtype) {
  const double down = -std::numeric_limits<double>::infinity();
  if (dtype == f64) return std::nextafter(x, down);
  if (dtype == f32) {
    const auto near = static_cast<float>(x);
    return static_cast<double>(near) < x ? near : std::nextafter(near, static_cast<float>(down));
  }
  const auto value = [dtype](uint16_t bits) { return static_cast<double>(dtype == f16 ? f16_value(bits) : bf16_value(bits)); };
  const auto near = static_cast<uint16_t>(dtype == f16 ? f16_bits(x) : bf16_bits(static_cast<float>(x)));
  if (value(near) < x) return value(near);
  if (value(near) == 0) return value(0x8001);
  return value(static_cast<uint16_t>(value(near) > 0 ? near - 1 : near + 1));
}

// Rounding may make `high` of a number below it: that becomes the largest number below it.
NDArray kept_below(double high, NDArray numbers, Here here) {
  static const KernelFamily* minimum = find_family("minimum");
  const plan::DType dtype = Access::peek(numbers)->dtype;
  const uint64_t bits = element_bits("uniform", largest_below(high, from_plan(dtype)), dtype, here);
  return compute({"uniform", minimum, dtype, here, 2, {{std::move(numbers)}, {{}, bits}}});
}

NDArray draw_uniform(const Extents& shape, const From& from, double low, double high, DType dtype, Here here) {
  if (is_small_float(dtype)) return kept_below(high, cast_for("uniform", draw_uniform(shape, from, low, high, f32, here), dtype, here), here);
  NDArray numbers = draw("random_uniform", "uniform", shape, from, to_plan(dtype), kNoParameter, here);
  if (low == 0 && high == 1) return numbers;
  return kept_below(high, scaled("uniform", std::move(numbers), high - low, low, here), here);
}

NDArray draw_normal(const Extents& shape, const From& from, double mean, double deviation, DType dtype, Here here) {
  if (is_small_float(dtype)) return cast_for("normal", draw_normal(shape, from, mean, deviation, f32, here), dtype, here);
  NDArray numbers = draw("random_normal", "normal", shape, from, to_plan(dtype), kNoParameter, here);
  return mean == 0 && deviation == 1 ? numbers : scaled("normal", std::move(numbers), deviation, mean, here);
}

NDArray draw_bernoulli(const Extents& shape, const From& from, double probability, Here here) {
  return draw("random_bernoulli", "bernoulli", shape, from, plan::DType::f32, static_cast<float>(probability), here);
}

// Before a generator gives a key away.
void check_uniform(double low, double high, DType dtype, Here here) {
  if (!(low < high)) fail("uniform", absl::StrCat("[", low, ", ", high, ") is empty"), here);
  if (dtype != f64 && dtype != f32 && !is_small_float(dtype)) return;  // `draw` says that there are none
  if (!std::isfinite(rounded(high - low, to_plan(dtype))) || !std::isfinite(rounded(low, to_plan(dtype)))) {
    fail("uniform", absl::StrCat("[", low, ", ", high, ") is too wide for ", to_string(dtype)), here);
  }
  const double last = largest_below(high, dtype);
  if (!std::isfinite(last) || last < low) fail("uniform", absl::StrCat("[", low, ", ", high, ") holds no ", to_string(dtype)), here);
}
void check_normal(double mean, double deviation, DType dtype, Here here) {
  if (!(deviation >= 0)) fail("normal", absl::StrCat("the deviation is ", deviation), here);
  if (!std::isfinite(rounded(mean, to_plan(dtype)))) fail("normal", absl::StrCat("the mean is ", mean, ": no finite ", to_string(dtype)), here);
  if (!std::isfinite(rounded(deviation, to_plan(dtype)))) {
    fail("normal", absl::StrCat("the deviation is ", deviation, ": no finite ", to_string(dtype)), here);
  }
}
void check_bernoulli(double probability, Here here) {
  if (!(probability >= 0 && probability <= 1)) fail("bernoulli", absl::StrCat("the probability is ", probability), here);
}

}  // namespace

NDArray uniform(const Extents& shape, Key key, double low, double high, DType dtype, Here here) {
  check_uniform(low, high, dtype, here);
  return draw_uniform(shape, {key, nullptr}, low, high, dtype, here);
}

NDArray normal(const Extents& shape, Key key, double mean, double deviation, DType dtype, Here here) {
  check_normal(mean, deviation, dtype, here);
  return draw_normal(shape, {key, nullptr}, mean, deviation, dtype, here);
}

NDArray bernoulli(const Extents& shape, Key key, double probability, Here here) {
  check_bernoulli(probability, here);
  return draw_bernoulli(shape, {key, nullptr}, probability, here);
}

Generator::Generator(uint64_t seed, uint32_t stream)
    : source_(std::make_shared<engine::Random>(engine::default_engine(), seed)), stream_(stream) {}

Key Generator::next() {
  const engine::Random::Draw draw = source_->next();
  return {draw.seed, draw.step, 0, stream_};
}

NDArray Generator::uniform(const Extents& shape, double low, double high, DType dtype, Here here) {
  check_uniform(low, high, dtype, here);
  return draw_uniform(shape, {next(), source_.get()}, low, high, dtype, here);
}

NDArray Generator::normal(const Extents& shape, double mean, double deviation, DType dtype, Here here) {
  check_normal(mean, deviation, dtype, here);
  return draw_normal(shape, {next(), source_.get()}, mean, deviation, dtype, here);
}

NDArray Generator::bernoulli(const Extents& shape, double probability, Here here) {
  check_bernoulli(probability, here);
  return draw_bernoulli(shape, {next(), source_.get()}, probability, here);
}

}  // namespace mxc::random

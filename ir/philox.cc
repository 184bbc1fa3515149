// Philox4x32-10; see philox.h.
#include "ir/philox.h"

using namespace mlir;

namespace mxc {
namespace {

constexpr uint32_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
constexpr uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;

Value word(Body& b, uint32_t value, Value like) { return b.constant(static_cast<int32_t>(value), like); }

Value exclusiveOr(Body& b, Value x, Value y) {
  b.match(x, y);
  return b.builder.create<arith::XOrIOp>(b.loc, x, y);
}

// The low and the high 32 bits of x * multiplier.
std::pair<Value, Value> wideProduct(Body& b, Value x, uint32_t multiplier) {
  auto product = b.builder.create<arith::MulUIExtendedOp>(b.loc, x, word(b, multiplier, x));
  return {product.getLow(), product.getHigh()};
}

Value lowWord(Body& b, Value wide) { return b.cast(wide, b.builder.getI32Type()); }
Value highWord(Body& b, Value wide) {
  return lowWord(b, b.builder.create<arith::ShRUIOp>(b.loc, wide, b.constant(32, wide)));
}

Value shiftRight(Body& b, Value x, int bits) { return b.builder.create<arith::ShRUIOp>(b.loc, x, b.constant(bits, x)); }

}  // namespace

PhiloxWords philox(Body& b, PhiloxWords c, std::array<Value, 2> key) {
  for (int round = 0; round < 10; ++round) {
    auto [low0, high0] = wideProduct(b, c[0], kMultiplier0);
    auto [low1, high1] = wideProduct(b, c[2], kMultiplier1);
    c = {exclusiveOr(b, exclusiveOr(b, high1, c[1]), key[0]), low1, exclusiveOr(b, exclusiveOr(b, high0, c[3]), key[1]), low0};
    key = {b.add(key[0], word(b, kWeyl0, key[0])), b.add(key[1], word(b, kWeyl1, key[1]))};
  }
  return c;
}

PhiloxWords randomWords(Body& b, Value seed, Value step, int64_t stream, Value element) {
  Type i32 = b.builder.getI32Type();
  Value count = step ? lowWord(b, step) : b.constant(0, i32);
  return philox(b, {lowWord(b, element), b.constant(static_cast<int32_t>(stream), i32), count, b.constant(step ? 1 : 0, i32)},
                {lowWord(b, seed), highWord(b, seed)});
}

Value uniformFrom(Body& b, Value high, Value low, Type element) {
  if (element.getIntOrFloatBitWidth() <= 32) return b.mul(b.cast(shiftRight(b, high, 8), element), b.constant(0x1p-24, element));
  b.match(high, low);
  // 26 and 27 bits, each exact in a double.
  Value upper = b.cast(shiftRight(b, high, 6), element), lower = b.cast(shiftRight(b, low, 5), element);
  return b.add(b.mul(upper, b.constant(0x1p-26, element)), b.mul(lower, b.constant(0x1p-53, element)));
}

Value normalFrom(Body& b, const PhiloxWords& words, Type element) {
  // 1 - u lies in (0, 1]: its logarithm is finite.
  Value u = b.sub(b.constant(1, element), uniformFrom(b, words[0], words[1], element));
  Value angle = b.mul(uniformFrom(b, words[2], words[3], element), b.constant(6.28318530717958647692, element));
  return b.mul(b.sqrt(b.mul(b.constant(-2, element), b.log(u))), b.cos(angle));
}

}  // namespace mxc

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
Value shiftLeft(Body& b, Value x, int bits) { return b.builder.create<arith::ShLIOp>(b.loc, x, b.constant(bits, x)); }
Value lowBits(Body& b, Value x, int bits) { return b.logicalAnd(x, b.constant((1 << bits) - 1, x)); }

// The words of the block that serves `element` and its neighbours, 1 << shift of them.
PhiloxWords blockOf(Body& b, const PhiloxKey& key, Value element, int shift) {
  Value block = shiftRight(b, element, shift), iteration = b.constant(0, b.builder.getI32Type());
  return philox(b, {lowWord(b, block), highWord(b, block), iteration, iteration}, key);
}

Value uniform32(Body& b, Value word, Type type) { return b.mul(b.cast(shiftRight(b, word, 8), type), b.constant(0x1p-24, type)); }

// The 64-bit number high:low without its last 11 bits, as 26 and 27 bits that are exact in a double.
Value uniform64(Body& b, Value low, Value high, Type type) {
  Value upper = shiftRight(b, high, 6);
  Value lower = b.builder.create<arith::OrIOp>(b.loc, shiftLeft(b, lowBits(b, high, 6), 21), shiftRight(b, low, 11));
  return b.add(b.mul(b.cast(upper, type), b.constant(0x1p-26, type)), b.mul(b.cast(lower, type), b.constant(0x1p-53, type)));
}

bool isWide(Type type) { return type.getIntOrFloatBitWidth() > 32; }

}  // namespace

PhiloxWords philox(Body& b, PhiloxWords c, PhiloxKey key) {
  for (int round = 0; round < 10; ++round) {
    auto [low0, high0] = wideProduct(b, c[0], kMultiplier0);
    auto [low1, high1] = wideProduct(b, c[2], kMultiplier1);
    c = {exclusiveOr(b, exclusiveOr(b, high1, c[1]), key[0]), low1, exclusiveOr(b, exclusiveOr(b, high0, c[3]), key[1]), low0};
    key = {b.add(key[0], word(b, kWeyl0, key[0])), b.add(key[1], word(b, kWeyl1, key[1]))};
  }
  return c;
}

PhiloxKey philoxKey(Body& b, Value seed, Value step, int64_t stream) {
  Type i32 = b.builder.getI32Type();
  if (!step) step = b.constant(-1, b.builder.getI64Type());
  Value shard = b.constant(0, i32), number = b.constant(static_cast<int32_t>(stream), i32);
  PhiloxWords words = philox(b, {lowWord(b, step), highWord(b, step), shard, number}, {lowWord(b, seed), highWord(b, seed)});
  return {words[0], words[1]};
}

Value randomUniform(Body& b, PhiloxKey key, Value element, Type type) {
  if (isWide(type)) {
    PhiloxWords words = blockOf(b, key, element, 1);
    Value odd = b.ne(lowBits(b, element, 1), b.constant(0, element));
    return uniform64(b, b.select(odd, words[2], words[0]), b.select(odd, words[3], words[1]), type);
  }
  PhiloxWords words = blockOf(b, key, element, 2);
  Value place = lowBits(b, element, 2), chosen = words[0];
  for (int i = 1; i < 4; ++i) chosen = b.select(b.eq(place, b.constant(i, place)), words[i], chosen);
  return uniform32(b, chosen, type);
}

Value randomNormal(Body& b, PhiloxKey key, Value element, Type type) {
  Value u, v;
  if (isWide(type)) {
    PhiloxWords words = blockOf(b, key, element, 0);
    u = uniform64(b, words[0], words[1], type);
    v = uniform64(b, words[2], words[3], type);
  } else {
    PhiloxWords words = blockOf(b, key, element, 1);
    Value odd = b.ne(lowBits(b, element, 1), b.constant(0, element));
    u = uniform32(b, b.select(odd, words[2], words[0]), type);
    v = uniform32(b, b.select(odd, words[3], words[1]), type);
  }
  // 1 - u lies in (0, 1]: its logarithm is finite.
  Value radius = b.sqrt(b.mul(b.constant(-2, type), b.log(b.sub(b.constant(1, type), u))));
  return b.mul(radius, b.cos(b.mul(v, b.constant(6.28318530717958647692, type))));
}

}  // namespace mxc

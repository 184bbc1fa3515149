// The table of initialisers; see initialisers.h.
#include "ir/initialisers.h"

#include <cmath>

#include "ir/ops/elementwise.h"
#include "ir/ops/random.h"

using namespace mlir;

namespace mxc {
namespace {

struct Fans {
  double in = 0, out = 0;
};

Fans fansOf(TensorType type) {
  double taps = 1;
  for (int64_t size : type.getShape().drop_front(2)) taps *= static_cast<double>(size);
  return {static_cast<double>(type.getDimSize(1)) * taps, static_cast<double>(type.getDimSize(0)) * taps};
}

// One call of buildInitialValue.
struct Site {
  OpBuilder& b;
  Location loc;
  TensorType type;
  Value seed;
  int64_t stream;

  Value constant(double value) const {
    Value scalar = mx::makeConstant(b, loc, value, type.getElementType());
    return make<mx::BroadcastOp>(b, loc, {scalar}, b.getNamedAttr("to", TypeAttr::get(type)));
  }
  Value uniform(double low, double high) const { return random<mx::RandomUniformOp>("low", low, "high", high); }
  Value normal(double mean, double deviation) const { return random<mx::RandomNormalOp>("mean", mean, "deviation", deviation); }

  template <typename OpType>
  Value random(StringRef first, double x, StringRef second, double y) const {
    return make<OpType>(b, loc, {seed}, {b.getNamedAttr("stream", b.getI64IntegerAttr(stream)), b.getNamedAttr(first, b.getF64FloatAttr(x)),
                                         b.getNamedAttr(second, b.getF64FloatAttr(y)), b.getNamedAttr("to", TypeAttr::get(type))});
  }
};

struct Initialiser {
  StringRef name;
  size_t arguments;
  bool needsFans;
  Value (*build)(const Site& site, ArrayRef<double> args, Fans fans);
};

const Initialiser kInitialisers[] = {
    {"zeros", 0, false, [](const Site& s, ArrayRef<double>, Fans) { return s.constant(0); }},
    {"ones", 0, false, [](const Site& s, ArrayRef<double>, Fans) { return s.constant(1); }},
    {"constant", 1, false, [](const Site& s, ArrayRef<double> a, Fans) { return s.constant(a[0]); }},
    {"uniform", 2, false, [](const Site& s, ArrayRef<double> a, Fans) { return s.uniform(a[0], a[1]); }},
    {"normal", 2, false, [](const Site& s, ArrayRef<double> a, Fans) { return s.normal(a[0], a[1]); }},
    {"xavier", 0, true, [](const Site& s, ArrayRef<double>, Fans f) {
       double bound = std::sqrt(6 / (f.in + f.out));
       return s.uniform(-bound, bound);
     }},
    {"msra", 0, true, [](const Site& s, ArrayRef<double>, Fans f) { return s.normal(0, std::sqrt(2 / f.in)); }},
    {"lecun", 0, true, [](const Site& s, ArrayRef<double>, Fans f) { return s.normal(0, std::sqrt(1 / f.in)); }},
};

}  // namespace

FailureOr<Value> buildInitialValue(OpBuilder& builder, Location loc, StringRef init, ArrayRef<double> args, TensorType type, Value seed,
                                   int64_t stream) {
  const auto* found = llvm::find_if(kInitialisers, [&](const Initialiser& i) { return i.name == init; });
  if (found == std::end(kInitialisers)) {
    InFlightDiagnostic error = emitError(loc) << "there is no initialiser '" << init << "'; there are ";
    llvm::interleaveComma(kInitialisers, error, [&](const Initialiser& i) { error << i.name; });
    return error;
  }
  if (args.size() != found->arguments)
    return emitError(loc) << "initialiser '" << init << "' takes " << found->arguments << " numbers, got " << args.size();
  if (found->needsFans && type.getRank() < 2)
    return emitError(loc) << "initialiser '" << init << "' needs a parameter with at least two axes, got " << shapeText(type);
  if (!isa<FloatType>(type.getElementType()) && found->arguments == 2)
    return emitError(loc) << "initialiser '" << init << "' needs a floating-point parameter";
  return found->build({builder, loc, type, seed, stream}, args, found->needsFans ? fansOf(type) : Fans());
}

}  // namespace mxc

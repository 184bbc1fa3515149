// The table of initialisers; see initialisers.h.
#include "ir/initialisers.h"

#include <cmath>

#include "ir/ops/elementwise.h"
#include "ir/ops/initial.h"
#include "ir/ops/random.h"
#include "ir/ops/shape.h"
#include "llvm/Support/Format.h"

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

  Value constant(double value) const { return mx::makeFilled(b, loc, value, type); }
  Value uniform(double low, double high) const { return random<mx::RandomUniformOp>("low", low, "high", high); }
  Value normal(double mean, double deviation) const { return random<mx::RandomNormalOp>("mean", mean, "deviation", deviation); }

  template <typename OpType>
  Value random(StringRef first, double x, StringRef second, double y) const {
    return make<OpType>(b, loc, {seed}, {b.getNamedAttr("stream", b.getI64IntegerAttr(stream)), b.getNamedAttr(first, b.getF64FloatAttr(x)),
                                         b.getNamedAttr(second, b.getF64FloatAttr(y)), b.getNamedAttr("to", TypeAttr::get(type))});
  }
};

double chosenFan(double which, Fans fans) { return which == 0 ? fans.in : which == 1 ? fans.out : (fans.in + fans.out) / 2; }

Value buildXavier(const Site& s, ArrayRef<double> a, Fans fans) {
  double distribution = a.empty() ? 0 : a[0], fan = chosenFan(a.empty() ? 2 : a[1], fans), magnitude = a.empty() ? 3 : a[2];
  double bound = std::sqrt(magnitude / fan);
  return distribution == 0 ? s.uniform(-bound, bound) : s.normal(0, bound);
}

Value buildMsra(const Site& s, ArrayRef<double> a, Fans fans) {
  double slope = a.empty() ? 0 : a[0];
  return s.normal(0, std::sqrt(2 / ((1 + slope * slope) * chosenFan(a.empty() ? 0 : a[1], fans))));
}

// Random rows, made orthogonal; of a matrix with more rows than columns, its transpose.
Value buildOrthogonal(const Site& s, ArrayRef<double> a, Fans) {
  OpBuilder& b = s.b;
  int64_t rows = s.type.getDimSize(0), columns = s.type.getNumElements() / rows;
  bool tall = rows > columns;
  Site matrix{b, s.loc, tensorType({std::min(rows, columns), std::max(rows, columns)}, s.type.getElementType()), s.seed, s.stream};
  Value value = make<mx::OrthonormaliseOp>(b, s.loc, {matrix.normal(0, 1)});
  if (tall) value = make<mx::TransposeOp>(b, s.loc, {value});
  value = make<mx::ReshapeOp>(b, s.loc, {value}, b.getNamedAttr("shape", b.getDenseI64ArrayAttr(s.type.getShape())));
  return make<mx::MulOp>(b, s.loc, {value, mx::makeConstant(b, s.loc, a[0], s.type.getElementType())});
}

// What numbers must be for there to be such a distribution; empty: they are so.
StringRef uniformFault(ArrayRef<double> a) { return std::isfinite(a[1] - a[0]) && a[0] <= a[1] ? "" : "low <= high"; }
StringRef normalFault(ArrayRef<double> a) { return std::isfinite(a[0] + a[1]) && a[1] >= 0 ? "" : "a deviation of at least 0"; }
StringRef xavierFault(ArrayRef<double> a) {
  if (a.empty()) return "";
  bool known = (a[0] == 0 || a[0] == 1) && (a[1] == 0 || a[1] == 1 || a[1] == 2);
  return !known ? "a distribution and a fan that there are" : a[2] > 0 && std::isfinite(a[2]) ? "" : "a magnitude above 0";
}
StringRef msraFault(ArrayRef<double> a) {
  if (a.empty()) return "";
  return a[1] != 0 && a[1] != 1 && a[1] != 2 ? "a fan that there is" : std::isfinite(a[0]) ? "" : "a finite slope";
}
StringRef oneFault(ArrayRef<double> a) { return std::isfinite(a[0]) ? "" : "a finite number"; }
StringRef noFault(ArrayRef<double>) { return ""; }

std::string shown(ArrayRef<double> numbers) {
  std::string text;
  llvm::raw_string_ostream out(text);
  llvm::interleaveComma(numbers, out, [&](double number) { out << llvm::format("%g", number); });
  return text;
}

struct Initialiser {
  StringRef name;
  SmallVector<size_t, 2> arguments;  // how many numbers it may take
  int64_t rank;                      // at least so many axes
  Value (*build)(const Site& site, ArrayRef<double> args, Fans fans);
  StringRef (*fault)(ArrayRef<double> args) = noFault;
};

const Initialiser kInitialisers[] = {
    {"zeros", {0}, 0, [](const Site& s, ArrayRef<double>, Fans) { return s.constant(0); }},
    {"ones", {0}, 0, [](const Site& s, ArrayRef<double>, Fans) { return s.constant(1); }},
    {"file", {0}, 0, [](const Site& s, ArrayRef<double>, Fans) { return s.constant(0); }},
    {"constant", {1}, 0, [](const Site& s, ArrayRef<double> a, Fans) { return s.constant(a[0]); }, oneFault},
    {"uniform", {2}, 0, [](const Site& s, ArrayRef<double> a, Fans) { return s.uniform(a[0], a[1]); }, uniformFault},
    {"normal", {2}, 0, [](const Site& s, ArrayRef<double> a, Fans) { return s.normal(a[0], a[1]); }, normalFault},
    {"xavier", {0, 3}, 2, buildXavier, xavierFault},
    {"msra", {0, 2}, 2, buildMsra, msraFault},
    {"lecun", {0}, 2, [](const Site& s, ArrayRef<double>, Fans f) { return s.normal(0, std::sqrt(1 / f.in)); }},
    {"orthogonal", {1}, 2, buildOrthogonal, oneFault},
    {"bilinear", {0}, 4, [](const Site& s, ArrayRef<double>, Fans) {
       return make<mx::BilinearKernelOp>(s.b, s.loc, {}, s.b.getNamedAttr("to", TypeAttr::get(s.type)));
     }},
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
  if (!llvm::is_contained(found->arguments, args.size())) {
    InFlightDiagnostic error = emitError(loc) << "initialiser '" << init << "' takes ";
    llvm::interleave(found->arguments, error, " or ");
    return error << " numbers, got " << args.size();
  }
  if (StringRef needed = found->fault(args); !needed.empty())
    return emitError(loc) << "initialiser '" << init << "' needs " << needed << ", got " << shown(args);
  if (type.getRank() < found->rank)
    return emitError(loc) << "initialiser '" << init << "' needs a parameter with at least " << (found->rank == 2 ? "two" : "four")
                          << " axes, got " << shapeText(type);
  return found->build({builder, loc, type, seed, stream}, args, type.getRank() >= 2 ? fansOf(type) : Fans());
}

}  // namespace mxc

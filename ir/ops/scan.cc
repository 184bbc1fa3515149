// Running sums and products are linear recurrences, s[i] = f[i] s[i-1] + t[i], and so is the recurrence's own gradient, in the other
// direction: g[i] = dy[i] + f[i+1] g[i+1] is that of t[i], g[i] s[i-1] that of f[i]. Nothing is ever divided.
#include "ir/ops/scan.h"

#include "ir/ops/elementwise.h"
#include "ir/ops/parts.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "ir/ops/scan.cc.inc"

namespace mxc::mx {

void registerFamily_scan(MxDialect& dialect) {
  dialect.registerOps<
#define GET_OP_LIST
#include "ir/ops/scan.cc.inc"
      >();
}

namespace {

// Each element's predecessor along the axis (its successor if `reverse`), 0 where there is none.
Value predecessor(OpBuilder& b, Location loc, Value x, int64_t axis, bool reverse) {
  TensorType type = rankedType(x);
  int64_t size = type.getDimSize(axis);
  if (size == 1) return makeFilled(b, loc, 0, type);
  Value kept = make<SliceOp>(b, loc, {x}, {numbers(b, "begin", {reverse ? 1 : 0}), numbers(b, "end", {reverse ? size : size - 1}), numbers(b, "axes", {axis})});
  SmallVector<int64_t> before(type.getRank(), 0), after(type.getRank(), 0);
  (reverse ? after : before)[axis] = 1;
  return make<PadOp>(b, loc, {kept}, {numbers(b, "before", before), numbers(b, "after", after)});
}

// 1 at the first place of the axis (the last if `reverse`), else 0.
Value firstOnly(OpBuilder& b, Location loc, TensorType type, int64_t axis, bool reverse) {
  SmallVector<int64_t> dims(type.getShape()), before(type.getRank(), 0), after(type.getRank(), 0);
  (reverse ? before : after)[axis] = dims[axis] - 1;
  dims[axis] = 1;
  Value ones = makeFilled(b, loc, 1, withDims(type, dims));
  return make<PadOp>(b, loc, {ones}, {numbers(b, "before", before), numbers(b, "after", after)});
}

Value scan(OpBuilder& b, Location loc, Value factor, Value term, int64_t axis, bool reverse) {
  return make<LinearScanOp>(b, loc, {factor, term}, {b.getNamedAttr("axis", b.getI64IntegerAttr(axis)), b.getNamedAttr("reverse", b.getBoolAttr(reverse))});
}

// The axis, checked; not that of the batch.
FailureOr<int64_t> scannedAxis(Operation* op, int64_t axis, TensorType type) {
  FailureOr<int64_t> checked = checkAxis(op, axis, type.getRank());
  if (succeeded(checked) && *checked == batchAxis(type)) return op->emitOpError() << "cannot run along the batch axis";
  return checked;
}

template <typename OpType>
LogicalResult inferRunning(OpType op) {
  FailureOr<TensorType> type = expectRank(op, 0, -1);
  if (failed(type) || failed(scannedAxis(op, op.getAxis(), *type))) return failure();
  if (!isa<FloatType>(type->getElementType())) return op.emitOpError() << "expects a floating-point input, got " << type->getElementType();
  return setResult(op, 0, plain(*type)), success();
}

}  // namespace

Value runningProduct(OpBuilder& b, Location loc, Value input, int64_t axis, bool reverse, bool exclusive) {
  Value first = firstOnly(b, loc, rankedType(input), axis, reverse);
  if (exclusive) return scan(b, loc, predecessor(b, loc, input, axis, reverse), first, axis, reverse);
  return scan(b, loc, input, make<MulOp>(b, loc, {first, input}), axis, reverse);
}

LogicalResult LinearScanOp::inferTypes() {
  FailureOr<TensorType> factor = expectRank(*this, 0, -1), term = expectRank(*this, 1, -1);
  if (failed(factor) || failed(term) || failed(scannedAxis(*this, getAxis(), *factor))) return failure();
  if (factor->getShape() != term->getShape() || batchAxis(*factor) != batchAxis(*term))
    return emitOpError() << "expects factor and term of one shape, got " << shapeText(*factor) << " and " << shapeText(*term);
  if (factor->getElementType() != term->getElementType() || !isa<FloatType>(term->getElementType()))
    return emitOpError() << "expects floating-point factor and term, got " << factor->getElementType() << " and " << term->getElementType();
  return setResult(*this, 0, plain(*factor)), success();
}

LogicalResult LinearScanOp::buildGradient(GradientBuilder& g) {
  int64_t axis = *checkAxis(*this, getAxis(), rankedType(getOutput()).getRank());
  bool reverse = getReverse();
  Value next = predecessor(g.builder, g.loc, getFactor(), axis, !reverse);
  Value dterm = scan(g.builder, g.loc, next, g.dy(), axis, !reverse);
  if (g.wants(0)) g.set(0, g.mul(dterm, predecessor(g.builder, g.loc, getOutput(), axis, reverse)));
  if (g.wants(1)) g.set(1, dterm);
  return success();
}

LogicalResult LinearScanOp::lower(KernelBuilder& k) {
  TensorType type = rankedType(getOutput());
  int64_t axis = *checkAxis(*this, getAxis(), type.getRank());
  Extent size = extentOf(type, axis);
  SmallVector<Extent> outer, inner;
  for (int64_t i = 0; i < type.getRank(); ++i)
    if (i != axis) (i < axis ? outer : inner).push_back(extentOf(type, i));
  k.rows(outer, [&](At p) {
    k.each(inner, [&](At q) {
      k.fold({k.body().constant(0, type.getElementType())}, {Range(size)}, [&](At r, ValueRange state) {
        Indices at(p);
        at.push_back(getReverse() ? Index(size.size - 1) - r[0] : r[0]);
        at.append(q.begin(), q.end());
        Value factor = k.load(getFactor(), at), term = k.load(getTerm(), at);
        Value sum = k.body().fma(factor, state[0], term);
        k.store(getOutput(), at, sum);
        return SmallVector<Value>{sum};
      });
    });
  });
  return success();
}
// An element is read before its place is written, and not again.
bool LinearScanOp::canOverwrite(unsigned operand, unsigned result) { return sameStorage(*this, operand, result); }

LogicalResult CumsumOp::inferTypes() { return inferRunning(*this); }
SmallVector<Value> CumsumOp::decompose(OpBuilder& b) {
  int64_t axis = *checkAxis(*this, getAxis(), rankedType(getInput()).getRank());
  Value term = getExclusive() ? predecessor(b, getLoc(), getInput(), axis, getReverse()) : getInput();
  return {scan(b, getLoc(), makeFilled(b, getLoc(), 1, rankedType(getInput())), term, axis, getReverse())};
}

LogicalResult CumprodOp::inferTypes() { return inferRunning(*this); }
SmallVector<Value> CumprodOp::decompose(OpBuilder& b) {
  int64_t axis = *checkAxis(*this, getAxis(), rankedType(getInput()).getRank());
  return {runningProduct(b, getLoc(), getInput(), axis, getReverse(), getExclusive())};
}

}  // namespace mxc::mx

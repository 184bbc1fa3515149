// Each sample is a row. Classification: its maximum, the sum of exponentials, then what is asked for. Pairs: a mean over the row, whose
// gradient is elementwise.
#include "ir/ops/loss.h"

#include <limits>
#include <optional>

#include "ir/ops/elementwise.h"
#include "ir/ops/reduce.h"
#include "ir/ops/shape.h"
#include "ir/ops/softmax.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "ir/ops/loss.cc.inc"

namespace mxc::mx {

void registerFamily_loss(MxDialect& dialect) {
  dialect.registerOps<
#define GET_OP_LIST
#include "ir/ops/loss.cc.inc"
      >();
}

FailureOr<TensorType> typePerRow(Operation* op) {
  FailureOr<TensorType> logits = expectRank(op, 0, 2), label = expectRank(op, 1, 1);
  if (failed(logits) || failed(label)) return failure();
  if (!isa<IntegerType>(label->getElementType()))
    return op->emitOpError() << "expects integer labels, got " << label->getElementType();
  if (label->getDimSize(0) != logits->getDimSize(0))
    return op->emitOpError() << "has " << label->getDimSize(0) << " labels for " << logits->getDimSize(0) << " rows of logits";
  if (batchAxis(*logits) == 1 || batchAxis(*logits) != batchAxis(*label))
    return op->emitOpError() << "expects the batch on axis 0 of logits and label";
  return tensorType({logits->getDimSize(0)}, logits->getElementType(), batchAxis(*logits), std::max<int64_t>(1, batchUnit(*logits)));
}

Value countedRows(OpBuilder& b, Location loc, Value label, int64_t classes, int64_t ignored, Type element) {
  auto number = [&](int64_t value) { return makeConstant(b, loc, static_cast<double>(value), rankedType(label).getElementType()); };
  Value mask = make<NotEqualOp>(b, loc, {label, number(ignored)});
  mask = make<LogicalAndOp>(b, loc, {mask, make<GreaterEqualOp>(b, loc, {label, number(0)})});
  mask = make<LogicalAndOp>(b, loc, {mask, make<LessOp>(b, loc, {label, number(classes)})});
  return make<CastOp>(b, loc, {mask}, b.getNamedAttr("to", TypeAttr::get(element)));
}

namespace {

// The row's maximum and the sum of exp(x - maximum).
std::pair<Value, Value> rowSums(KernelBuilder& k, Value logits, const Index& row) {
  Extent classes = extentOf(rankedType(logits), 1);
  Value max = k.reduce1(Combine::max, {classes}, [&](At r) { return k.load(logits, {row, r[0]}); });
  Value sum = k.reduce1(Combine::sum, {classes}, [&](At r) {
    Value x = k.load(logits, {row, r[0]});
    return k.body().exp(k.body().sub(x, max));
  });
  return {max, sum};
}

// A loaded label: a place that may be read in any case, and whether the row counts (null: all do).
struct Label {
  Value place, counts;
};
Label readLabel(KernelBuilder& k, Value label, const Index& row, int64_t classes, std::optional<int64_t> ignored) {
  Value value = k.load(label, row);
  if (!ignored) return {value, {}};
  Body b = k.body();
  Value inside = b.logicalAnd(b.ge(value, b.constant(0, value)), b.lt(value, b.constant(static_cast<double>(classes), value)));
  Value counts = b.logicalAnd(inside, b.ne(value, b.constant(static_cast<double>(*ignored), value)));
  return {b.select(counts, value, b.constant(0, value)), counts};
}
Value orZero(KernelBuilder& k, Value counts, Value value) {
  return counts ? k.body().select(counts, value, k.body().constant(0, value)) : value;
}

// With an ignored label outside the classes, nothing is said of labels outside.
int64_t boundWith(int64_t classes, std::optional<int64_t> ignored) {
  if (!ignored || (*ignored >= 0 && *ignored < classes)) return classes;
  return *ignored == classes ? classes + 1 : 0;
}

// Labels are places among the classes.
int64_t classesOf(Operation* op, unsigned operand) { return operand == 1 ? rankedType(op->getOperand(0)).getDimSize(1) : 0; }

// A number a sample as a column: [n] -> [n, 1, ...] with `rank` axes.
Value asColumn(GradientBuilder& g, Value value, int64_t rank) {
  SmallVector<int64_t> dims(rank, 1);
  dims[0] = rankedType(value).getDimSize(0);
  if (rank == 1) return value;
  return g.make<ReshapeOp>({value}, g.builder.getNamedAttr("shape", g.builder.getDenseI64ArrayAttr(dims)));
}

}  // namespace

LogicalResult SoftmaxCrossEntropyOp::inferTypes() {
  FailureOr<TensorType> type = typePerRow(*this);
  if (failed(type)) return failure();
  return setResult(*this, 0, *type), success();
}

LogicalResult SoftmaxCrossEntropyOp::buildGradient(GradientBuilder& g) {
  SmallVector<NamedAttribute> attributes;
  if (getIgnoreLabel()) attributes.push_back(g.builder.getNamedAttr("ignore_label", getIgnoreLabelAttr()));
  if (g.wants(0)) g.set(0, g.make<SoftmaxCrossEntropyGradOp>({getLogits(), getLabel(), g.dy()}, attributes));
  return success();
}

LogicalResult SoftmaxCrossEntropyOp::lower(KernelBuilder& k) {
  k.rows({extentOf(rankedType(getLogits()), 0)}, [&](At p) {
    auto [max, sum] = rowSums(k, getLogits(), p[0]);
    Label label = readLabel(k, getLabel(), p[0], rankedType(getLogits()).getDimSize(1), getIgnoreLabel());
    Value chosen = k.load(getLogits(), {p[0], k.indexFrom(label.place, rankedType(getLogits()).getDimSize(1))});
    Body b = k.body();
    k.store(getLoss(), p[0], orZero(k, label.counts, b.sub(b.add(b.log(sum), max), chosen)));
  });
  return success();
}
// MXNet's output layer: it writes the probabilities, over the logits, and its gradient comes from them and the label.
PaperFacts SoftmaxCrossEntropyOp::paperFacts(BackwardReads) {
  PaperFacts facts;
  facts.writes = {rankedType(getLogits())};
  facts.over = {0};
  facts.readsOperands = false;
  facts.readsWrites = {0};
  facts.overWrite = true;
  return facts;
}
bool SoftmaxCrossEntropyOp::canOverwrite(unsigned, unsigned) { return false; }
int64_t SoftmaxCrossEntropyOp::upperBound(unsigned operand) {
  int64_t classes = classesOf(*this, operand);
  return classes == 0 ? 0 : boundWith(classes, getIgnoreLabel());
}

// The losses times n, for their sum; over the number of rows that count.
SmallVector<Value> SoftmaxCrossEntropyOp::decompose(OpBuilder& b) {
  if (getNormalise() == "batch" || (getNormalise() == "valid" && !getIgnoreLabel())) return {getLoss()};
  SmallVector<NamedAttribute> attributes;
  if (getIgnoreLabel()) attributes.push_back(b.getNamedAttr("ignore_label", getIgnoreLabelAttr()));
  Location loc = getLoc();
  TensorType type = rankedType(getLoss());
  auto one = [&] { return makeConstant(b, loc, 1, type.getElementType()); };
  Value loss = make<SoftmaxCrossEntropyOp>(b, loc, {getLogits(), getLabel()}, attributes);
  Value factor = make<ReduceSumOp>(b, loc, {make<BroadcastOp>(b, loc, {one()}, b.getNamedAttr("to", TypeAttr::get(type)))});
  if (getNormalise() == "valid") {
    Value mask = countedRows(b, loc, getLabel(), rankedType(getLogits()).getDimSize(1), *getIgnoreLabel(), type.getElementType());
    Value valid = make<MaximumOp>(b, loc, {make<ReduceSumOp>(b, loc, {mask}), one()});
    factor = make<DivOp>(b, loc, {factor, valid});
  }
  return {make<MulOp>(b, loc, {loss, factor})};
}

LogicalResult SoftmaxCrossEntropyGradOp::inferTypes() {
  FailureOr<TensorType> logits = expectRank(*this, 0, 2);
  if (failed(logits)) return failure();
  return setResult(*this, 0, plain(*logits)), success();
}
// With p = softmax(logits): in logits dloss * softmax_grad(p, d); in dloss the sum of d (p - onehot).
LogicalResult SoftmaxCrossEntropyGradOp::buildGradient(GradientBuilder& g) {
  OpBuilder& b = g.builder;
  if (g.wants(0)) {
    Value probability = g.make<SoftmaxOp>({getLogits()});
    Value d = g.make<SoftmaxGradOp>({g.dy(), probability}, b.getNamedAttr("axis", b.getI64IntegerAttr(1)));
    Value dloss = getDloss();
    if (getIgnoreLabel()) {
      TensorType type = rankedType(getLogits());
      dloss = g.mul(dloss, countedRows(b, g.loc, getLabel(), type.getDimSize(1), *getIgnoreLabel(), type.getElementType()));
    }
    g.set(0, g.mul(d, asColumn(g, dloss, 2)));
  }
  if (g.wants(2)) {
    Value ones = g.make<BroadcastOp>({g.constant(1, getDloss())}, b.getNamedAttr("to", TypeAttr::get(plain(rankedType(getDloss())))));
    SmallVector<NamedAttribute> attributes;
    if (getIgnoreLabel()) attributes.push_back(b.getNamedAttr("ignore_label", getIgnoreLabelAttr()));
    Value difference = g.make<SoftmaxCrossEntropyGradOp>({getLogits(), getLabel(), ones}, attributes);
    g.set(2, g.make<ReduceSumOp>({g.mul(g.dy(), difference)}, b.getNamedAttr("axes", b.getDenseI64ArrayAttr({1}))));
  }
  return success();
}
int64_t SoftmaxCrossEntropyGradOp::upperBound(unsigned operand) {
  int64_t classes = classesOf(*this, operand);
  return classes == 0 ? 0 : boundWith(classes, getIgnoreLabel());
}

LogicalResult SoftmaxCrossEntropyGradOp::lower(KernelBuilder& k) {
  TensorType type = rankedType(getLogits());
  k.rows({extentOf(type, 0)}, [&](At p) {
    auto [max, sum] = rowSums(k, getLogits(), p[0]);
    Label read = readLabel(k, getLabel(), p[0], type.getDimSize(1), getIgnoreLabel());
    Value dloss = k.load(getDloss(), p[0]), label = read.place;
    Value scale = k.body().div(k.body().constant(1, sum), sum);
    k.each({extentOf(type, 1)}, [&](At r) {
      Value x = k.load(getLogits(), {p[0], r[0]});
      Body b = k.body();
      Value probability = b.mul(b.exp(b.sub(x, max)), scale);
      Value hit = b.eq(b.cast(k.position(r[0]), elementType(label.getType())), label);
      Value difference = b.sub(probability, b.select(hit, b.constant(1, x), b.constant(0, x)));
      k.store(getOutput(), {p[0], r[0]}, orZero(k, read.counts, b.mul(difference, dloss)));
    });
  });
  return success();
}
// A row is read whole before its elements are written, each once after its last reading.
bool SoftmaxCrossEntropyGradOp::canOverwrite(unsigned operand, unsigned result) { return operand == 0 && sameStorage(*this, 0, result); }

LogicalResult AccuracyOp::inferTypes() {
  FailureOr<TensorType> type = typePerRow(*this);
  if (failed(type)) return failure();
  return setResult(*this, 0, *type), success();
}
LogicalResult AccuracyOp::buildGradient(GradientBuilder&) { return success(); }

LogicalResult AccuracyOp::lower(KernelBuilder& k) {
  TensorType type = rankedType(getLogits());
  k.rows({extentOf(type, 0)}, [&](At p) {
    Body b = k.body();
    Value lowest = b.constant(-std::numeric_limits<double>::infinity(), type.getElementType());
    Value none = b.constant(-1, b.builder.getI64Type());
    auto best = k.fold({lowest, none}, {extentOf(type, 1)}, [&](At r, ValueRange state) {
      Value x = k.load(getLogits(), {p[0], r[0]});
      Body b = k.body();
      Value take = b.gt(x, state[0]);
      return SmallVector<Value>{b.select(take, x, state[0]), b.select(take, k.position(r[0]), state[1])};
    });
    Value label = k.body().cast(k.load(getLabel(), p[0]), k.body().builder.getI64Type());
    Body last = k.body();
    k.store(getCorrect(), p[0], last.select(last.eq(best[1], label), last.constant(1, best[0]), last.constant(0, best[0])));
  });
  return success();
}
bool AccuracyOp::canOverwrite(unsigned, unsigned) { return false; }
int64_t AccuracyOp::upperBound(unsigned operand) { return classesOf(*this, operand); }

LogicalResult TopKAccuracyOp::inferTypes() {
  FailureOr<TensorType> type = typePerRow(*this);
  if (failed(type)) return failure();
  int64_t classes = rankedType(getLogits()).getDimSize(1), k = getK();
  if (k < 1 || k > classes) return emitOpError() << "needs k in [1, " << classes << "], got " << k;
  return setResult(*this, 0, *type), success();
}
LogicalResult TopKAccuracyOp::buildGradient(GradientBuilder&) { return success(); }
int64_t TopKAccuracyOp::upperBound(unsigned operand) { return classesOf(*this, operand); }

// The label's place in the order is the number of elements that it does not precede; to a NaN nothing is known to be inferior.
LogicalResult TopKAccuracyOp::lower(KernelBuilder& k) {
  TensorType type = rankedType(getLogits());
  k.rows({extentOf(type, 0)}, [&](At p) {
    Value label = k.load(getLabel(), p[0]), chosen = k.load(getLogits(), {p[0], k.indexFrom(label, rankedType(getLogits()).getDimSize(1))});
    Value wide = k.body().cast(label, k.body().builder.getI64Type());
    Value place = k.reduce1(Combine::sum, {extentOf(type, 1)}, [&](At r) {
      Value x = k.load(getLogits(), {p[0], r[0]}), position = k.position(r[0]);
      Body b = k.body();
      Value precedes = b.logicalOr(b.gt(chosen, x), b.logicalAnd(b.eq(chosen, x), b.ge(position, wide)));
      return b.select(precedes, b.constant(0, x), b.constant(1, x));
    });
    Body b = k.body();
    Value within = b.lt(place, b.constant(static_cast<double>(getK()), place));
    k.store(getCorrect(), p[0], b.select(within, b.constant(1, place), b.constant(0, place)));
  });
  return success();
}
bool TopKAccuracyOp::canOverwrite(unsigned, unsigned) { return false; }

// ---- Losses of a pair -------------------------------------------------------------------------------------------------------
FailureOr<TensorType> typePerPair(Operation* op) {
  FailureOr<TensorType> x = expectRank(op, 0, -1), t = expectRank(op, 1, -1);
  if (failed(x) || failed(t)) return failure();
  if (x->getShape() != t->getShape() || batchAxis(*x) != batchAxis(*t)) {
    InFlightDiagnostic error = op->emitOpError() << "expects prediction and target of one shape, got " << shapeText(*x) << " and " << shapeText(*t);
    error.attachNote(op->getOperand(1).getLoc()) << "target comes from here";
    return error;
  }
  if (x->getElementType() != t->getElementType() || !isa<FloatType>(x->getElementType()))
    return op->emitOpError() << "expects floating-point prediction and target, got " << x->getElementType() << " and " << t->getElementType();
  if (x->getRank() < 1 || batchAxis(*x) > 0) return op->emitOpError() << "expects the samples on axis 0";
  return tensorType({x->getDimSize(0)}, x->getElementType(), batchAxis(*x), std::max<int64_t>(1, batchUnit(*x)));
}

namespace {

LogicalResult inferPair(Operation* op) {
  FailureOr<TensorType> type = typePerPair(op);
  if (failed(type)) return failure();
  return setResult(op, 0, *type), success();
}

// Stores the mean of term(x, t) over each row; a row of rank 0 is its own mean.
template <typename OpType>
LogicalResult lowerPair(OpType op, KernelBuilder& k, llvm::function_ref<Value(Body&, Value, Value)> term) {
  TensorType type = rankedType(op.getPrediction());
  SmallVector<Extent> extents;
  for (int64_t axis = 1; axis < type.getRank(); ++axis) extents.push_back(extentOf(type, axis));
  SmallVector<Range> ranges(extents.begin(), extents.end());
  auto termAt = [&](Indices at) {
    Value x = k.load(op.getPrediction(), at), t = k.load(op.getTarget(), at);
    Body b = k.body();
    return term(b, x, t);
  };
  if (ranges.empty()) {
    k.forall(op.getLoss(), [&](At p) { k.store(op.getLoss(), p, termAt({p[0]})); });
    return success();
  }
  k.rows({extentOf(type, 0)}, [&](At p) {
    Value sum = k.reduce1(Combine::sum, ranges, [&](At r) {
      Indices at = {p[0]};
      at.append(r.begin(), r.end());
      return termAt(at);
    });
    k.store(op.getLoss(), p[0], k.body().div(sum, k.count(extents, type.getElementType())));
  });
  return success();
}

// dloss over the number of terms in a row, as a column.
template <typename OpType>
Value perTerm(OpType op, GradientBuilder& g) {
  TensorType type = rankedType(op.getPrediction());
  Value column = asColumn(g, g.dy(), type.getRank());
  int64_t terms = type.getNumElements() / type.getDimSize(0);
  return terms == 1 ? column : g.mul(g.constant(1.0 / static_cast<double>(terms), column), column);
}

}  // namespace

LogicalResult MseLossOp::inferTypes() { return inferPair(*this); }
LogicalResult MseLossOp::buildGradient(GradientBuilder& g) {
  Value column = perTerm(*this, g);
  Value slope = g.mul(g.sub(getPrediction(), getTarget()), g.mul(g.constant(2, column), column));
  if (g.wants(0)) g.set(0, slope);
  if (g.wants(1)) g.set(1, g.neg(slope));
  return success();
}
LogicalResult MseLossOp::lower(KernelBuilder& k) {
  return lowerPair(*this, k, [](Body& b, Value x, Value t) {
    Value difference = b.sub(x, t);
    return b.mul(difference, difference);
  });
}
bool MseLossOp::canOverwrite(unsigned, unsigned) { return false; }

LogicalResult L1LossOp::inferTypes() { return inferPair(*this); }
LogicalResult L1LossOp::buildGradient(GradientBuilder& g) {
  Value column = perTerm(*this, g), zero = g.constant(0, column), difference = g.sub(getPrediction(), getTarget());
  Value below = g.make<PickPositiveOp>({g.neg(difference), g.neg(column), zero});
  Value slope = g.make<PickPositiveOp>({difference, column, below});
  if (g.wants(0)) g.set(0, slope);
  if (g.wants(1)) g.set(1, g.neg(slope));
  return success();
}
LogicalResult L1LossOp::lower(KernelBuilder& k) {
  return lowerPair(*this, k, [](Body& b, Value x, Value t) { return b.abs(b.sub(x, t)); });
}
bool L1LossOp::canOverwrite(unsigned, unsigned) { return false; }

LogicalResult SigmoidCrossEntropyOp::inferTypes() { return inferPair(*this); }
LogicalResult SigmoidCrossEntropyOp::buildGradient(GradientBuilder& g) {
  Value column = perTerm(*this, g);
  if (g.wants(0)) g.set(0, g.mul(g.sub(g.make<SigmoidOp>({getPrediction()}), getTarget()), column));
  if (g.wants(1)) g.set(1, g.neg(g.mul(getPrediction(), column)));
  return success();
}
// max(x, 0) - x t + log1p(exp(-|x|)): nothing overflows.
LogicalResult SigmoidCrossEntropyOp::lower(KernelBuilder& k) {
  return lowerPair(*this, k, [](Body& b, Value x, Value t) {
    return b.add(b.sub(b.max(x, b.constant(0, x)), b.mul(x, t)), b.log1p(b.exp(b.neg(b.abs(x)))));
  });
}
bool SigmoidCrossEntropyOp::canOverwrite(unsigned, unsigned) { return false; }

// ---- Losses of a pair, out of other ops ---------------------------------------------------------------------------------------
namespace {

// The mean over all axes but the first.
Value rowMeans(const Arithmetic& a, Value x) {
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(1, rankedType(x).getRank()));
  return axes.empty() ? x : make<ReduceMeanOp>(a.b, a.loc, {x}, a.b.getNamedAttr("axes", a.b.getDenseI64ArrayAttr(axes)));
}

template <typename OpType>
Arithmetic arithmeticOf(OpType op, OpBuilder& b) {
  return {b, op.getLoc(), rankedType(op.getPrediction()).getElementType()};
}

}  // namespace

LogicalResult HingeLossOp::inferTypes() { return inferPair(*this); }
SmallVector<Value> HingeLossOp::decompose(OpBuilder& b) {
  Arithmetic a = arithmeticOf(*this, b);
  Value gap = make<ReluOp>(b, a.loc, {a.sub(a.number(getMargin().convertToDouble()), a.mul(getPrediction(), getTarget()))});
  return {rowMeans(a, getSquared() ? make<SquareOp>(b, a.loc, {gap}) : gap)};
}

LogicalResult HuberLossOp::inferTypes() {
  if (!(getDelta().convertToDouble() > 0)) return emitOpError() << "needs delta > 0, got " << llvm::formatv("{0}", getDelta().convertToDouble()).str();
  return inferPair(*this);
}
SmallVector<Value> HuberLossOp::decompose(OpBuilder& b) {
  Arithmetic a = arithmeticOf(*this, b);
  double delta = getDelta().convertToDouble();
  Value difference = a.sub(getPrediction(), getTarget()), size = make<AbsOp>(b, a.loc, {difference});
  Value near = a.mul(a.number(0.5), make<SquareOp>(b, a.loc, {difference})), far = a.mul(a.number(delta), a.sub(size, a.number(0.5 * delta)));
  return {rowMeans(a, a.where(make<LessEqualOp>(b, a.loc, {size, a.number(delta)}), near, far))};
}

LogicalResult KlDivergenceOp::inferTypes() {
  if (failed(inferPair(*this))) return failure();
  TensorType type = rankedType(getPrediction());
  if (type.getRank() < 2) return emitOpError() << "expects at least a 2-D input, got " << shapeText(type);
  return success();
}
SmallVector<Value> KlDivergenceOp::decompose(OpBuilder& b) {
  Arithmetic a = arithmeticOf(*this, b);
  Value x = getPrediction(), t = getTarget();
  if (!getLogProbabilities()) x = make<LogSoftmaxOp>(b, a.loc, {x});
  // Where t is 0 the logarithm is that of 1: neither it nor its gradient is infinite.
  Value logarithm = make<LogOp>(b, a.loc, {a.where(make<GreaterOp>(b, a.loc, {t, a.number(0)}), t, a.number(1))});
  Value sum = make<ReduceSumOp>(b, a.loc, {a.mul(t, a.sub(logarithm, x))}, b.getNamedAttr("axes", b.getDenseI64ArrayAttr({-1})));
  return {rowMeans(a, sum)};
}

}  // namespace mxc::mx

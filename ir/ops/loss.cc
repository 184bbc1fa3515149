// Each sample is a row: its maximum, the sum of exponentials, then what is asked for.
#include "ir/ops/loss.h"

#include <limits>

#include "ir/ops/elementwise.h"
#include "ir/ops/shape.h"

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

namespace {

// logits [n, c] and label [n]; gives the type of one number a sample.
FailureOr<TensorType> perSample(Operation* op) {
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

}  // namespace

LogicalResult SoftmaxCrossEntropyOp::inferTypes() {
  FailureOr<TensorType> type = perSample(*this);
  if (failed(type)) return failure();
  return setResult(*this, 0, *type), success();
}

LogicalResult SoftmaxCrossEntropyOp::buildGradient(GradientBuilder& g) {
  if (g.wants(0)) g.set(0, g.make<SoftmaxCrossEntropyGradOp>({getLogits(), getLabel(), g.dy()}));
  return success();
}

LogicalResult SoftmaxCrossEntropyOp::lower(KernelBuilder& k) {
  k.rows({extentOf(rankedType(getLogits()), 0)}, [&](At p) {
    auto [max, sum] = rowSums(k, getLogits(), p[0]);
    Value chosen = k.load(getLogits(), {p[0], k.indexFrom(k.load(getLabel(), p[0]))});
    Body b = k.body();
    k.store(getLoss(), p[0], b.sub(b.add(b.log(sum), max), chosen));
  });
  return success();
}
bool SoftmaxCrossEntropyOp::canOverwrite(unsigned, unsigned) { return false; }

LogicalResult SoftmaxCrossEntropyGradOp::inferTypes() {
  FailureOr<TensorType> logits = expectRank(*this, 0, 2);
  if (failed(logits)) return failure();
  return setResult(*this, 0, plain(*logits)), success();
}
LogicalResult SoftmaxCrossEntropyGradOp::buildGradient(GradientBuilder&) { return failure(); }

LogicalResult SoftmaxCrossEntropyGradOp::lower(KernelBuilder& k) {
  TensorType type = rankedType(getLogits());
  k.rows({extentOf(type, 0)}, [&](At p) {
    auto [max, sum] = rowSums(k, getLogits(), p[0]);
    Value dloss = k.load(getDloss(), p[0]), label = k.load(getLabel(), p[0]);
    Value scale = k.body().div(k.body().constant(1, sum), sum);
    k.each({extentOf(type, 1)}, [&](At r) {
      Value x = k.load(getLogits(), {p[0], r[0]});
      Body b = k.body();
      Value probability = b.mul(b.exp(b.sub(x, max)), scale);
      Value hit = b.eq(b.cast(k.position(r[0]), elementType(label.getType())), label);
      Value difference = b.sub(probability, b.select(hit, b.constant(1, x), b.constant(0, x)));
      k.store(getOutput(), {p[0], r[0]}, b.mul(difference, dloss));
    });
  });
  return success();
}
// A row is read whole before its elements are written, each once after its last reading.
bool SoftmaxCrossEntropyGradOp::canOverwrite(unsigned operand, unsigned result) { return operand == 0 && sameStorage(*this, 0, result); }

LogicalResult AccuracyOp::inferTypes() {
  FailureOr<TensorType> type = perSample(*this);
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

}  // namespace mxc::mx

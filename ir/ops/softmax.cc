// A row runs along the axis: its maximum, its sum, then its elements.
#include "ir/ops/softmax.h"

#include "ir/ops/elementwise.h"
#include "ir/ops/reduce.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "ir/ops/softmax.cc.inc"

namespace mxc::mx {

void registerFamily_softmax(MxDialect& dialect) {
  dialect.registerOps<
#define GET_OP_LIST
#include "ir/ops/softmax.cc.inc"
      >();
}

namespace {

int64_t axisOf(int64_t axis, TensorType type) { return axis < 0 ? axis + type.getRank() : axis; }

template <typename OpType>
LogicalResult inferSoftmax(OpType op) {
  FailureOr<TensorType> type = expectRank(op, 0, -1);
  if (failed(type)) return failure();
  FailureOr<int64_t> axis = checkAxis(op, op.getAxis(), type->getRank());
  if (failed(axis)) return failure();
  if (batchAxis(*type) == *axis) return op.emitOpError() << "cannot run along the batch axis";
  if (!isa<FloatType>(type->getElementType())) return op.emitOpError() << "expects a floating-point input, got " << type->getElementType();
  return setResult(op, 0, plain(*type)), success();
}

// One row: at(r) is the place of its element r.
using RowBody = llvm::function_ref<void(Extent size, llvm::function_ref<Indices(At r)> at)>;

void forEachRow(KernelBuilder& k, TensorType type, int64_t axis, RowBody row) {
  axis = axisOf(axis, type);
  SmallVector<Extent> outer;
  for (int64_t i = 0; i < type.getRank(); ++i)
    if (i != axis) outer.push_back(extentOf(type, i));
  k.rows(outer, [&](At p) {
    row(extentOf(type, axis), [&](At r) {
      Indices at(p);
      at.insert(at.begin() + axis, r[0]);
      return at;
    });
  });
}

NamedAttribute axisAttribute(OpBuilder& b, int64_t axis) { return b.getNamedAttr("axis", b.getI64IntegerAttr(axis)); }

Value sumAlong(GradientBuilder& g, Value value, int64_t axis) {
  OpBuilder& b = g.builder;
  return g.make<ReduceSumOp>({value}, {b.getNamedAttr("axes", b.getDenseI64ArrayAttr({axis})), b.getNamedAttr("keep_dims", b.getBoolAttr(true))});
}

}  // namespace

LogicalResult SoftmaxOp::inferTypes() { return inferSoftmax(*this); }
LogicalResult SoftmaxOp::buildGradient(GradientBuilder& g) {
  return g.set(0, g.make<SoftmaxGradOp>({g.dy(), getOutput()}, axisAttribute(g.builder, getAxis()))), success();
}
LogicalResult SoftmaxOp::lower(KernelBuilder& k) {
  forEachRow(k, rankedType(getInput()), getAxis(), [&](Extent size, auto at) {
    Value max = k.reduce1(Combine::max, {size}, [&](At r) { return k.load(getInput(), at(r)); });
    Value sum = k.reduce1(Combine::sum, {size}, [&](At r) {
      Value x = k.load(getInput(), at(r));
      return k.body().exp(k.body().sub(x, max));
    });
    Value scale = k.body().div(k.body().constant(1, sum), sum);
    k.each({size}, [&](At r) {
      Value x = k.load(getInput(), at(r));
      Body b = k.body();
      k.store(getOutput(), at(r), b.mul(b.exp(b.sub(x, max)), scale));
    });
  });
  return success();
}
// A row is read whole before its elements are written, each once after its last reading.
PaperFacts SoftmaxOp::paperFacts(BackwardReads) {
  PaperFacts facts = PaperFacts::unknown((*this)->getResults());
  facts.over = {0};
  facts.readsOperands = false;
  facts.overWrite = true;
  return facts;
}
bool SoftmaxOp::canOverwrite(unsigned operand, unsigned result) { return sameStorage(*this, operand, result); }

LogicalResult LogSoftmaxOp::inferTypes() { return inferSoftmax(*this); }
LogicalResult LogSoftmaxOp::buildGradient(GradientBuilder& g) {
  return g.set(0, g.make<LogSoftmaxGradOp>({g.dy(), getOutput()}, axisAttribute(g.builder, getAxis()))), success();
}
LogicalResult LogSoftmaxOp::lower(KernelBuilder& k) {
  forEachRow(k, rankedType(getInput()), getAxis(), [&](Extent size, auto at) {
    Value max = k.reduce1(Combine::max, {size}, [&](At r) { return k.load(getInput(), at(r)); });
    Value sum = k.reduce1(Combine::sum, {size}, [&](At r) {
      Value x = k.load(getInput(), at(r));
      return k.body().exp(k.body().sub(x, max));
    });
    Value logarithm = k.body().log(sum);
    k.each({size}, [&](At r) {
      Value x = k.load(getInput(), at(r));
      Body b = k.body();
      k.store(getOutput(), at(r), b.sub(b.sub(x, max), logarithm));
    });
  });
  return success();
}
bool LogSoftmaxOp::canOverwrite(unsigned operand, unsigned result) { return sameStorage(*this, operand, result); }

LogicalResult SoftmaxGradOp::inferTypes() { return inferSoftmax(*this); }
// With f(dy, y) = y (dy - s), s = sum(y dy): in y the gradient of d is d (dy - s) - dy sum(d y).
LogicalResult SoftmaxGradOp::buildGradient(GradientBuilder& g) {
  if (g.wants(0)) g.set(0, g.make<SoftmaxGradOp>({g.dy(), getY()}, axisAttribute(g.builder, getAxis())));
  if (g.wants(1)) {
    int64_t axis = axisOf(getAxis(), rankedType(getY()));
    Value s = sumAlong(g, g.mul(getDy(), getY()), axis), t = sumAlong(g, g.mul(g.dy(), getY()), axis);
    g.set(1, g.sub(g.mul(g.dy(), g.sub(getDy(), s)), g.mul(getDy(), t)));
  }
  return success();
}
LogicalResult SoftmaxGradOp::lower(KernelBuilder& k) {
  forEachRow(k, rankedType(getY()), getAxis(), [&](Extent size, auto at) {
    Value sum = k.reduce1(Combine::sum, {size}, [&](At r) {
      Value dy = k.load(getDy(), at(r)), y = k.load(getY(), at(r));
      return k.body().mul(dy, y);
    });
    k.each({size}, [&](At r) {
      Value dy = k.load(getDy(), at(r)), y = k.load(getY(), at(r));
      Body b = k.body();
      k.store(getOutput(), at(r), b.mul(y, b.sub(dy, sum)));
    });
  });
  return success();
}
bool SoftmaxGradOp::canOverwrite(unsigned operand, unsigned result) { return sameStorage(*this, operand, result); }

LogicalResult LogSoftmaxGradOp::inferTypes() { return inferSoftmax(*this); }
// With f(dy, y) = dy - exp(y) sum(dy).
LogicalResult LogSoftmaxGradOp::buildGradient(GradientBuilder& g) {
  int64_t axis = axisOf(getAxis(), rankedType(getY()));
  Value weighted = g.mul(g.dy(), g.make<ExpOp>({getY()}));
  if (g.wants(0)) g.set(0, g.sub(g.dy(), sumAlong(g, weighted, axis)));
  if (g.wants(1)) g.set(1, g.neg(g.mul(weighted, sumAlong(g, getDy(), axis))));
  return success();
}
LogicalResult LogSoftmaxGradOp::lower(KernelBuilder& k) {
  forEachRow(k, rankedType(getY()), getAxis(), [&](Extent size, auto at) {
    Value sum = k.reduce1(Combine::sum, {size}, [&](At r) { return k.load(getDy(), at(r)); });
    k.each({size}, [&](At r) {
      Value dy = k.load(getDy(), at(r)), y = k.load(getY(), at(r));
      Body b = k.body();
      k.store(getOutput(), at(r), b.sub(dy, b.mul(b.exp(y), sum)));
    });
  });
  return success();
}
bool LogSoftmaxGradOp::canOverwrite(unsigned operand, unsigned result) { return sameStorage(*this, operand, result); }

}  // namespace mxc::mx

// One loop nest serves all reductions: lanes run over the contiguous axis, kept or reduced.
#include "ir/ops/reduce.h"

#include "ir/ops/elementwise.h"
#include "ir/ops/scan.h"
#include "ir/ops/shape.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "ir/ops/reduce.cc.inc"

namespace mxc::mx {

void registerFamily_reduce(MxDialect& dialect) {
  dialect.registerOps<
#define GET_OP_LIST
#include "ir/ops/reduce.cc.inc"
      >();
}

FailureOr<SmallVector<int64_t>> reducedAxes(Operation* op, ArrayRef<int64_t> axes, int64_t rank) {
  SmallVector<int64_t> result;
  for (int64_t axis : axes) {
    FailureOr<int64_t> checked = checkAxis(op, axis, rank);
    if (failed(checked)) return failure();
    if (llvm::is_contained(result, *checked)) return op->emitOpError() << "names axis " << axis << " twice";
    result.push_back(*checked);
  }
  if (axes.empty())
    for (int64_t axis = 0; axis < rank; ++axis) result.push_back(axis);
  llvm::sort(result);
  return result;
}

TensorType keptType(TensorType type, ArrayRef<int64_t> axes) {
  SmallVector<int64_t> dims(type.getShape());
  for (int64_t axis : axes) dims[axis] = 1;
  int64_t batch = batchAxis(type);
  if (llvm::is_contained(axes, batch)) batch = -1;
  return tensorType(dims, type.getElementType(), batch, std::max<int64_t>(1, batchUnit(type)));
}

TensorType droppedType(TensorType type, ArrayRef<int64_t> axes) {
  SmallVector<int64_t> dims;
  int64_t batch = -1;
  for (int64_t axis = 0; axis < type.getRank(); ++axis) {
    if (llvm::is_contained(axes, axis)) continue;
    if (batchAxis(type) == axis) batch = dims.size();
    dims.push_back(type.getDimSize(axis));
  }
  return tensorType(dims, type.getElementType(), batch, std::max<int64_t>(1, batchUnit(type)));
}

std::pair<int64_t, bool> reducedCount(TensorType type, ArrayRef<int64_t> axes) {
  int64_t count = 1;
  bool batched = false;
  for (int64_t axis : axes) {
    Extent extent = extentOf(type, axis);
    count *= extent.isBatch() ? extent.batchUnit : extent.size;
    batched |= extent.isBatch();
  }
  return {count, batched};
}

SmallVector<Extent> extentsOf(TensorType type, ArrayRef<int64_t> axes) {
  SmallVector<Extent> extents;
  for (int64_t axis : axes) extents.push_back(extentOf(type, axis));
  return extents;
}

void forEachKept(KernelBuilder& k, Value input, Value output, ArrayRef<int64_t> axes, bool keepDims, KeptPoint point) {
  int64_t rank = rankedType(input).getRank();
  auto visit = [&](At kept) {
    point(kept, [&](At inner) {
      Indices at;
      const Index *next = kept.begin(), *in = inner.begin();
      for (int64_t axis = 0; axis < rank; ++axis) {
        bool reduced = llvm::is_contained(axes, axis);
        if (reduced && keepDims) ++next;
        at.push_back(reduced ? *in++ : *next++);
      }
      return at;
    });
  };
  if (!llvm::is_contained(axes, k.innermostAxis(input))) return k.forall(output, visit);
  TensorType result = rankedType(output);
  k.rows(extentsOf(result, llvm::to_vector(llvm::seq<int64_t>(0, result.getRank()))), visit);
}

namespace {

template <typename OpType>
LogicalResult inferReduce(OpType op) {
  FailureOr<TensorType> type = expectRank(op, 0, -1);
  if (failed(type) || failed(expectNumbers(op, *type))) return failure();
  FailureOr<SmallVector<int64_t>> axes = reducedAxes(op, op.getAxes(), type->getRank());
  if (failed(axes)) return failure();
  setResult(op, 0, op.getKeepDims() ? keptType(*type, *axes) : droppedType(*type, *axes));
  return success();
}

// finish(body, reduced value, the reduced extents) gives the stored value.
using Finish = llvm::function_ref<Value(Value, ArrayRef<Extent>)>;

template <typename OpType>
LogicalResult lowerReduce(OpType op, KernelBuilder& k, Combine combine, Finish finish) {
  TensorType type = rankedType(op.getInput());
  SmallVector<int64_t> axes = *reducedAxes(op, op.getAxes(), type.getRank());
  SmallVector<Extent> extents = extentsOf(type, axes);
  SmallVector<Range> ranges(extents.begin(), extents.end());
  forEachKept(k, op.getInput(), op.getOutput(), axes, op.getKeepDims(), [&](At kept, FullPoint full) {
    Value reduced = k.reduce1(combine, ranges, [&](At inner) { return k.load(op.getInput(), full(inner)); });
    k.store(op.getOutput(), kept, finish(reduced, extents));
  });
  return success();
}

// `value`, of a reduction's result type, with the reduced axes back in place.
Value restored(GradientBuilder& g, Operation* op, Value value) {
  TensorType type = rankedType(op->getOperand(0));
  SmallVector<int64_t> axes = *reducedAxes(op, op->getAttrOfType<DenseI64ArrayAttr>("axes").asArrayRef(), type.getRank());
  TensorType kept = keptType(type, axes);
  if (rankedType(value).getShape() == kept.getShape()) return value;
  return g.make<ReshapeOp>({value}, g.builder.getNamedAttr("shape", g.builder.getDenseI64ArrayAttr(kept.getShape())));
}

Value spread(GradientBuilder& g, Operation* op, Value value) {
  TensorType type = rankedType(op->getOperand(0));
  return g.make<BroadcastOp>({restored(g, op, value)}, g.builder.getNamedAttr("to", TypeAttr::get(plain(type))));
}

// max and min: what equals the result shares its gradient evenly.
template <typename OpType>
LogicalResult extremeGradient(OpType op, GradientBuilder& g) {
  Value y = restored(g, op, op.getOutput());
  Value mask = g.make<EqualOp>({op.getInput(), y});
  OpBuilder& b = g.builder;
  Value ties = g.make<ReduceSumOp>({mask}, {b.getNamedAttr("axes", op.getAxesAttr()), b.getNamedAttr("keep_dims", b.getBoolAttr(true))});
  g.set(0, g.mul(mask, g.div(restored(g, op, g.dy()), ties)));
  return success();
}

}  // namespace

LogicalResult ReduceSumOp::inferTypes() { return inferReduce(*this); }
LogicalResult ReduceSumOp::lower(KernelBuilder& k) {
  return lowerReduce(*this, k, Combine::sum, [](Value v, ArrayRef<Extent>) { return v; });
}
bool ReduceSumOp::canOverwrite(unsigned, unsigned) { return false; }
LogicalResult ReduceSumOp::buildGradient(GradientBuilder& g) { return g.set(0, spread(g, *this, g.dy())), success(); }

LogicalResult ReduceMeanOp::inferTypes() { return inferReduce(*this); }
LogicalResult ReduceMeanOp::lower(KernelBuilder& k) {
  return lowerReduce(*this, k, Combine::sum, [&](Value v, ArrayRef<Extent> extents) {
    return k.body().div(v, k.count(extents, elementType(v.getType())));
  });
}
bool ReduceMeanOp::canOverwrite(unsigned, unsigned) { return false; }
LogicalResult ReduceMeanOp::buildGradient(GradientBuilder& g) {
  TensorType type = rankedType(getInput());
  auto [count, batched] = reducedCount(type, *reducedAxes(*this, getAxes(), type.getRank()));
  OpBuilder& b = g.builder;
  Value each = g.make<DivByCountOp>({g.dy()}, {b.getNamedAttr("per_sample", b.getI64IntegerAttr(count)),
                                              b.getNamedAttr("batched", b.getBoolAttr(batched))});
  return g.set(0, spread(g, *this, each)), success();
}

LogicalResult ReduceMaxOp::inferTypes() { return inferReduce(*this); }
LogicalResult ReduceMaxOp::lower(KernelBuilder& k) {
  return lowerReduce(*this, k, Combine::max, [](Value v, ArrayRef<Extent>) { return v; });
}
bool ReduceMaxOp::canOverwrite(unsigned, unsigned) { return false; }
LogicalResult ReduceMaxOp::buildGradient(GradientBuilder& g) { return extremeGradient(*this, g); }

LogicalResult ReduceMinOp::inferTypes() { return inferReduce(*this); }
LogicalResult ReduceMinOp::lower(KernelBuilder& k) {
  return lowerReduce(*this, k, Combine::min, [](Value v, ArrayRef<Extent>) { return v; });
}
bool ReduceMinOp::canOverwrite(unsigned, unsigned) { return false; }
LogicalResult ReduceMinOp::buildGradient(GradientBuilder& g) { return extremeGradient(*this, g); }

LogicalResult ReduceProdOp::inferTypes() {
  if (failed(inferReduce(*this))) return failure();
  TensorType type = rankedType(getInput());
  if (llvm::is_contained(*reducedAxes(*this, getAxes(), type.getRank()), batchAxis(type))) return emitOpError() << "cannot run along the batch axis";
  return success();
}
LogicalResult ReduceProdOp::lower(KernelBuilder& k) {
  return lowerReduce(*this, k, Combine::product, [](Value v, ArrayRef<Extent>) { return v; });
}
bool ReduceProdOp::canOverwrite(unsigned, unsigned) { return false; }
// Along one axis: dy times the product of the elements before and that of those behind. Along several: one after the other.
LogicalResult ReduceProdOp::buildGradient(GradientBuilder& g) {
  TensorType type = rankedType(getInput());
  SmallVector<int64_t> axes = *reducedAxes(*this, getAxes(), type.getRank());
  if (axes.empty()) return g.set(0, g.dy()), success();
  if (axes.size() == 1) {
    Value before = runningProduct(g.builder, g.loc, getInput(), axes[0], false, true);
    Value behind = runningProduct(g.builder, g.loc, getInput(), axes[0], true, true);
    return g.set(0, g.mul(restored(g, *this, g.dy()), g.mul(before, behind))), success();
  }
  return gradientThrough(g, *this, [&](OpBuilder& b) {
    Value product = getInput();
    for (int64_t axis : axes)
      product = mxc::make<ReduceProdOp>(b, g.loc, {product}, {b.getNamedAttr("axes", b.getDenseI64ArrayAttr({axis})), b.getNamedAttr("keep_dims", b.getBoolAttr(true))});
    if (!getKeepDims())
      product = mxc::make<ReshapeOp>(b, g.loc, {product}, b.getNamedAttr("shape", b.getDenseI64ArrayAttr(rankedType(getOutput()).getShape())));
    return SmallVector<Value>{product};
  });
}

LogicalResult NormOp::inferTypes() {
  if (failed(inferReduce(*this))) return failure();
  Type element = rankedType(getInput()).getElementType();
  if (!isa<FloatType>(element)) return emitOpError() << "expects a floating-point input, got " << element;
  return success();
}
LogicalResult NormOp::lower(KernelBuilder& k) {
  TensorType type = rankedType(getInput());
  SmallVector<int64_t> axes = *reducedAxes(*this, getAxes(), type.getRank());
  SmallVector<Extent> extents = extentsOf(type, axes);
  SmallVector<Range> ranges(extents.begin(), extents.end());
  forEachKept(k, getInput(), getOutput(), axes, getKeepDims(), [&](At kept, FullPoint full) {
    Value squares = k.reduce1(Combine::sum, ranges, [&](At inner) {
      Value x = k.load(getInput(), full(inner));
      return k.body().mul(x, x);
    });
    k.store(getOutput(), kept, k.body().sqrt(squares));
  });
  return success();
}
bool NormOp::canOverwrite(unsigned, unsigned) { return false; }
LogicalResult NormOp::buildGradient(GradientBuilder& g) {
  Value y = restored(g, *this, getOutput()), one = g.constant(1, y);
  return g.set(0, g.mul(getInput(), g.div(restored(g, *this, g.dy()), g.make<PickPositiveOp>({y, y, one})))), success();
}

}  // namespace mxc::mx

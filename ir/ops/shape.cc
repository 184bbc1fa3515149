// Views (reshape, flatten, squeeze, expand_dims) keep the elements where they are; the batch stays on the axis that starts where it
// started. The others move elements. What takes tensors apart or puts them together: ir/ops/parts.cc.
#include "ir/ops/shape.h"

#include "ir/ops/elementwise.h"
#include "ir/ops/parts.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "ir/ops/shape.cc.inc"

namespace mxc::mx {

void registerFamily_shape(MxDialect& dialect) {
  dialect.registerOps<
#define GET_OP_LIST
#include "ir/ops/shape.cc.inc"
      >();
}

namespace {

int64_t product(ArrayRef<int64_t> dims) {
  int64_t p = 1;
  for (int64_t dim : dims) p *= dim;
  return p;
}

// The type of `from`'s elements under `dims`, with the batch on the axis that begins at the same element.
FailureOr<TensorType> reshaped(Operation* op, TensorType from, ArrayRef<int64_t> dims) {
  int64_t batch = batchAxis(from);
  if (batch < 0) return tensorType(dims, from.getElementType());
  int64_t before = product(from.getShape().take_front(batch)), n = from.getDimSize(batch) / batchUnit(from);
  // A batch of one fits several axes: the old place is preferred.
  if (batch < static_cast<int64_t>(dims.size()) && product(dims.take_front(batch)) == before && dims[batch] % n == 0)
    return tensorType(dims, from.getElementType(), batch, dims[batch] / n);
  for (size_t axis = 0; axis < dims.size(); ++axis)
    if (product(dims.take_front(axis)) == before && dims[axis] % n == 0)
      return tensorType(dims, from.getElementType(), axis, dims[axis] / n);
  return op->emitOpError() << "cannot reshape " << shapeText(from) << " to " << shapeText(tensorType(dims, from.getElementType()))
                           << ": the batch axis would be torn apart";
}

// A view has no kernel: code generation never asks.
LogicalResult noKernel() { return failure(); }

Value reshapeLike(GradientBuilder& g, Value value, Value like) {
  return g.make<ReshapeOp>({value}, g.builder.getNamedAttr("shape", g.builder.getDenseI64ArrayAttr(rankedType(like).getShape())));
}

}  // namespace

LogicalResult ReshapeOp::inferTypes() {
  FailureOr<TensorType> from = expectRank(*this, 0, -1);
  if (failed(from)) return failure();
  SmallVector<int64_t> dims(getShape());
  int64_t known = 1, unknown = -1;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0 && static_cast<int64_t>(i) < from->getRank()) dims[i] = from->getDimSize(i);
    if (dims[i] == -1) {
      if (unknown >= 0) return emitOpError() << "has more than one -1 in its shape";
      unknown = i;
    } else if (dims[i] < 0) {
      return emitOpError() << "has the size " << dims[i] << " in its shape";
    } else {
      known *= dims[i];
    }
  }
  if (unknown >= 0 && known > 0) dims[unknown] = from->getNumElements() / known;
  if (product(dims) != from->getNumElements())
    return emitOpError() << "cannot reshape " << shapeText(*from) << " (" << from->getNumElements() << " elements) to "
                         << shapeText(tensorType(dims, from->getElementType()));
  FailureOr<TensorType> to = reshaped(*this, *from, dims);
  if (failed(to)) return failure();
  return setResult(*this, 0, *to), success();
}
LogicalResult ReshapeOp::buildGradient(GradientBuilder& g) { return g.set(0, reshapeLike(g, g.dy(), getInput())), success(); }
LogicalResult ReshapeOp::lower(KernelBuilder&) { return noKernel(); }
bool ReshapeOp::canOverwrite(unsigned, unsigned) { return true; }

LogicalResult FlattenOp::inferTypes() {
  FailureOr<TensorType> from = expectRank(*this, 0, -1);
  if (failed(from)) return failure();
  if (from->getRank() < 1) return emitOpError() << "expects at least a 1-D input";
  int64_t first = from->getDimSize(0);
  FailureOr<TensorType> to = reshaped(*this, *from, {first, product(from->getShape().drop_front())});
  if (failed(to)) return failure();
  return setResult(*this, 0, *to), success();
}
LogicalResult FlattenOp::buildGradient(GradientBuilder& g) { return g.set(0, reshapeLike(g, g.dy(), getInput())), success(); }
LogicalResult FlattenOp::lower(KernelBuilder&) { return noKernel(); }
bool FlattenOp::canOverwrite(unsigned, unsigned) { return true; }

TensorType rearranged(TensorType type, ArrayRef<int64_t> from) {
  SmallVector<int64_t> dims;
  int64_t batch = -1;
  for (auto [i, axis] : llvm::enumerate(from)) {
    dims.push_back(axis < 0 ? 1 : type.getDimSize(axis));
    if (axis >= 0 && axis == batchAxis(type)) batch = static_cast<int64_t>(i);
  }
  return tensorType(dims, type.getElementType(), batch, std::max<int64_t>(1, batchUnit(type)));
}

namespace {

bool isDropped(SqueezeOp op, TensorType type, int64_t axis) {
  if (op.getAxes().empty()) return type.getDimSize(axis) == 1 && axis != batchAxis(type);
  return llvm::is_contained(op.getAxes(), axis) || llvm::is_contained(op.getAxes(), axis - type.getRank());
}

}  // namespace

LogicalResult SqueezeOp::inferTypes() {
  FailureOr<TensorType> type = expectRank(*this, 0, -1);
  if (failed(type)) return failure();
  SmallVector<int64_t> kept;
  llvm::SmallDenseSet<int64_t> taken;
  for (int64_t given : getAxes()) {
    FailureOr<int64_t> axis = checkAxis(*this, given, type->getRank());
    if (failed(axis)) return failure();
    if (!taken.insert(*axis).second) return emitOpError() << "names axis " << given << " twice";
    if (*axis == batchAxis(*type)) return emitOpError() << "cannot drop the batch axis";
    if (type->getDimSize(*axis) != 1) return emitOpError() << "cannot drop axis " << given << " of " << shapeText(*type) << ": its size is not 1";
  }
  for (int64_t axis = 0; axis < type->getRank(); ++axis)
    if (!isDropped(*this, *type, axis)) kept.push_back(axis);
  return setResult(*this, 0, rearranged(*type, kept)), success();
}
LogicalResult SqueezeOp::buildGradient(GradientBuilder& g) {
  TensorType type = rankedType(getInput());
  Value dx = g.dy();
  for (int64_t axis = 0; axis < type.getRank(); ++axis)
    if (isDropped(*this, type, axis)) dx = g.make<ExpandDimsOp>({dx}, g.builder.getNamedAttr("axis", g.builder.getI64IntegerAttr(axis)));
  return g.set(0, dx), success();
}
LogicalResult SqueezeOp::lower(KernelBuilder&) { return noKernel(); }
bool SqueezeOp::canOverwrite(unsigned, unsigned) { return true; }

LogicalResult ExpandDimsOp::inferTypes() {
  FailureOr<TensorType> type = expectRank(*this, 0, -1);
  if (failed(type)) return failure();
  FailureOr<int64_t> place = checkAxis(*this, getAxis(), type->getRank() + 1);
  if (failed(place)) return failure();
  auto from = llvm::to_vector(llvm::seq<int64_t>(0, type->getRank()));
  from.insert(from.begin() + *place, -1);
  return setResult(*this, 0, rearranged(*type, from)), success();
}
LogicalResult ExpandDimsOp::buildGradient(GradientBuilder& g) {
  g.set(0, g.make<SqueezeOp>({g.dy()}, g.builder.getNamedAttr("axes", g.builder.getDenseI64ArrayAttr({static_cast<int64_t>(getAxis())}))));
  return success();
}
LogicalResult ExpandDimsOp::lower(KernelBuilder&) { return noKernel(); }
bool ExpandDimsOp::canOverwrite(unsigned, unsigned) { return true; }

// ---- Other orders of the elements -------------------------------------------------------------------------------------------
namespace {

SmallVector<int64_t> permutationOf(TransposeOp op, int64_t rank) {
  SmallVector<int64_t> axes;
  for (int64_t axis : op.getAxes()) axes.push_back(axis < 0 ? axis + rank : axis);
  if (axes.empty())
    for (int64_t axis = rank - 1; axis >= 0; --axis) axes.push_back(axis);
  return axes;
}

}  // namespace

LogicalResult TransposeOp::inferTypes() {
  FailureOr<TensorType> type = expectRank(*this, 0, -1);
  if (failed(type)) return failure();
  SmallVector<int64_t> axes = permutationOf(*this, type->getRank()), sorted(axes);
  llvm::sort(sorted);
  if (!llvm::equal(sorted, llvm::seq<int64_t>(0, type->getRank())))
    return emitOpError() << "needs a permutation of " << type->getRank() << " axes";
  return setResult(*this, 0, rearranged(*type, axes)), success();
}
LogicalResult TransposeOp::buildGradient(GradientBuilder& g) {
  SmallVector<int64_t> axes = permutationOf(*this, rankedType(getInput()).getRank()), inverse(axes.size());
  for (auto [i, axis] : llvm::enumerate(axes)) inverse[axis] = static_cast<int64_t>(i);
  return g.set(0, g.make<TransposeOp>({g.dy()}, numbers(g.builder, "axes", inverse))), success();
}
LogicalResult TransposeOp::lower(KernelBuilder& k) {
  SmallVector<int64_t> axes = permutationOf(*this, rankedType(getInput()).getRank());
  k.forall(getOutput(), [&](At p) {
    Indices at(axes.size());
    for (auto [i, axis] : llvm::enumerate(axes)) at[axis] = p[i];
    k.store(getOutput(), p, k.load(getInput(), at));
  });
  return success();
}
bool TransposeOp::canOverwrite(unsigned, unsigned) { return false; }

LogicalResult RelayoutOp::inferTypes() { return setResult(*this, 0, cast<RankedTensorType>(getTo())), success(); }
LogicalResult RelayoutOp::lower(KernelBuilder& k) { return lowerElementwise(*this, k); }
bool RelayoutOp::canOverwrite(unsigned, unsigned) { return false; }
SmallVector<Value> RelayoutOp::body(Body&, ValueRange x) { return {x[0]}; }
LogicalResult RelayoutOp::buildGradient(GradientBuilder& g) { return g.set(0, g.dy()), success(); }

// ---- Folding ------------------------------------------------------------------------------------------------------------------
namespace {

OpFoldResult sameType(Operation* op) {
  if (op->getOperand(0).getType() == op->getResult(0).getType()) return op->getOperand(0);
  return {};
}

}  // namespace

// A view of a view is one of what that looks at.
OpFoldResult ReshapeOp::fold(FoldAdaptor) {
  if (OpFoldResult same = sameType(*this)) return same;
  Operation* inner = getInput().getDefiningOp();
  if (!isa_and_nonnull<ViewRules>(inner)) return {};
  getInputMutable().assign(inner->getOperand(0));
  setShape(rankedType(getOutput()).getShape());
  return getOutput();
}
OpFoldResult FlattenOp::fold(FoldAdaptor) { return sameType(*this); }
OpFoldResult RelayoutOp::fold(FoldAdaptor) { return sameType(*this); }
OpFoldResult TransposeOp::fold(FoldAdaptor) {
  auto inner = getInput().getDefiningOp<TransposeOp>();
  if (!inner || inner.getInput().getType() != getType()) return {};
  int64_t rank = rankedType(getInput()).getRank();
  SmallVector<int64_t> outer = permutationOf(*this, rank), before = permutationOf(inner, rank);
  for (int64_t axis = 0; axis < rank; ++axis)
    if (before[outer[axis]] != axis) return {};
  return inner.getInput();
}

}  // namespace mxc::mx

// Views (reshape, flatten) keep the elements where they are; the batch stays on the axis that starts where it started.
#include "ir/ops/shape.h"

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

LogicalResult RelayoutOp::inferTypes() { return setResult(*this, 0, cast<RankedTensorType>(getTo())), success(); }
LogicalResult RelayoutOp::lower(KernelBuilder& k) { return lowerElementwise(*this, k); }
bool RelayoutOp::canOverwrite(unsigned, unsigned) { return false; }
SmallVector<Value> RelayoutOp::body(Body&, ValueRange x) { return {x[0]}; }
LogicalResult RelayoutOp::buildGradient(GradientBuilder& g) { return g.set(0, g.dy()), success(); }

}  // namespace mxc::mx

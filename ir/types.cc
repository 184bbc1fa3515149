// Tensor types: a shape, an element type, and an #mx.enc that says batch axis and layout.
#include "ir/types.h"

#include "ir/mx.h"
#include "ir/origin.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace mxc {
namespace {

mx::EncodingAttr encodingOf(TensorType type) { return dyn_cast_or_null<mx::EncodingAttr>(type.getEncoding()); }

TensorType make(ArrayRef<int64_t> dims, Type element, int64_t batch, int64_t unit, ArrayRef<int64_t> order, int64_t blockAxis,
                int64_t block) {
  if (batch < 0) unit = 1;
  if (batch < 0 && order.empty() && blockAxis < 0) return RankedTensorType::get(dims, element);
  auto encoding = mx::EncodingAttr::get(element.getContext(), batch, unit, order, blockAxis, blockAxis < 0 ? 0 : block);
  return RankedTensorType::get(dims, element, encoding);
}

}  // namespace

TensorType rankedType(Value value) { return dyn_cast<RankedTensorType>(value.getType()); }

int64_t batchAxis(TensorType type) {
  auto e = encodingOf(type);
  return e ? e.getBatch() : -1;
}

int64_t batchUnit(TensorType type) {
  auto e = encodingOf(type);
  return e && e.getBatch() >= 0 ? e.getUnit() : 0;
}

Extent extentOf(TensorType type, int64_t axis) {
  return {type.getDimSize(axis), batchAxis(type) == axis ? batchUnit(type) : 0};
}

TensorType tensorType(ArrayRef<int64_t> dims, Type element, int64_t batch, int64_t unit) {
  return make(dims, element, batch, unit, {}, -1, 0);
}

TensorType withDims(TensorType type, ArrayRef<int64_t> dims) {
  return tensorType(dims, type.getElementType(), batchAxis(type), std::max<int64_t>(1, batchUnit(type)));
}

TensorType withElement(TensorType type, Type element) {
  return RankedTensorType::get(type.getShape(), element, type.getEncoding());
}

TensorType plain(TensorType type) { return withDims(type, type.getShape()); }

bool isPlain(TensorType type) {
  auto e = encodingOf(type);
  return !e || (e.getOrder().empty() && e.getBlockAxis() < 0);
}

TensorType withLayout(TensorType type, ArrayRef<int64_t> order, int64_t blockAxis, int64_t block) {
  return make(type.getShape(), type.getElementType(), batchAxis(type), std::max<int64_t>(1, batchUnit(type)), order, blockAxis, block);
}

TensorType channelBlocks(TensorType type, int64_t lanes) {
  if (type.getDimSize(1) < lanes / 2) return plain(type);
  return withLayout(type, {0, 1, 2, 3}, 1, lanes);
}

Layout layoutOf(TensorType type) {
  Layout layout;
  auto e = encodingOf(type);
  int64_t rank = type.getRank();
  if (e && !e.getOrder().empty()) {
    layout.order.assign(e.getOrder().begin(), e.getOrder().end());
  } else {
    for (int64_t i = 0; i < rank; ++i) layout.order.push_back(i);
  }
  if (e && e.getBlockAxis() >= 0) {
    layout.blockAxis = e.getBlockAxis();
    layout.block = e.getBlock();
  }
  layout.strides.assign(rank, 0);
  int64_t stride = layout.blockAxis >= 0 ? layout.block : 1;
  for (int64_t axis : llvm::reverse(layout.order)) {
    layout.strides[axis] = stride;
    int64_t extent = type.getDimSize(axis);
    if (axis == layout.blockAxis) extent = (extent + layout.block - 1) / layout.block;
    stride *= extent;
  }
  layout.elements = stride;
  return layout;
}

int64_t elementBytes(Type element) { return std::max<int64_t>(1, element.getIntOrFloatBitWidth() / 8); }
int64_t bytesOf(TensorType type) { return layoutOf(type).elements * elementBytes(type.getElementType()); }
int64_t logicalBytes(TensorType type) { return type.getNumElements() * elementBytes(type.getElementType()); }

std::string shapeText(TensorType type) {
  if (type.getRank() == 0) return "scalar";
  std::string text;
  for (int64_t dim : type.getShape()) text += (text.empty() ? "" : "x") + std::to_string(dim);
  return text;
}

FailureOr<int64_t> checkAxis(Operation* op, int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank) return op->emitOpError() << "axis " << axis << " is out of range for a " << rank << "-D input";
  return axis < 0 ? axis + rank : axis;
}

namespace mx {

void setResult(Operation* op, unsigned i, TensorType type) { op->getResult(i).setType(type); }

namespace {

// Which size of an operand asks for a parameter of another shape, and who gave the parameter the one that it has.
void noteMisfit(InFlightDiagnostic& error, Operation* op, unsigned parameter, TensorType wanted, TensorType known) {
  error.attachNote(op->getOperand(parameter).getLoc()) << shapeText(known) << " comes from here";
  TensorType input = rankedType(op->getOperand(0));
  if (!input || parameter == 0 || known.getRank() != wanted.getRank()) return;
  for (int64_t axis = 0; axis < known.getRank(); ++axis) {
    int64_t size = wanted.getDimSize(axis);
    if (size == known.getDimSize(axis)) continue;
    for (int64_t from = 0; from < input.getRank(); ++from)
      if (from != batchAxis(input) && input.getDimSize(from) == size)
        return noteOrigin(error, op->getOperand(0), from, "the " + Twine(size));
  }
}

// Where the two sizes that do not broadcast come from; `axis` counts from the last.
void noteSizes(InFlightDiagnostic& error, Operation* op, TensorType a, TensorType b, int64_t axis) {
  for (TensorType type : {a, b}) {
    if (axis >= type.getRank()) continue;
    int64_t place = type.getRank() - 1 - axis;
    auto operand = llvm::find_if(op->getOperands(), [&](Value v) { return rankedType(v) == type; });
    if (operand == op->operand_end()) continue;
    if (batchAxis(type) == place) error.attachNote((*operand).getLoc()) << "the batch of " << shapeText(type) << " comes from here";
    else noteOrigin(error, *operand, place, "the " + Twine(type.getDimSize(place)));
  }
}

}  // namespace

LogicalResult setParameter(Operation* op, unsigned operand, ArrayRef<int64_t> dims, Type element) {
  Value value = op->getOperand(operand);
  if (!isa<FloatType>(element)) return op->emitOpError() << "expects a floating-point input, got " << element;
  TensorType wanted = tensorType(dims, element);
  if (TensorType known = rankedType(value)) {
    if (batchAxis(known) >= 0) return op->emitOpError() << "needs a parameter, but " << operandText(op, operand) << " has a batch axis";
    if (known.getShape() == wanted.getShape() && known.getElementType() == element) return success();
    InFlightDiagnostic error = op->emitOpError();
    error << "needs a parameter of shape " << shapeText(wanted) << ", but " << operandText(op, operand) << " is " << shapeText(known);
    noteMisfit(error, op, operand, wanted, known);
    return error;
  }
  value.setType(wanted);
  return success();
}

FailureOr<TensorType> expectRank(Operation* op, unsigned operand, int64_t rank) {
  Value value = op->getOperand(operand);
  TensorType type = rankedType(value);
  if (!type) {
    InFlightDiagnostic error = op->emitOpError() << "cannot tell the shape of " << operandText(op, operand);
    error.attachNote(value.getLoc()) << "give it a shape here";
    return error;
  }
  if (rank >= 0 && type.getRank() != rank) {
    InFlightDiagnostic error = op->emitOpError() << "expects a " << rank << "-D input, got " << shapeText(type);
    error.attachNote(value.getLoc()) << "shape comes from here";
    return error;
  }
  return type;
}

FailureOr<TensorType> broadcast(Operation* op, TensorType a, TensorType b) {
  int64_t rank = std::max(a.getRank(), b.getRank());
  SmallVector<int64_t> dims(rank);
  int64_t batch = -1, unit = 1;
  for (int64_t i = 0; i < rank; ++i) {
    int64_t ia = i - (rank - a.getRank()), ib = i - (rank - b.getRank());
    int64_t da = ia < 0 ? 1 : a.getDimSize(ia), db = ib < 0 ? 1 : b.getDimSize(ib);
    bool batchA = ia >= 0 && batchAxis(a) == ia, batchB = ib >= 0 && batchAxis(b) == ib;
    auto misfit = [&](const Twine& what) {
      InFlightDiagnostic error = op->emitOpError() << what;
      noteSizes(error, op, a, b, rank - 1 - i);
      return error;
    };
    if ((da != db && da != 1 && db != 1) || (batchA && batchB && batchUnit(a) != batchUnit(b)))
      return misfit("shapes " + shapeText(a) + " and " + shapeText(b) + " do not broadcast");
    if ((batchA && !batchB && db != 1) || (batchB && !batchA && da != 1))
      return misfit("axis " + std::to_string(i) + " of " + shapeText(a) + " and " + shapeText(b) +
                    " is the batch in one and a fixed size in the other");
    dims[i] = std::max(da, db);
    if (da == 0 || db == 0) dims[i] = 0;
    if (batchA || batchB) {
      if (batch >= 0) return op->emitOpError() << "the batch lies on different axes of " << shapeText(a) << " and " << shapeText(b);
      batch = i;
      unit = batchA ? batchUnit(a) : batchUnit(b);
    }
  }
  return tensorType(dims, a.getElementType(), batch, unit);
}

LogicalResult expectNumbers(Operation* op, TensorType type) {
  if (type.getElementType().isInteger(1)) return op->emitOpError() << "expects numbers, got booleans";
  return success();
}

LogicalResult inferAnyElementwise(Operation* op) {
  TensorType type = tensorType({}, op->getNumOperands() ? getElementTypeOrSelf(op->getOperand(0).getType()) : Type());
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    FailureOr<TensorType> operand = expectRank(op, i, -1);
    if (failed(operand)) return failure();
    if (operand->getElementType() != type.getElementType())
      return op->emitOpError() << "mixes element types " << type.getElementType() << " and " << operand->getElementType();
    FailureOr<TensorType> both = broadcast(op, type, *operand);
    if (failed(both)) return failure();
    type = *both;
  }
  for (unsigned i = 0; i < op->getNumResults(); ++i) setResult(op, i, type);
  return success();
}

LogicalResult inferElementwise(Operation* op) {
  if (failed(inferAnyElementwise(op))) return failure();
  return expectNumbers(op, rankedType(op->getResult(0)));
}

LogicalResult inferFloatElementwise(Operation* op) {
  if (failed(inferElementwise(op))) return failure();
  Type element = rankedType(op->getResult(0)).getElementType();
  if (!isa<FloatType>(element)) return op->emitOpError() << "expects a floating-point input, got " << element;
  return success();
}

bool sameStorage(Operation* op, unsigned operand, unsigned result) {
  TensorType a = rankedType(op->getOperand(operand)), b = rankedType(op->getResult(result));
  return a.getShape() == b.getShape() && a.getEncoding() == b.getEncoding() &&
         elementBytes(a.getElementType()) == elementBytes(b.getElementType());
}

}  // namespace mx
}  // namespace mxc

// Questions about tensor types: batch axis, extents, layout.
#pragma once

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "mlir/Support/LogicalResult.h"

namespace mxc {
namespace mx {
class EncodingAttr;
}

using TensorType = mlir::RankedTensorType;

// The number of times something runs: `size` if batchUnit == 0, else n * batchUnit at run time (size = N * batchUnit).
struct Extent {
  int64_t size = 1;
  int64_t batchUnit = 0;
  bool isBatch() const { return batchUnit != 0; }
};

// Where the elements of a result come from: computed; each an element of an operand, moved; each the largest of several elements of the
// operand, where the first of equals takes the gradient.
enum class Origin { computed, moved, largest };

// The type of a value; null if it is not (yet) ranked.
TensorType rankedType(mlir::Value value);
// The axis that carries the batch, or -1; its unit.
int64_t batchAxis(TensorType type);
int64_t batchUnit(TensorType type);
Extent extentOf(TensorType type, int64_t axis);
// A row-major tensor type; batch = -1: none.
TensorType tensorType(llvm::ArrayRef<int64_t> dims, mlir::Type element, int64_t batch = -1, int64_t unit = 1);
// `type` with other dims on the same axes, or another element type; batch axis kept, layout dropped.
TensorType withDims(TensorType type, llvm::ArrayRef<int64_t> dims);
TensorType withElement(TensorType type, mlir::Type element);
// `type` without its layout (row-major), batch axis kept.
TensorType plain(TensorType type);
bool isPlain(TensorType type);
// `type` in a layout: logical axes outermost first, `blockAxis` split into blocks of `block` that lie innermost (-1: not split).
TensorType withLayout(TensorType type, llvm::ArrayRef<int64_t> order, int64_t blockAxis, int64_t block);
// The layout of activations [n, c, h, w]: channels in blocks of `lanes`; row-major if there are few of them.
TensorType channelBlocks(TensorType type, int64_t lanes);

// How the elements lie in memory, in elements. Strides are those of the compiled batch.
struct Layout {
  llvm::SmallVector<int64_t> order;   // logical axes, outermost first
  llvm::SmallVector<int64_t> strides; // of each logical axis; of the block axis: from block to block
  int64_t blockAxis = -1;
  int64_t block = 0;
  int64_t elements = 0;               // padding included
  // The logical axis whose neighbours are adjacent in memory; -1 for rank 0.
  int64_t innermost() const { return blockAxis >= 0 ? blockAxis : order.empty() ? -1 : order.back(); }
};
Layout layoutOf(TensorType type);
int64_t bytesOf(TensorType type);
int64_t logicalBytes(TensorType type);  // without the padding of its layout
int64_t elementBytes(mlir::Type element);

// "64x1x28x28" for messages.
std::string shapeText(TensorType type);

// A checked axis: negative counts from the end. Emits an error at `op` if out of range.
mlir::FailureOr<int64_t> checkAxis(mlir::Operation* op, int64_t axis, int64_t rank);

// Rules shared by op families.
namespace mx {
mlir::LogicalResult inferAnyElementwise(mlir::Operation* op);
// The same; a diagnostic for booleans.
mlir::LogicalResult inferElementwise(mlir::Operation* op);
// The same; a diagnostic for integers.
mlir::LogicalResult inferFloatElementwise(mlir::Operation* op);
// Whether the result may take the operand's memory: same dims, element size and layout.
bool sameStorage(mlir::Operation* op, unsigned operand, unsigned result);
// Sets the type of result `i`.
void setResult(mlir::Operation* op, unsigned i, TensorType type);
// Fixes the type of a parameter or state operand; fails with a diagnostic if it has another one already.
mlir::LogicalResult setParameter(mlir::Operation* op, unsigned operand, llvm::ArrayRef<int64_t> dims, mlir::Type element);
// A diagnostic at `op` if an operand of this type is no number.
mlir::LogicalResult expectNumbers(mlir::Operation* op, TensorType type);
// The ranked type of an operand, which must have `rank` axes (-1: any); else a diagnostic at `op`.
mlir::FailureOr<TensorType> expectRank(mlir::Operation* op, unsigned operand, int64_t rank);
// NumPy broadcasting of two types; a diagnostic at `op` if they do not fit.
mlir::FailureOr<TensorType> broadcast(mlir::Operation* op, TensorType a, TensorType b);
}  // namespace mx

}  // namespace mxc

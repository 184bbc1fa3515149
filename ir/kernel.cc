// Linear indices, and the loop nest that all elementwise ops share.
#include "ir/kernel.h"

#include "ir/mx.h"

using namespace mlir;

namespace mxc {

Index operator+(const Index& a, const Index& b) {
  Index sum;
  assert(!(a.opaque && b.opaque));
  sum.opaque = a.opaque ? a.opaque : b.opaque;
  sum.constant = a.constant + b.constant;
  const auto *i = a.terms.begin(), *j = b.terms.begin();
  while (i != a.terms.end() || j != b.terms.end()) {
    if (j == b.terms.end() || (i != a.terms.end() && i->loop < j->loop)) {
      sum.terms.push_back(*i++);
    } else if (i == a.terms.end() || j->loop < i->loop) {
      sum.terms.push_back(*j++);
    } else {
      if (i->coeff + j->coeff != 0) sum.terms.push_back({i->loop, i->coeff + j->coeff});
      ++i, ++j;
    }
  }
  return sum;
}

Index operator*(const Index& a, int64_t factor) {
  assert(!a.opaque || factor == 1);
  Index product;
  product.opaque = a.opaque;
  product.constant = a.constant * factor;
  if (factor != 0)
    for (Index::Term t : a.terms) product.terms.push_back({t.loop, t.coeff * factor});
  return product;
}

Index indexOf(Value value) {
  Index index;
  index.opaque = value;
  return index;
}

namespace mx {

Indices broadcastAt(TensorType operand, At at) {
  Indices result;
  size_t skip = at.size() - operand.getRank();
  for (int64_t axis = 0; axis < operand.getRank(); ++axis)
    result.push_back(operand.getDimSize(axis) == 1 && batchAxis(operand) != axis ? Index(0) : at[skip + axis]);
  return result;
}

LogicalResult lowerElementwise(Operation* op, KernelBuilder& k) {
  auto rules = cast<ElementwiseRules>(op);
  k.forall(op->getResult(0), [&](At at) {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) operands.push_back(k.load(operand, broadcastAt(rankedType(operand), at)));
    Body body = k.body();
    SmallVector<Value> values = rules.body(body, operands);
    for (auto [result, value] : llvm::zip(op->getResults(), values)) k.store(result, at, value);
  });
  return success();
}

}  // namespace mx
}  // namespace mxc

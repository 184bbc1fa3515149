// A kernel's operand is safe to overwrite if every path from it to a result stays at one point, and at the point of that result.
#include "passes/overwrite.h"

using namespace mlir;

namespace mxc::passes {
namespace {

bool sameStorage(Value a, Value b) {
  TensorType ta = rankedType(a), tb = rankedType(b);
  return ta.getShape() == tb.getShape() && ta.getEncoding() == tb.getEncoding() &&
         elementBytes(ta.getElementType()) == elementBytes(tb.getElementType());
}

// Follows what is computed from an operand.
class Reader {
 public:
  // `written`: the value that is to lie in the operand's memory.
  Reader(Block& body, Operation* anchor, Value written) : anchor_(anchor), written_(written) {
    for (Operation& op : body.without_terminator()) {
      for (Value result : op.getResults()) {
        if (&op == anchor) root_[result] = result;
        for (Value operand : op.getOperands())
          if (Value root = root_.lookup(operand); root && &op != anchor) root_[result] = root;
      }
    }
  }

  // Whether `written` is stored where the kernel's points are known: without an anchor, or as one of its results is stored.
  bool knowsPoint() { return !anchor_ || root_.lookup(written_); }

  // Whether all that is computed from `value` is computed at its own points, in the loop that stores `written`.
  bool staysAtPoint(Value value) {
    for (OpOperand& use : value.getUses()) {
      Operation* user = use.getOwner();
      if (isa<mx::YieldOp>(user)) continue;
      if (user == anchor_) {
        unsigned number = cast<OpResult>(root_.lookup(written_)).getResultNumber();
        if (!isa<BlockArgument>(value) || !cast<mx::OpRules>(anchor_).canOverwrite(use.getOperandNumber(), number)) return false;
        continue;
      }
      if (!isa<mx::ElementwiseRules>(user)) return false;  // what makes the rows that the anchor reads
      Value result = user->getResult(0), root = root_.lookup(result);
      if (rankedType(result).getShape() != rankedType(written_).getShape()) return false;
      if (root ? root != root_.lookup(written_) : seen_.insert(user).second && !staysAtPoint(result)) return false;
    }
    return true;
  }

 private:
  Operation* anchor_;
  Value written_;
  llvm::DenseMap<Value, Value> root_;  // the anchor's result that a value is computed from
  llvm::SmallPtrSet<Operation*, 8> seen_;
};

}  // namespace

Value memoryRoot(Value value) {
  while (Operation* def = value.getDefiningOp()) {
    if (!isa<mx::ViewRules>(def)) break;
    value = def->getOperand(0);
  }
  return value;
}

bool kernelCanOverwrite(mx::KernelOp kernel, ArrayRef<unsigned> operands, unsigned result) {
  Block& body = kernel.getBody().front();
  Operation* anchor = kernel.anchors().second;
  Value written = body.getTerminator()->getOperand(result);
  if (isa<BlockArgument>(written)) return false;
  Reader reader(body, anchor, written);
  if (!reader.knowsPoint()) return false;
  return llvm::all_of(operands, [&](unsigned operand) {
    return sameStorage(body.getArgument(operand), written) && reader.staysAtPoint(body.getArgument(operand));
  });
}

}  // namespace mxc::passes

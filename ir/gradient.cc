// GradientBuilder, and the building of ops with inferred types.
#include "ir/gradient.h"

#include "ir/mx.h"
#include "ir/ops/elementwise.h"
#include "ir/ops/reduce.h"
#include "ir/ops/shape.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace mxc {

Operation* makeOp(OpBuilder& builder, Location loc, StringRef name, ValueRange operands, ArrayRef<NamedAttribute> attributes,
                  unsigned results) {
  OperationState state(loc, name);
  Type unknown = UnrankedTensorType::get(builder.getF32Type());
  state.addOperands(operands);
  state.addAttributes(attributes);
  for (unsigned i = 0; i < results; ++i) state.addTypes(unknown);
  Operation* op = builder.create(state);
  LogicalResult inferred = cast<mx::OpRules>(op).inferTypes();
  (void)inferred;
  assert(succeeded(inferred));
  return op;
}

GradientBuilder::GradientBuilder(OpBuilder& builder, Operation* op, ValueRange resultGradients, ArrayRef<bool> wanted)
    : builder(builder), loc(gradientLocation(op->getLoc())), op_(op), resultGradients_(resultGradients), wanted_(wanted),
      gradients_(op->getNumOperands()) {}

// The name alone does not tell: users may call something "mask.gradient".
Location gradientLocation(Location forward) {
  auto named = dyn_cast<NameLoc>(forward);
  if (!named || isGradientLocation(forward)) return forward;
  MLIRContext* context = forward.getContext();
  return NameLoc::get(StringAttr::get(context, named.getName().str() + ".gradient"),
                      FusedLoc::get(context, {named.getChildLoc()}, UnitAttr::get(context)));
}

bool isGradientLocation(Location location) {
  auto named = dyn_cast<NameLoc>(location);
  auto marked = named ? dyn_cast<FusedLoc>(named.getChildLoc()) : FusedLoc();
  return marked && isa_and_nonnull<UnitAttr>(marked.getMetadata());
}

void GradientBuilder::set(unsigned i, Value gradient) {
  gradients_[i] = sumTo(builder, loc, gradient, rankedType(op_->getOperand(i)));
}

Value GradientBuilder::add(Value a, Value b) { return make<mx::AddOp>({a, b}); }
Value GradientBuilder::sub(Value a, Value b) { return make<mx::SubOp>({a, b}); }
Value GradientBuilder::mul(Value a, Value b) { return make<mx::MulOp>({a, b}); }
Value GradientBuilder::div(Value a, Value b) { return make<mx::DivOp>({a, b}); }
Value GradientBuilder::neg(Value a) { return make<mx::NegOp>({a}); }
Value GradientBuilder::constant(double value, Value like) {
  return mx::makeConstant(builder, loc, value, rankedType(like).getElementType());
}

LogicalResult gradientThrough(GradientBuilder& g, Operation* op, Decomposition decomposition) {
  OpBuilder& b = g.builder;
  Block* block = b.getInsertionBlock();
  Operation* before = b.getInsertionPoint() == block->begin() ? nullptr : &*std::prev(b.getInsertionPoint());
  SmallVector<Value> results = decomposition(b);
  Block::iterator end = b.getInsertionPoint();

  llvm::DenseSet<Value> active;
  for (OpOperand& operand : op->getOpOperands())
    if (g.wants(operand.getOperandNumber())) active.insert(operand.get());
  SmallVector<Operation*> steps, path;
  for (Block::iterator it = before ? std::next(Block::iterator(before)) : block->begin(); it != end; ++it) {
    steps.push_back(&*it);
    if (!llvm::any_of(it->getOperands(), [&](Value v) { return active.contains(v); })) continue;
    path.push_back(&*it);
    for (Value result : it->getResults())
      if (isa<FloatType>(rankedType(result).getElementType())) active.insert(result);
  }

  llvm::DenseMap<Value, Value> gradientOf;
  auto accumulate = [&](Value value, Value gradient) {
    Value& sum = gradientOf[value];
    sum = sum ? g.add(sum, gradient) : gradient;
  };
  for (auto [i, result] : llvm::enumerate(results))
    if (g.dy(i)) accumulate(result, g.dy(i));
  for (Operation* step : llvm::reverse(path)) {
    SmallVector<Value> dys;
    for (Value result : step->getResults()) dys.push_back(gradientOf.lookup(result));
    if (llvm::none_of(dys, [](Value v) { return v; })) continue;
    SmallVector<bool> wanted;
    for (Value operand : step->getOperands())
      wanted.push_back(active.contains(operand) && isa<FloatType>(rankedType(operand).getElementType()));
    GradientBuilder inner(b, step, dys, wanted);
    if (failed(cast<mx::OpRules>(step).buildGradient(inner))) return failure();
    for (auto [i, operand] : llvm::enumerate(step->getOperands()))
      if (wanted[i] && inner.get(i)) accumulate(operand, inner.get(i));
  }
  // A value that is several operands has one gradient: the first of them takes it.
  for (OpOperand& operand : op->getOpOperands()) {
    auto found = gradientOf.find(operand.get());
    if (found == gradientOf.end() || !g.wants(operand.getOperandNumber())) continue;
    g.set(operand.getOperandNumber(), found->second);
    gradientOf.erase(found);
  }
  // Steps that no gradient reads are gone at once.
  llvm::DenseSet<Value> given;
  for (unsigned i = 0; i < op->getNumOperands(); ++i) given.insert(g.get(i));
  for (Operation* step : llvm::reverse(steps))
    if (isOpTriviallyDead(step) && llvm::none_of(step->getResults(), [&](Value v) { return given.contains(v); })) step->erase();
  return success();
}

void expandComposites(Block& block) {
  for (Operation *op = block.empty() ? nullptr : &block.front(), *next; op; op = next) {
    next = op->getNextNode();
    auto composite = dyn_cast<mx::CompositeRules>(op);
    if (!composite) continue;
    Operation* before = op->getPrevNode();
    OpBuilder b(op);
    SmallVector<Value> values = composite.decompose(b);
    if (llvm::equal(values, op->getResults())) continue;
    op->replaceAllUsesWith(values);
    op->erase();
    next = before ? before->getNextNode() : block.empty() ? nullptr : &block.front();
  }
}

Value sumTo(OpBuilder& builder, Location loc, Value value, TensorType type) {
  TensorType from = rankedType(value);
  if (from.getShape() == type.getShape()) return value;
  // A narrower gradient stands for one that is the same everywhere.
  bool narrower = from.getRank() < type.getRank();
  SmallVector<int64_t> axes;
  int64_t skip = from.getRank() - type.getRank();
  for (int64_t axis = 0; axis < from.getRank() && !narrower; ++axis) {
    int64_t target = axis < skip ? 1 : type.getDimSize(axis - skip);
    if (from.getDimSize(axis) < target) narrower = true;
    if (from.getDimSize(axis) > target || (axis < skip)) axes.push_back(axis);
  }
  if (narrower) return make<mx::BroadcastOp>(builder, loc, {value}, builder.getNamedAttr("to", TypeAttr::get(plain(type))));
  if (!axes.empty())
    value = make<mx::ReduceSumOp>(builder, loc, {value},
                                  {builder.getNamedAttr("axes", builder.getDenseI64ArrayAttr(axes)),
                                   builder.getNamedAttr("keep_dims", builder.getBoolAttr(true))});
  if (rankedType(value).getShape() != type.getShape())
    value = make<mx::ReshapeOp>(builder, loc, {value}, builder.getNamedAttr("shape", builder.getDenseI64ArrayAttr(type.getShape())));
  return value;
}

}  // namespace mxc

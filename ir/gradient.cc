// GradientBuilder, and the building of ops with inferred types.
#include "ir/gradient.h"

#include "ir/mx.h"
#include "ir/ops/elementwise.h"
#include "ir/ops/reduce.h"
#include "ir/ops/shape.h"

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

namespace {
constexpr StringLiteral kGradientSuffix = ".gradient";
}

Location gradientLocation(Location forward) {
  auto named = dyn_cast<NameLoc>(forward);
  if (!named || isGradientLocation(forward)) return forward;
  return NameLoc::get(StringAttr::get(forward.getContext(), named.getName().str() + kGradientSuffix), named.getChildLoc());
}

bool isGradientLocation(Location location) {
  auto named = dyn_cast<NameLoc>(location);
  return named && named.getName().getValue().ends_with(kGradientSuffix);
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

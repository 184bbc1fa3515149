// The table of optimizers; see optimizers.h.
#include "ir/optimizers.h"

#include "llvm/ADT/StringExtras.h"

#include "ir/ops/update.h"

using namespace mlir;

namespace mxc {
namespace {

using Hypers = SmallVector<HyperParameter, 8>;

// Weight, gradient, states, the four common hyper-parameters, `own`: the operands of an update.
template <typename OpType>
SmallVector<Value> buildUpdate(OpBuilder& b, Location loc, const ParameterUpdate& u, ValueRange own, ArrayRef<NamedAttribute> attributes) {
  SmallVector<Value> operands = {u.weight, u.gradient};
  llvm::append_range(operands, u.states);
  for (StringRef name : {"lr", "weight_decay", "rescale", "clip"}) operands.push_back(u.hyper(name));
  llvm::append_range(operands, own);
  SmallVector<NamedAttribute> all(attributes);
  if (u.lrMult != 1) all.push_back(b.getNamedAttr("lr_mult", b.getF64FloatAttr(u.lrMult)));
  if (u.wdMult != 1) all.push_back(b.getNamedAttr("wd_mult", b.getF64FloatAttr(u.wdMult)));
  Operation* op = makeOp(b, loc, OpType::getOperationName(), operands, all, 1 + u.states.size());
  return SmallVector<Value>(op->getResults());
}

SmallVector<Value> buildSgd(OpBuilder& b, Location loc, const ParameterUpdate& u) {
  return buildUpdate<mx::SgdUpdateOp>(b, loc, u, {}, {});
}

template <bool nesterov>
SmallVector<Value> buildMomentum(OpBuilder& b, Location loc, const ParameterUpdate& u) {
  return buildUpdate<mx::SgdMomentumUpdateOp>(b, loc, u, u.hyper("momentum"), b.getNamedAttr("nesterov", b.getBoolAttr(nesterov)));
}

template <bool decoupled>
SmallVector<Value> buildAdam(OpBuilder& b, Location loc, const ParameterUpdate& u) {
  Value beta1 = u.hyper("beta1"), beta2 = u.hyper("beta2"), epsilon = u.hyper("epsilon");
  Value correction1 = make<mx::BiasCorrectionOp>(b, loc, {beta1, u.step}), correction2 = make<mx::BiasCorrectionOp>(b, loc, {beta2, u.step});
  return buildUpdate<mx::AdamUpdateOp>(b, loc, u, {beta1, beta2, epsilon, correction1, correction2},
                                       b.getNamedAttr("decoupled", b.getBoolAttr(decoupled)));
}

Hypers hypers(double lr, double weightDecay, ArrayRef<HyperParameter> own) {
  Hypers all = {{"lr", lr}, {"weight_decay", weightDecay}, {"rescale", 1}, {"clip", 0}};
  all.append(own.begin(), own.end());
  return all;
}

const std::vector<OptimizerKind>& kinds() {
  static const std::vector<OptimizerKind> all = {
      {"sgd", hypers(0.01, 0, {}), {}, buildSgd},
      {"momentum", hypers(0.01, 0, {{"momentum", 0.9}}), {"momentum"}, buildMomentum<false>},
      {"nesterov", hypers(0.01, 0, {{"momentum", 0.9}}), {"momentum"}, buildMomentum<true>},
      {"adam", hypers(0.001, 0, {{"beta1", 0.9}, {"beta2", 0.999}, {"epsilon", 1e-8}}), {"mean", "variance"}, buildAdam<false>},
      {"adamw", hypers(0.001, 0.01, {{"beta1", 0.9}, {"beta2", 0.999}, {"epsilon", 1e-8}}), {"mean", "variance"}, buildAdam<true>},
  };
  return all;
}

double number(DictionaryAttr defaults, StringRef name, double otherwise) {
  auto value = defaults ? defaults.getAs<FloatAttr>(name) : FloatAttr();
  return value ? value.getValueAsDouble() : otherwise;
}

}  // namespace

const OptimizerKind* findOptimizer(StringRef name) {
  for (const OptimizerKind& kind : kinds())
    if (kind.name == name) return &kind;
  return nullptr;
}

const OptimizerKind* findOptimizer(StringRef name, DictionaryAttr defaults) {
  if (name == "sgd" && number(defaults, "nesterov", 0) != 0) return findOptimizer("nesterov");
  if (name == "sgd" && number(defaults, "momentum", 0) != 0) return findOptimizer("momentum");
  return findOptimizer(name);
}

double hyperDefault(const HyperParameter& hyper, DictionaryAttr defaults) { return number(defaults, hyper.name, hyper.defaultValue); }

std::string optimizerNames() {
  return llvm::join(llvm::map_range(kinds(), [](const OptimizerKind& kind) { return kind.name.str(); }), ", ");
}

}  // namespace mxc

// The table of optimizers; see optimizers.h.
#include "ir/optimizers.h"

#include "llvm/ADT/StringExtras.h"

#include "ir/ops/elementwise.h"
#include "ir/ops/reduce.h"
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

SmallVector<Value> buildRmsprop(OpBuilder& b, Location loc, const ParameterUpdate& u) {
  return buildUpdate<mx::RmspropUpdateOp>(b, loc, u, {u.hyper("rho"), u.hyper("epsilon")}, {});
}
SmallVector<Value> buildAdagrad(OpBuilder& b, Location loc, const ParameterUpdate& u) {
  return buildUpdate<mx::AdagradUpdateOp>(b, loc, u, u.hyper("epsilon"), {});
}
SmallVector<Value> buildAdadelta(OpBuilder& b, Location loc, const ParameterUpdate& u) {
  return buildUpdate<mx::AdadeltaUpdateOp>(b, loc, u, {u.hyper("rho"), u.hyper("epsilon")}, {});
}
SmallVector<Value> buildFtrl(OpBuilder& b, Location loc, const ParameterUpdate& u) {
  return buildUpdate<mx::FtrlUpdateOp>(b, loc, u, {u.hyper("l1"), u.hyper("beta")}, {});
}

// The sum of the squares of all elements, rank 0.
Value squareSum(OpBuilder& b, Location loc, Value x) { return make<mx::ReduceSumOp>(b, loc, {make<mx::SquareOp>(b, loc, {x})}); }

SmallVector<Value> buildLamb(OpBuilder& b, Location loc, const ParameterUpdate& u) {
  Value beta1 = u.hyper("beta1"), beta2 = u.hyper("beta2");
  Value correction1 = make<mx::BiasCorrectionOp>(b, loc, {beta1, u.step}), correction2 = make<mx::BiasCorrectionOp>(b, loc, {beta2, u.step});
  SmallVector<Value> next = buildUpdate<mx::LambDirectionOp>(b, loc, u, {beta1, beta2, u.hyper("epsilon"), correction1, correction2}, {});
  Value trust = make<mx::TrustRatioOp>(b, loc, {squareSum(b, loc, u.weight), squareSum(b, loc, next[0])});
  mx::Arithmetic a{b, loc, rankedType(u.weight).getElementType()};
  Value rate = u.lrMult == 1 ? u.hyper("lr") : a.mul(u.hyper("lr"), a.number(u.lrMult));
  next[0] = a.sub(u.weight, a.mul(a.mul(rate, trust), next[0]));
  return next;
}

SmallVector<Value> buildLars(OpBuilder& b, Location loc, const ParameterUpdate& u) {
  Value gradient = make<mx::PrepareGradientOp>(b, loc, {u.gradient, u.hyper("rescale"), u.hyper("clip")});
  Value trust = make<mx::LarsTrustOp>(b, loc, {squareSum(b, loc, u.weight), squareSum(b, loc, gradient), u.hyper("weight_decay"), u.hyper("eta"), u.hyper("epsilon")},
                                      b.getNamedAttr("wd_mult", b.getF64FloatAttr(u.wdMult)));
  return buildUpdate<mx::LarsUpdateOp>(b, loc, u, {u.hyper("momentum"), trust}, {});
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
      {"rmsprop", hypers(0.001, 0, {{"rho", 0.9}, {"epsilon", 1e-8}}), {"square"}, buildRmsprop},
      {"adagrad", hypers(0.01, 0, {{"epsilon", 1e-7}}), {"sum"}, buildAdagrad},
      {"adadelta", hypers(1, 0, {{"rho", 0.95}, {"epsilon", 1e-6}}), {"square", "delta"}, buildAdadelta},
      {"ftrl", hypers(0.1, 0, {{"l1", 0.01}, {"beta", 1}}), {"z", "square"}, buildFtrl},
      {"lamb", hypers(0.001, 0.01, {{"beta1", 0.9}, {"beta2", 0.999}, {"epsilon", 1e-6}}), {"mean", "variance"}, buildLamb, true},
      {"lars", hypers(0.1, 0.0001, {{"momentum", 0.9}, {"eta", 0.001}, {"epsilon", 1e-8}}), {"velocity"}, buildLars, true},
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

std::vector<std::string> optimizerNames() {
  std::vector<std::string> names;
  for (const OptimizerKind& kind : kinds()) names.push_back(kind.name.str());
  return names;
}

double clipNormDefault(DictionaryAttr defaults) { return std::max(0.0, number(defaults, "clip_norm", 0)); }

double lossScaleDefault(DictionaryAttr defaults) { return number(defaults, "loss_scale", 1); }

Value castTo(OpBuilder& b, Location loc, Value value, Type element) {
  if (rankedType(value).getElementType() == element) return value;
  return make<mx::CastOp>(b, loc, {value}, b.getNamedAttr("to", TypeAttr::get(element)));
}

SmallVector<Value> clipByGlobalNorm(OpBuilder& b, Location loc, ArrayRef<Value> gradients, Value rescale, Value clipNorm) {
  auto elementOf = [](Value value) { return rankedType(value).getElementType(); };
  Value sum;
  for (Value gradient : gradients) {
    Value own = squareSum(b, loc, make<mx::MulOp>(b, loc, {gradient, castTo(b, loc, rescale, elementOf(gradient))}));
    own = castTo(b, loc, own, elementOf(clipNorm));
    sum = sum ? make<mx::AddOp>(b, loc, {sum, own}) : own;
  }
  Value scale = make<mx::ClipNormScaleOp>(b, loc, {sum, clipNorm});
  SmallVector<Value> clipped;
  for (Value gradient : gradients) clipped.push_back(make<mx::MulOp>(b, loc, {gradient, castTo(b, loc, scale, elementOf(gradient))}));
  return clipped;
}

std::optional<OptimizerText> parseOptimizer(StringRef text, std::string& message) {
  OptimizerText result;
  auto [kind, rest] = text.split(':');
  result.kind = kind.str();
  const OptimizerKind* known = findOptimizer(kind);
  if (!known) {
    message = "there is no optimizer '" + result.kind + "': " + llvm::join(optimizerNames(), ", ");
    return std::nullopt;
  }
  if (!text.contains(':')) return result;
  SmallVector<StringRef> parts;
  rest.split(parts, ',');
  for (StringRef part : parts) {
    auto [name, number] = part.split('=');
    double value = 0;
    bool has = name == "clip_norm" || name == "loss_scale" || llvm::any_of(known->hypers, [name = name](const HyperParameter& h) { return h.name == name; });
    bool twice = llvm::any_of(result.defaults, [name = name](const auto& other) { return other.first == name; });
    if (part.empty()) message = "'" + text.str() + "' has an empty place in its list: NAME=NUMBER is expected";
    else if (twice) message = "'" + name.str() + "' is given twice";
    else if (!has) message = result.kind + " has no hyper-parameter '" + name.str() + "'";
    else if (number.getAsDouble(value)) message = "'" + part.str() + "' gives no number: NAME=NUMBER is expected";
    if (!message.empty()) return std::nullopt;
    result.defaults.push_back({name.str(), value});
  }
  return result;
}

}  // namespace mxc

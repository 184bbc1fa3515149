// build-graphs: one model becomes the functions that a program runs.
//
//   before:  inputs, parameters, ops, minimize / report / output / optimizer at the top of the module
//   after:   func @init(seed) -> parameters, state
//            func @train(parameters, state, inputs, hypers) -> loss, metrics, parameters', state'
//            func @eval(parameters, state, inputs) -> loss, metrics
//            func @infer(parameters, state, inputs) -> outputs
//            func @report(means) -> metrics     if a report is no mean over the samples, but a function of such means
//            func @forward_backward(parameters, state, inputs) -> loss, metrics, outputs, state', gradients
//            func @gradients(parameters, state, inputs) -> loss, metrics, state', gradients
//            func @update(weight, gradient, slots, hypers) -> weight', slots'
//            func @update_whole(parameters, slots, gradients, hypers) -> parameters', slots'     instead, if updates look at more than one element
//
// The last ones are @train in two parts, for shards whose gradients are added before there is an update (PipelineOptions::byShards). @update is about any
// elements of a parameter in a row, as a batch: "update/weight", "update/gradient", "update/momentum". One is made for each pair of multipliers and
// element type (@update, @update1, ...); mx.updates lists the parameters that it is for. @update_whole has all parameters and, as arguments of the role
// "gradient", the memory of the results of @gradients. All carry mx.by_shards. @forward_backward is made for a main of the user's own
// (PipelineOptions::ownMain), where a model may also do without a loss: then it has neither @train nor @eval, and gradients are those of the sum of all
// <output, head gradient>, arguments of the name "<output>.head_gradient" with the attribute mx.head_gradient. A library (PipelineOptions::library) may do
// without a loss, too, but not without an output. One that trains (libraryTrains) has its reports in @train as they are, each from its own samples; new
// values that it is not to keep carry mx.dropped.
//
// mx.gradient is replaced by the ops that compute it, an op that stands for others (CompositeRules) by those. Each function is pure SSA and
// holds only what its results need. Arguments carry mx.name and mx.role ("parameter", "state", "input", "hyper"), hypers mx.default,
// integer inputs mx.upper_bound; results carry mx.name and mx.role ("loss", "metric", "output", "parameter", "state", "gradient")
// and mx.donates, the argument whose new value they are; of @init also mx.init_file and mx.init_tensor, where what a parameter begins
// with lies. Ops that differ between training and evaluation are replaced here
// (ModeRules). Needs: infer-shapes.
#include <map>
#include <tuple>

#include "ir/initialisers.h"
#include "ir/mx.h"
#include "ir/ops/elementwise.h"
#include "ir/ops/reduce.h"
#include "ir/optimizers.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "passes/gradient.h"
#include "passes/graph_function.h"
#include "passes/passes.h"

using namespace mlir;

namespace mxc::passes {
namespace {

class GraphBuilder {
 public:
  GraphBuilder(ModuleOp module, const PipelineOptions& options) : module_(module), ownMain_(options.ownMain), library_(options.library), options_(options) {}

  LogicalResult run() {
    expandComposites(*module_.getBody());
    losses_ = llvm::to_vector(module_.getOps<mx::MinimizeOp>());
    reports_ = llvm::to_vector(module_.getOps<mx::ReportOp>());
    outputs_ = llvm::to_vector(module_.getOps<mx::OutputOp>());
    for (Operation& op : module_.getBody()->getOperations()) model_.push_back(&op);
    if (library_ && outputs_.empty())
      return module_.emitError() << "the model has no output(name, value): a library would have nothing to compute";
    if (losses_.empty() && !ownMain_ && (!library_ || options_.libraryTrains)) return module_.emitError() << "the model has no minimize(loss): there is nothing to train";
    if (losses_.empty() && outputs_.empty())
      return module_.emitError() << "the model has neither minimize(loss) nor output(name, value): there is nothing to compute";
    if (!losses_.empty() && (failed(chooseOptimizer()) || failed(buildTrain()))) return failure();
    if (failed(buildEvaluation()) || failed(buildInference()) || failed(buildInit())) return failure();
    buildReport();
    if (ownMain_ && failed(buildForwardBackward())) return failure();
    if (options_.byShards && failed(buildShards())) return failure();
    for (Operation* op : llvm::reverse(model_)) op->erase();
    return success();
  }

 private:
  // The mean over all elements, as rank 0.
  Value mean(Graph& graph, Value value) {
    TensorType type = rankedType(value);
    if (type.getRank() == 0) return value;
    return make<mx::ReduceMeanOp>(graph.b, value.getLoc(), {value});
  }

  LogicalResult chooseOptimizer() {
    auto chosen = *module_.getOps<mx::OptimizerOp>().begin();
    defaults_ = chosen.getDefaults();
    optimizer_ = findOptimizer(chosen.getKind(), defaults_);
    if (!optimizer_) return chosen.emitError() << "there is no optimizer " << chosen.getKind() << " (known: " << llvm::join(optimizerNames(), ", ") << ")";
    lossScale_ = lossScaleDefault(defaults_);
    module_->setAttr("mx.optimizer", StringAttr::get(module_.getContext(), optimizer_->name));
    findWidest();
    return success();
  }

  // A hyper-parameter is one number for the whole program. Where parameters have several element types it has the widest, and is cast for the others.
  Value hyper(Graph& graph, StringRef name, Type element, double value) {
    Type stored = isa<FloatType>(element) && widest_ ? Type(widest_) : element;
    Value argument = graph.argument("hyper", name, tensorType({}, stored), module_.getLoc(),
                                    graph.b.getNamedAttr("mx.default", graph.b.getF64FloatAttr(value)));
    return castTo(graph.b, module_.getLoc(), argument, element);
  }

  // The widest element type of what can be trained.
  void findWidest() {
    for (auto parameter : module_.getOps<mx::ParameterOp>()) {
      auto element = dyn_cast<FloatType>(rankedType(parameter.getOutput()).getElementType());
      if (parameter.getTrainable() && element && (!widest_ || element.getWidth() > widest_.getWidth())) widest_ = element;
    }
  }

  static llvm::DenseSet<Operation*> neededBy(ValueRange roots) {
    llvm::DenseSet<Operation*> needed;
    SmallVector<Operation*> work;
    for (Value root : roots) work.push_back(root.getDefiningOp());
    while (!work.empty()) {
      Operation* op = work.pop_back_val();
      if (!needed.insert(op).second) continue;
      for (Value operand : op->getOperands()) work.push_back(operand.getDefiningOp());
    }
    return needed;
  }

  // Copies into `graph` what `roots` need, for training or evaluation. New state values are returned through `newStates`.
  LogicalResult clone(Graph& graph, ValueRange roots, bool training, IRMapping& map, SmallVectorImpl<std::pair<mx::ParameterOp, Value>>& newStates) {
    llvm::DenseSet<Operation*> needed = neededBy(roots);
    for (Operation* op : model_) {
      if (!needed.contains(op)) continue;
      if (auto input = dyn_cast<mx::InputOp>(op)) {
        SmallVector<NamedAttribute> more;
        if (int64_t bound = upperBound(input.getOutput())) more.push_back(graph.b.getNamedAttr("mx.upper_bound", graph.b.getI64IntegerAttr(bound)));
        map.map(input.getOutput(), graph.argument("input", input.getName(), input.getOutput().getType(), op->getLoc(), more));
      } else if (auto parameter = dyn_cast<mx::ParameterOp>(op)) {
        map.map(parameter.getOutput(), graph.argument(parameter.getTrainable() ? "parameter" : "state", parameter.getName(),
                                                      parameter.getOutput().getType(), op->getLoc()));
      } else if (auto gradient = dyn_cast<mx::GradientOp>(op)) {
        if (failed(cloneGradient(graph, gradient, map))) return failure();
      } else if (auto mode = dyn_cast<mx::ModeRules>(op)) {
        if (failed(cloneForMode(graph, mode, training, map, newStates))) return failure();
      } else {
        graph.b.clone(*op, map);
      }
    }
    return success();
  }

  // What the model differentiates itself. Later gradients go through the ops that stand for this one.
  LogicalResult cloneGradient(Graph& graph, mx::GradientOp op, IRMapping& map) {
    Value wrt = map.lookup(op.getWrt());
    SmallVector<Value> gradient;
    if (failed(buildGradients(graph.b, {GradientRoot{map.lookup(op.getOf()), {}}}, wrt, gradient, {"gradient(...)", op.getLoc()}))) return failure();
    if (!gradient[0]) gradient[0] = mx::makeFilled(graph.b, op.getLoc(), 0, rankedType(wrt));
    map.map(op.getOutput(), gradient[0]);
    return success();
  }

  LogicalResult cloneForMode(Graph& graph, mx::ModeRules mode, bool training, IRMapping& map,
                             SmallVectorImpl<std::pair<mx::ParameterOp, Value>>& newStates) {
    Type i64 = graph.b.getI64Type();
    Value step = training ? hyper(graph, "step", i64, 0) : Value(), seed = training ? hyper(graph, "seed", i64, 0) : Value();
    Operation* copy = graph.b.clone(*mode, map);
    ModeBuilder builder(graph.b, mode.getLoc(), training, step, seed);
    auto [stream, isNew] = streams_.try_emplace(mode, nextStream_);
    builder.setStream(stream->second);
    FailureOr<SmallVector<Value>> replaced = cast<mx::ModeRules>(copy).buildForMode(builder);
    if (failed(replaced)) return failure();
    if (isNew) nextStream_ = builder.nextStream();
    for (auto [operand, value] : builder.newStates) {
      auto state = mode->getOperand(operand).getDefiningOp<mx::ParameterOp>();
      if (!state || state.getTrainable()) {
        InFlightDiagnostic error = mode->emitOpError() << "needs layer state of its own, which training changes, as operand " << operand;
        error.attachNote(mode->getOperand(operand).getLoc()) << (state ? "this is a trainable parameter" : "this is computed");
        return error;
      }
      newStates.push_back({state, value});
    }
    for (auto [original, value] : llvm::zip(mode->getResults(), *replaced)) map.map(original, value);
    copy->replaceAllUsesWith(*replaced);
    copy->erase();
    return success();
  }

  // The sum of the means of all losses; null if there is none.
  Value addLoss(Graph& graph, IRMapping& map) {
    Value loss;
    for (mx::MinimizeOp op : losses_) {
      Value one = mean(graph, map.lookup(op.getLoss()));
      loss = loss ? make<mx::AddOp>(graph.b, op.getLoc(), {loss, one}) : one;
    }
    if (loss) graph.result("loss", "loss", loss);
    return loss;
  }

  // The loss and the metrics of a graph.
  Value addMeasures(Graph& graph, IRMapping& map) {
    Value loss = addLoss(graph, map);
    for (mx::ReportOp op : reports_) {
      SmallVector<Value> means = partsOf(op);
      if (means.empty()) graph.result("metric", op.getName(), mean(graph, map.lookup(op.getValue())));
      for (auto [i, part] : llvm::enumerate(means)) graph.result("metric", partName(op, i), map.lookup(part));
    }
    return loss;
  }

  // The means that a report is a function of, where all of a data set are to be joined: a library sees single steps.
  SmallVector<Value> partsOf(mx::ReportOp op) const { return options_.libraryTrains ? SmallVector<Value>() : meansUnder(op.getValue()); }

  static std::string partName(mx::ReportOp op, size_t i) { return (op.getName() + "#" + Twine(i)).str(); }  // no input is called so

  // The reports that are functions of means, from those means.
  void buildReport() {
    if (llvm::all_of(reports_, [&](mx::ReportOp op) { return partsOf(op).empty(); })) return;
    Graph graph(module_, "report");
    for (mx::ReportOp op : reports_) {
      SmallVector<Value> means = partsOf(op);
      if (means.empty()) continue;
      IRMapping map;
      for (auto [i, part] : llvm::enumerate(means)) map.map(part, graph.argument("input", partName(op, i), part.getType(), part.getLoc()));
      llvm::SetVector<Operation*> needed;
      SmallVector<Value> work = {op.getValue()};
      while (!work.empty()) {
        Value value = work.pop_back_val();
        if (map.contains(value) || !needed.insert(value.getDefiningOp())) continue;
        work.append(value.getDefiningOp()->operand_begin(), value.getDefiningOp()->operand_end());
      }
      for (Operation* model : model_)
        if (needed.contains(model)) graph.b.clone(*model, map);
      graph.result("metric", op.getName(), map.lookup(op.getValue()));
    }
    graph.finish();
  }

  SmallVector<Value> measured() {
    SmallVector<Value> roots;
    for (mx::MinimizeOp op : losses_) roots.push_back(op.getLoss());
    for (mx::ReportOp op : reports_) {
      SmallVector<Value> means = partsOf(op);
      if (means.empty()) means = {op.getValue()};
      roots.append(means);
    }
    return roots;
  }

  // A training step as far as its gradients.
  struct Differentiated {
    IRMapping map;
    SmallVector<std::pair<mx::ParameterOp, Value>> newStates;
    SmallVector<mx::ParameterOp> trainable;
    SmallVector<Value> weights, gradients;  // of each; null: no gradient of the loss reaches it
  };

  // The loss and the metrics are results of `graph` then.
  LogicalResult differentiate(Graph& graph, Differentiated& step) {
    if (failed(clone(graph, measured(), true, step.map, step.newStates))) return failure();
    Value loss = addMeasures(graph, step.map);
    llvm::DenseSet<Operation*> needed = neededBy(ArrayRef(measured()).take_front(losses_.size()));
    for (auto parameter : module_.getOps<mx::ParameterOp>())
      if (parameter.getTrainable() && needed.contains(parameter)) {
        step.trainable.push_back(parameter);
        step.weights.push_back(step.map.lookup(parameter.getOutput()));
      }
    if (failed(checkSlotNames(step.trainable))) return failure();
    return buildGradients(graph.b, {GradientRoot{loss, seed(graph, loss, step.weights)}}, step.weights, step.gradients);
  }

  LogicalResult buildTrain() {
    Graph graph(module_, "train");
    Differentiated step;
    if (failed(differentiate(graph, step))) return failure();
    auto& [map, newStates, trainable, wrt, gradients] = step;
    if (failed(checkTrained(trainable, gradients))) return failure();
    clipGlobally(graph, trainable, gradients);
    for (auto [parameter, weight, gradient] : llvm::zip(trainable, wrt, gradients)) {
      if (!gradient) parameter.emitWarning() << "parameter " << parameter.getName() << " is not trained: no gradient of the loss reaches it";
      if (!gradient) continue;
      update(graph, parameter, weight, gradient);
      optimizerStates_.push_back(parameter);
    }
    for (auto [parameter, value] : newStates) {
      graph.result("state", parameter.getName(), value, map.lookup(parameter.getOutput()));
      trainedStates_.insert(parameter);
    }
    graph.finish();
    return success();
  }

  // The two parts of a step of several shards, whose sums are of f32 and f64.
  LogicalResult buildShards() {
    if (losses_.empty()) return success();
    for (auto parameter : module_.getOps<mx::ParameterOp>()) {
      Type element = rankedType(parameter.getOutput()).getElementType();
      if (parameter.getTrainable() && !element.isF32() && !element.isF64()) return success();
    }
    Graph graph(module_, "gradients");
    Differentiated step;
    if (failed(differentiate(graph, step))) return failure();
    if (llvm::none_of(step.gradients, [](Value gradient) { return static_cast<bool>(gradient); })) {
      graph.function.erase();
      return success();
    }
    for (auto [parameter, gradient] : llvm::zip(step.trainable, step.gradients))
      if (gradient) graph.result("gradient", parameter.getName(), gradient);
    for (auto [parameter, value] : step.newStates) graph.result("state", parameter.getName(), value, step.map.lookup(parameter.getOutput()));
    graph.finish();
    graph.function->setAttr("mx.by_shards", graph.b.getUnitAttr());
    if (!optimizer_->elementwise() || clipNormDefault(defaults_) > 0) buildUpdateWhole(step);
    else buildUpdates(step);
    return success();
  }

  void buildUpdates(const Differentiated& step) {
    Updates updates;
    for (auto [parameter, gradient] : llvm::zip(step.trainable, step.gradients)) {
      if (!gradient) continue;
      mx::ParameterOp op = parameter;
      auto element = cast<FloatType>(rankedType(op.getOutput()).getElementType());
      updates[{op.getLrMult().convertToDouble(), op.getWdMult().convertToDouble(), element.getWidth()}].push_back(op);
    }
    int number = 0;
    for (auto& [kind, parameters] : updates) {
      auto [rate, decay, width] = kind;
      buildUpdate(number++, {rate, decay}, parameters, rankedType(parameters[0].getOutput()).getElementType());
    }
  }

  void buildUpdateWhole(const Differentiated& step) {
    Graph graph(module_, "update_whole");
    SmallVector<Value> weights, gradients;
    for (auto [parameter, gradient] : llvm::zip(step.trainable, step.gradients)) {
      mx::ParameterOp op = parameter;
      Type type = op.getOutput().getType();
      weights.push_back(gradient ? graph.argument("parameter", op.getName(), type, op.getLoc()) : Value());
      gradients.push_back(gradient ? graph.argument("gradient", op.getName(), type, op.getLoc()) : Value());
    }
    clipGlobally(graph, step.trainable, gradients);
    for (auto [parameter, weight, gradient] : llvm::zip(step.trainable, weights, gradients))
      if (gradient) update(graph, parameter, weight, gradient);
    graph.finish();
    graph.function->setAttr("mx.by_shards", graph.b.getUnitAttr());
  }

  // By multipliers of rate and weight decay, and bits of an element: the parameters that have them.
  using Updates = std::map<std::tuple<double, double, unsigned>, SmallVector<mx::ParameterOp>>;

  // Elements of a part that @update takes at once.
  static constexpr int64_t kUpdated = 8192;

  void buildUpdate(int number, std::pair<double, double> multipliers, ArrayRef<mx::ParameterOp> parameters, Type element) {
    Graph graph(module_, number == 0 ? "update" : "update" + std::to_string(number));
    TensorType type = tensorType({kUpdated}, element, /*batch=*/0);
    Location loc = module_.getLoc();
    auto part = [&](StringRef name) { return graph.argument("input", ("update/" + name).str(), type, loc); };
    Value weight = part("weight"), gradient = part("gradient");
    SmallVector<Value> states;
    for (StringRef slot : optimizer_->states) states.push_back(part(slot));
    auto hyperValue = [&](StringRef name) { return optimizerHyper(graph, name, element); };
    ParameterUpdate update{weight, gradient, states, hyperValue, hyper(graph, "step", graph.b.getI64Type(), 0), multipliers.first, multipliers.second};
    SmallVector<Value> next = optimizer_->build(graph.b, loc, update);
    graph.result("output", "update/weight", next[0]);
    for (auto [slot, value] : llvm::zip(optimizer_->states, ArrayRef(next).drop_front())) graph.result("output", ("update/" + slot).str(), value);
    graph.finish();
    SmallVector<Attribute> names;
    for (mx::ParameterOp parameter : parameters) names.push_back(graph.b.getStringAttr(parameter.getName()));
    graph.function->setAttr("mx.by_shards", graph.b.getUnitAttr());
    graph.function->setAttr("mx.updates", graph.b.getArrayAttr(names));
  }

  // Whether the program keeps the new values of a parameter.
  bool isTrained(mx::ParameterOp parameter) const { return options_.trained.empty() || llvm::is_contained(options_.trained, parameter.getName()); }

  // That a gradient reaches all that a library is to train.
  LogicalResult checkTrained(ArrayRef<mx::ParameterOp> trainable, ArrayRef<Value> gradients) {
    for (const std::string& name : options_.trained) {
      bool reached = false;
      for (size_t i = 0; i < gradients.size(); ++i) reached |= gradients[i] && mx::ParameterOp(trainable[i]).getName() == name;
      if (!reached) return module_.emitError() << "parameter " << name << " is to be trained, but no gradient of the loss reaches it";
    }
    return success();
  }

  // Parameters and the optimizer's state share the names of a checkpoint.
  LogicalResult checkSlotNames(ArrayRef<mx::ParameterOp> trainable) {
    llvm::StringMap<mx::ParameterOp> named;
    for (auto parameter : module_.getOps<mx::ParameterOp>()) named[parameter.getName()] = parameter;
    for (mx::ParameterOp parameter : trainable)
      for (StringRef slot : optimizer_->states)
        if (auto clash = named.find((parameter.getName() + "/" + slot).str()); clash != named.end()) {
          InFlightDiagnostic error = clash->second.emitError() << "the name " << clash->first() << " is taken by the optimizer's state";
          error.attachNote(parameter.getLoc()) << "of the parameter " << parameter.getName();
          return error;
        }
    return success();
  }

  // Of the gradients: the loss scale, if it is compiled in; null: one.
  Value seed(Graph& graph, Value loss, ArrayRef<Value> weights) {
    if (lossScale_ == 1 || weights.empty()) return {};
    Type weight = rankedType(weights[0]).getElementType(), element = rankedType(loss).getElementType();
    Value scale = hyper(graph, "loss_scale", weight, lossScale_);
    if (weight == element) return scale;
    return make<mx::CastOp>(graph.b, loss.getLoc(), {scale}, graph.b.getNamedAttr("to", TypeAttr::get(element)));
  }

  // A hyper-parameter of the optimizer as the updates take it: the loss scale is divided out of `rescale`. Null: there is none of this name.
  Value optimizerHyper(Graph& graph, StringRef name, Type element) {
    const auto* known = llvm::find_if(optimizer_->hypers, [&](const HyperParameter& h) { return h.name == name; });
    if (known == optimizer_->hypers.end()) return {};
    Value value = hyper(graph, name, element, hyperDefault(*known, defaults_));
    if (name != "rescale" || lossScale_ == 1) return value;
    return make<mx::DivOp>(graph.b, module_.getLoc(), {value, hyper(graph, "loss_scale", element, lossScale_)});
  }

  // Clips those gradients that there are and that train something, if the optimizer clips by global norm.
  void clipGlobally(Graph& graph, ArrayRef<mx::ParameterOp> trainable, SmallVectorImpl<Value>& gradients) {
    double norm = clipNormDefault(defaults_);
    SmallVector<Value> given;
    auto isGiven = [&](size_t i) { return gradients[i] && isTrained(trainable[i]); };
    for (size_t i = 0; i < gradients.size(); ++i)
      if (isGiven(i)) given.push_back(gradients[i]);
    if (norm == 0 || given.empty()) return;
    SmallVector<Value> clipped = clipByGlobalNorm(graph.b, module_.getLoc(), given, optimizerHyper(graph, "rescale", widest_),
                                                  hyper(graph, "clip_norm", widest_, norm));
    auto next = clipped.begin();
    for (size_t i = 0; i < gradients.size(); ++i)
      if (isGiven(i)) gradients[i] = *next++;
  }

  void update(Graph& graph, mx::ParameterOp parameter, Value weight, Value gradient) {
    Type element = rankedType(weight).getElementType();
    SmallVector<Value> states;
    for (StringRef slot : optimizer_->states)
      states.push_back(graph.argument("state", (parameter.getName() + "/" + slot).str(), weight.getType(), parameter.getLoc(),
                                      graph.b.getNamedAttr("mx.slot", graph.b.getUnitAttr())));
    auto hyperValue = [&](StringRef name) { return optimizerHyper(graph, name, element); };
    ParameterUpdate update{weight, gradient, states, hyperValue, hyper(graph, "step", graph.b.getI64Type(), 0),
                           parameter.getLrMult().convertToDouble(), parameter.getWdMult().convertToDouble()};
    SmallVector<Value> next = optimizer_->build(graph.b, parameter.getLoc(), update);
    SmallVector<NamedAttribute> more;
    if (!isTrained(parameter)) more.push_back(graph.b.getNamedAttr("mx.dropped", graph.b.getUnitAttr()));
    graph.result("parameter", parameter.getName(), next[0], weight, more);
    for (auto [slot, value, old] : llvm::zip(optimizer_->states, ArrayRef(next).drop_front(), states))
      graph.result("state", (parameter.getName() + "/" + slot).str(), value, old, more);
  }

  LogicalResult buildEvaluation() {
    if (losses_.empty() && reports_.empty()) return success();
    Graph graph(module_, "eval");
    IRMapping map;
    SmallVector<std::pair<mx::ParameterOp, Value>> none;
    if (failed(clone(graph, measured(), false, map, none))) return failure();
    addMeasures(graph, map);
    graph.finish();
    return success();
  }

  LogicalResult buildInference() {
    if (outputs_.empty()) return success();
    Graph graph(module_, "infer");
    IRMapping map;
    SmallVector<Value> roots;
    for (mx::OutputOp op : outputs_) roots.push_back(op.getValue());
    SmallVector<std::pair<mx::ParameterOp, Value>> none;
    if (failed(clone(graph, roots, false, map, none))) return failure();
    for (mx::OutputOp op : outputs_) graph.result("output", op.getName(), map.lookup(op.getValue()));
    graph.finish();
    return success();
  }

  // Random numbers and new layer state are those of @train.
  LogicalResult buildForwardBackward() {
    Graph graph(module_, "forward_backward");
    IRMapping map;
    SmallVector<std::pair<mx::ParameterOp, Value>> newStates;
    SmallVector<Value> roots;
    for (mx::MinimizeOp op : losses_) roots.push_back(op.getLoss());
    for (mx::ReportOp op : reports_) roots.push_back(op.getValue());
    for (mx::OutputOp op : outputs_) roots.push_back(op.getValue());
    if (failed(clone(graph, roots, true, map, newStates))) return failure();
    Value loss = addLoss(graph, map);
    for (mx::ReportOp op : reports_) graph.result("metric", op.getName(), mean(graph, map.lookup(op.getValue())));
    for (mx::OutputOp op : outputs_) graph.result("output", op.getName(), map.lookup(op.getValue()));
    for (auto [parameter, value] : newStates)
      if (losses_.empty() || trainedStates_.contains(parameter))
        graph.result("state", parameter.getName(), value, map.lookup(parameter.getOutput()));
    if (failed(addGradients(graph, map, loss))) return failure();
    graph.finish();
    return success();
  }

  // With respect to all trainable parameters of the graph, and to the inputs that ask for it. Zeros where nothing reaches them; of
  // parameters without a loss also where no gradient exists: nobody asks for those of all outputs.
  LogicalResult addGradients(Graph& graph, IRMapping& map, Value loss) {
    SmallVector<Operation*> sources;
    for (auto parameter : module_.getOps<mx::ParameterOp>())
      if (parameter.getTrainable() && map.contains(parameter.getOutput())) sources.push_back(parameter);
    for (auto input : module_.getOps<mx::InputOp>())
      if (input->hasAttr("mx.gradient") && map.contains(input.getOutput())) sources.push_back(input);
    SmallVector<GradientRoot> roots;
    if (loss) roots.push_back({loss, {}});
    else if (!sources.empty() && failed(addHeads(graph, map, roots))) return failure();
    if (sources.empty() || roots.empty()) return success();
    SmallVector<Value> wrt, gradients;
    SmallVector<bool> optional;
    for (Operation* source : sources) {
      wrt.push_back(map.lookup(source->getResult(0)));
      optional.push_back(!loss && isa<mx::ParameterOp>(source));
    }
    if (failed(buildGradients(graph.b, roots, wrt, gradients, {loss ? "the loss" : "an output", {}, optional}))) return failure();
    for (auto [source, value, gradient] : llvm::zip(sources, wrt, gradients)) {
      if (!gradient) gradient = mx::makeFilled(graph.b, source->getLoc(), 0, rankedType(value));
      graph.result("gradient", source->getAttrOfType<StringAttr>("name"), gradient);
    }
    return success();
  }

  // An argument for the gradient of each output of a floating type.
  LogicalResult addHeads(Graph& graph, IRMapping& map, SmallVectorImpl<GradientRoot>& roots) {
    for (mx::OutputOp op : outputs_) {
      Value output = map.lookup(op.getValue());
      TensorType type = rankedType(output);
      if (!isa<FloatType>(type.getElementType())) continue;
      std::string name = (op.getName() + ".head_gradient").str();
      for (auto input : module_.getOps<mx::InputOp>())
        if (input.getName() == name) {
          InFlightDiagnostic error = input.emitError() << "the name " << name << " is taken by the head gradient of an output";
          error.attachNote(op.getLoc()) << "of this one";
          return error;
        }
      roots.push_back({output, graph.argument("input", name, type, op.getLoc(), graph.b.getNamedAttr("mx.head_gradient", graph.b.getUnitAttr()))});
    }
    return success();
  }

  LogicalResult buildInit() {
    Graph graph(module_, "init");
    Value seed = hyper(graph, "seed", graph.b.getI64Type(), 0);
    int64_t stream = 0;
    for (auto parameter : module_.getOps<mx::ParameterOp>()) {
      ArrayRef<double> args;
      if (auto given = parameter.getInitArgs()) args = *given;
      FailureOr<Value> value = buildInitialValue(graph.b, parameter.getLoc(), parameter.getInit(), args, rankedType(parameter.getOutput()), seed, stream++);
      if (failed(value)) return failure();
      SmallVector<NamedAttribute> place;
      for (const char* key : {"mx.init_file", "mx.init_tensor"})
        if (Attribute given = parameter->getAttr(key)) place.push_back(graph.b.getNamedAttr(key, given));
      graph.result(parameter.getTrainable() ? "parameter" : "state", parameter.getName(), *value, {}, place);
    }
    for (mx::ParameterOp parameter : optimizerStates_)
      for (StringRef slot : optimizer_->states) {
        Value zero = mx::makeFilled(graph.b, parameter.getLoc(), 0, rankedType(parameter.getOutput()));
        graph.result("state", (parameter.getName() + "/" + slot).str(), zero);
      }
    graph.finish();
    return success();
  }

  ModuleOp module_;
  const bool ownMain_, library_;
  const PipelineOptions& options_;
  SmallVector<Operation*> model_;
  SmallVector<mx::MinimizeOp> losses_;
  SmallVector<mx::ReportOp> reports_;
  SmallVector<mx::OutputOp> outputs_;
  const OptimizerKind* optimizer_ = nullptr;
  DictionaryAttr defaults_;
  FloatType widest_;      // of the element types of trainable parameters
  double lossScale_ = 1;  // 1: left out
  SmallVector<mx::ParameterOp> optimizerStates_;
  llvm::DenseMap<Operation*, int64_t> streams_;  // the first random stream of each op that has any: the same in all graphs
  int64_t nextStream_ = 0;
  llvm::DenseSet<Operation*> trainedStates_;     // layer state that training changes
};

}  // namespace

LogicalResult buildGraphs(ModuleOp module, const PipelineOptions& options) { return GraphBuilder(module, options).run(); }

}  // namespace mxc::passes

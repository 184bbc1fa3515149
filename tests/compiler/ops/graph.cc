// See graph.h.
#include "tests/compiler/ops/graph.h"

#include "mlir/AsmParser/AsmParser.h"

using namespace mlir;

namespace mxc::ops_test {
namespace {

DictionaryAttr attributesOf(const OpCase& c, FloatType element) {
  std::string text = c.attributes.empty() ? "{}" : c.attributes;
  for (size_t at; (at = text.find("$T")) != std::string::npos;) text.replace(at, 2, element.isF32() ? "f32" : "f64");
  return cast<DictionaryAttr>(parseAttribute(text, element.getContext()));
}

// The gradients of `wanted` arguments, from those of `outputs`, through all operations of the block; null where nothing depends on one.
FailureOr<SmallVector<Value>> backward(OpBuilder& b, Block& block, ArrayRef<Value> outputs, ArrayRef<Value> dys, ArrayRef<Value> wanted) {
  llvm::DenseSet<Value> needed(wanted.begin(), wanted.end());
  llvm::DenseMap<Value, Value> gradients;
  auto add = [&](Value value, Value gradient) {
    Value& sum = gradients[value];
    if (sum) sum = makeOp(b, value.getLoc(), "mx.add", {sum, gradient}, {}, 1)->getResult(0);
    else sum = gradient;
  };
  SmallVector<Operation*> ops;
  for (Operation& op : block) {
    ops.push_back(&op);
    if (llvm::any_of(op.getOperands(), [&](Value v) { return needed.contains(v); }))
      for (Value result : op.getResults()) needed.insert(result);
  }
  for (auto [output, dy] : llvm::zip(outputs, dys)) add(output, dy);
  for (Operation* op : llvm::reverse(ops)) {
    SmallVector<Value> given;
    for (Value result : op->getResults()) given.push_back(gradients.lookup(result));
    SmallVector<bool> wants;
    for (Value operand : op->getOperands()) wants.push_back(needed.contains(operand) && isa<FloatType>(rankedType(operand).getElementType()));
    if (llvm::none_of(given, [](Value v) { return v; }) || llvm::none_of(wants, [](bool w) { return w; })) continue;
    GradientBuilder g(b, op, given, wants);
    if (failed(cast<mx::OpRules>(op).buildGradient(g))) return op->emitError("has no gradient");
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      if (wants[i] && g.get(i)) add(op->getOperand(i), g.get(i));
  }
  SmallVector<Value> result;
  for (Value argument : wanted) result.push_back(gradients.lookup(argument));
  return result;
}

}  // namespace

TensorType inputType(const Input& input, FloatType element) {
  Builder b(element.getContext());
  Type types[] = {element, b.getI32Type(), b.getI64Type(), b.getIntegerType(8, false), b.getI1Type()};
  Dims dims = input.dims;
  int64_t batch = -1;
  for (size_t i = 0; i < dims.size(); ++i)
    if (dims[i] == kN) dims[batch = static_cast<int64_t>(i)] = kCompiled;
  return tensorType(dims, types[static_cast<int>(input.kind)], batch);
}

namespace {

// A function under construction.
struct Maker {
  Graph graph;
  OpBuilder b;
  Location loc;
  Block* block;
  SmallVector<Value> inputs, outputs, dys, wanted, gradients;

  Maker(FloatType element) : b(element.getContext()), loc(UnknownLoc::get(element.getContext())) {
    graph.module = ModuleOp::create(loc);
    graph.wide = element.isF64();
    b.setInsertionPointToEnd(graph.module->getBody());
    graph.function = b.create<func::FuncOp>(loc, "main", b.getFunctionType({}, {}));
    block = graph.function.addEntryBlock();
    b.setInsertionPointToEnd(block);
  }

  LogicalResult forward(const OpCase& c, FloatType element, size_t results) {
    for (const Input& input : c.inputs) inputs.push_back(block->addArgument(inputType(input, element), loc));
    if (c.build) {
      outputs = c.build(b, loc, inputs);
    } else {
      OperationState state(loc, c.op);
      state.addOperands(inputs);
      state.addAttributes(attributesOf(c, element).getValue());
      state.addTypes(SmallVector<Type>(c.results, UnrankedTensorType::get(element)));
      Operation* op = b.create(state);
      if (failed(cast<mx::OpRules>(op).inferTypes())) return failure();
      outputs = SmallVector<Value>(op->getResults());
      if (auto composite = dyn_cast<mx::CompositeRules>(op)) outputs = composite.decompose(b);
      for (auto [output, result] : llvm::zip(outputs, op->getResults()))
        if (output.getType() != result.getType()) return op->emitError() << "decomposes into " << output.getType();
      if (!llvm::equal(outputs, op->getResults())) op->erase();
    }
    outputs.resize(results);
    return success();
  }

  LogicalResult differentiate(const OpCase& c) {
    for (Value output : outputs) dys.push_back(block->addArgument(plain(rankedType(output)), loc));
    for (unsigned i : c.differentiable) wanted.push_back(inputs[i]);
    FailureOr<SmallVector<Value>> found = backward(b, *block, outputs, dys, wanted);
    if (failed(found)) return failure();
    gradients = *found;
    if (!llvm::all_of(gradients, [](Value v) { return v; })) return emitError(loc, "nothing depends on an operand that is differentiable");
    return success();
  }

  FailureOr<Graph> finish(ArrayRef<Value> results) {
    b.create<func::ReturnOp>(loc, results);
    // As simplify does.
    for (Operation& op : llvm::make_early_inc_range(llvm::reverse(*block)))
      if (isOpTriviallyDead(&op)) op.erase();
    graph.function.setType(b.getFunctionType(block->getArgumentTypes(), ValueRange(results).getTypes()));
    return std::move(graph);
  }
};

}  // namespace

FailureOr<Graph> buildGraph(const OpCase& c, FloatType element, size_t results) {
  Maker maker(element);
  if (failed(maker.forward(c, element, results))) return failure();
  if (!c.differentiable.empty() && failed(maker.differentiate(c))) return failure();
  maker.outputs.append(maker.gradients);
  return maker.finish(maker.outputs);
}

FailureOr<Graph> buildSecondOrder(const OpCase& c, FloatType element, size_t results) {
  Maker maker(element);
  if (failed(maker.forward(c, element, results)) || failed(maker.differentiate(c))) return failure();
  SmallVector<Value> dys, wanted = maker.wanted;
  for (Value gradient : maker.gradients) dys.push_back(maker.block->addArgument(plain(rankedType(gradient)), maker.loc));
  wanted.append(maker.dys);
  FailureOr<SmallVector<Value>> second = backward(maker.b, *maker.block, maker.gradients, dys, wanted);
  if (failed(second)) return failure();
  SmallVector<Value> returned = maker.gradients;
  for (auto [argument, gradient] : llvm::zip(wanted, *second)) {
    if (!gradient) continue;
    maker.graph.second.push_back(cast<BlockArgument>(argument).getArgNumber());
    returned.push_back(gradient);
  }
  return maker.finish(returned);
}

}  // namespace mxc::ops_test

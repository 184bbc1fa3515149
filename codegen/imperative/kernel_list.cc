// The list. Whether an operation takes an element type is asked on a static shape, since some operations refuse the batch as the axis
// they run along (a graph's samples are independent; here the batch stands for any extent); then the batch takes that shape's place.
#include "codegen/imperative/kernel_list.h"

#include <algorithm>

#include "ir/ops/elementwise.h"
#include "ir/ops/random.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;

namespace mxc::codegen {
namespace {

constexpr int64_t kAsked = 4;                  // the static extent for the question
constexpr int64_t kFlat = int64_t{1} << 40;    // the compiled batch: more elements than any array has

// Formulas of optimizers, which are elementwise operations only because everything is.
constexpr const char* kOfOptimizers[] = {"mx.clip_norm_scale", "mx.trust_ratio"};

using Make = llvm::function_ref<Value(OpBuilder&, ValueRange)>;

class Lister {
 public:
  explicit Lister(ModuleOp scratch)
      : scratch_(scratch), context_(scratch.getContext()), loc_(scratch.getLoc()), quiet_(context_, [](Diagnostic&) { return success(); }) {}

  std::vector<ListedKernel> run() {
    for (RegisteredOperationName name : context_->getRegisteredOperations())
      if (name.getDialectNamespace() == "mx") listOperation(name);
    for (int d = 0; d < kDTypes; ++d) {
      auto dtype = static_cast<plan::DType>(d);
      listCasts(dtype);
      if (isa<FloatType>(element(dtype))) listPairs(dtype);
    }
    listRandom(plan::DType::f32);
    listRandom(plan::DType::f64);
    listBernoulli();
    return std::move(kernels_);
  }

 private:
  Type element(plan::DType dtype) { return elementOf(context_, dtype); }
  TensorType asked(Type element) { return tensorType({kAsked}, element); }
  TensorType single(Type element) { return tensorType({}, element); }
  TensorType flat(Type element) { return tensorType({kFlat}, element, 0); }

  // ---- From the dialect -------------------------------------------------------------------------------------------------------
  void listOperation(RegisteredOperationName name) {
    bool one = name.hasTrait<OpTrait::OneOperand>(), two = name.hasTrait<OpTrait::NOperands<2>::Impl>(),
         three = name.hasTrait<OpTrait::NOperands<3>::Impl>();
    if (!name.hasTrait<OpTrait::OneResult>() || name.hasInterface<mx::ViewRules>()) return;
    if (llvm::is_contained(kOfOptimizers, name.getStringRef())) return;
    std::vector<std::string> attributes;
    for (StringAttr attribute : name.getAttributeNames()) attributes.push_back(attribute.str());
    std::sort(attributes.begin(), attributes.end());
    auto has = [&](std::vector<std::string> wanted) { return attributes == wanted; };
    for (int d = 0; d < kDTypes; ++d) {
      auto dtype = static_cast<plan::DType>(d);
      if (name.hasInterface<mx::ElementwiseRules>() && attributes.empty() && (one || two || three))
        listElementwise(name, dtype, one ? 1 : two ? 2 : 3);
      else if (one && has({"axes", "keep_dims"}))
        listReduction(name, dtype);
      else if (one && (has({"axis", "keep_dims"}) || has({"axis"})))
        listRow(name, dtype, has({"axis"}));
    }
  }

  // Of three operands the first is a condition.
  void listElementwise(RegisteredOperationName name, plan::DType dtype, unsigned operands) {
    SmallVector<Type> elements(operands, element(dtype));
    if (operands == 3) elements[0] = element(plan::DType::boolean);
    for (unsigned scalars = 0; scalars + 1 < (1u << operands) || scalars == 0; ++scalars) {
      SmallVector<Type> types;
      for (unsigned i = 0; i < operands; ++i) types.push_back(scalars >> i & 1 ? single(elements[i]) : asked(elements[i]));
      add(name.stripDialect().str(), dtype, scalars, types, [&](OpBuilder& b, ValueRange x) -> Value {
        Value result = infer(b, name.getStringRef(), x, {});
        if (!result || !cast<mx::ElementwiseRules>(result.getDefiningOp()).givesTruth() || dtype == plan::DType::boolean) return result;
        return castTo(b, result, plan::DType::boolean);
      });
    }
  }

  void listReduction(RegisteredOperationName name, plan::DType dtype) {
    std::string family = name.stripDialect().str();
    auto make = [&](OpBuilder& b, ValueRange x) {
      return infer(b, name.getStringRef(), x[0], {b.getNamedAttr("axes", b.getDenseI64ArrayAttr({})), b.getNamedAttr("keep_dims", b.getBoolAttr(false))});
    };
    if (!add(family, dtype, 0, {asked(element(dtype))}, make)) return;
    Type accumulator = valueType(element(dtype));
    int64_t lanes = accumulator.isF64() ? 8 : 16;
    add(family + ".run", dtype, 0, {asked(element(dtype)), tensorType({lanes}, accumulator)}, make);
    kernels_.back().operands = 1;
    kernels_.back().carried = 1;
  }

  // `rowToRow`: the result is a row too.
  void listRow(RegisteredOperationName name, plan::DType dtype, bool rowToRow) {
    add(name.stripDialect().str(), dtype, 0, {asked(element(dtype))}, [&](OpBuilder& b, ValueRange x) -> Value {
      SmallVector<NamedAttribute> attributes = {b.getNamedAttr("axis", b.getI64IntegerAttr(0))};
      if (!rowToRow) attributes.push_back(b.getNamedAttr("keep_dims", b.getBoolAttr(false)));
      Value result = infer(b, name.getStringRef(), x, attributes);
      return result && rowToRow && result.getType() != x[0].getType() ? Value() : result;
    });
  }

  // ---- Named here -------------------------------------------------------------------------------------------------------------
  void listCasts(plan::DType from) {
    for (int to = 0; to < kDTypes; ++to)
      if (static_cast<plan::DType>(to) != from)
        add(std::string("cast.") + dtypeName(static_cast<plan::DType>(to)), from, 0, {asked(element(from))},
            [&](OpBuilder& b, ValueRange x) { return castTo(b, x[0], static_cast<plan::DType>(to)); });
  }

  void listPairs(plan::DType dtype) {
    auto product = [&](OpBuilder& b, Value x, Value y) { return infer(b, "mx.mul", {x, y}, {}); };
    for (unsigned scalars = 0; scalars < 7; ++scalars) {
      SmallVector<Type> types;
      for (unsigned i = 0; i < 3; ++i) types.push_back(scalars >> i & 1 ? single(element(dtype)) : asked(element(dtype)));
      add("mul_add", dtype, scalars, types, [&](OpBuilder& b, ValueRange x) { return infer(b, "mx.add", {product(b, x[0], x[1]), x[2]}, {}); });
      add("mul_sub", dtype, scalars, types, [&](OpBuilder& b, ValueRange x) { return infer(b, "mx.sub", {product(b, x[0], x[1]), x[2]}, {}); });
      add("sub_mul", dtype, scalars, types, [&](OpBuilder& b, ValueRange x) { return infer(b, "mx.sub", {x[0], product(b, x[1], x[2])}, {}); });
    }
  }

  SmallVector<Type> randomOperands() {
    return {tensorType({2}, element(plan::DType::i32)), single(element(plan::DType::i64))};
  }

  Value draw(OpBuilder& b, ValueRange x, plan::DType dtype, bool normal) {
    return infer(b, "mx.random_draw", x.take_front(2),
                 {b.getNamedAttr("normal", b.getBoolAttr(normal)), b.getNamedAttr("to", TypeAttr::get(flat(element(dtype))))});
  }

  void listRandom(plan::DType dtype) {
    for (bool normal : {false, true})
      add(normal ? "random_normal" : "random_uniform", dtype, 0, randomOperands(),
          [&](OpBuilder& b, ValueRange x) { return draw(b, x, dtype, normal); });
  }

  void listBernoulli() {
    SmallVector<Type> types = randomOperands();
    types.push_back(single(element(plan::DType::f32)));
    add("random_bernoulli", plan::DType::f32, 0, types, [&](OpBuilder& b, ValueRange x) {
      return castTo(b, infer(b, "mx.less", {draw(b, x, plan::DType::f32, false), x[2]}, {}), plan::DType::boolean);
    });
  }

  // ---- Building ---------------------------------------------------------------------------------------------------------------
  // Null if the operation refuses its operands.
  Value infer(OpBuilder& b, StringRef name, ValueRange operands, ArrayRef<NamedAttribute> attributes) {
    OperationState state(loc_, name);
    state.addOperands(operands);
    state.addAttributes(attributes);
    state.addTypes(UnrankedTensorType::get(b.getF32Type()));
    Operation* op = b.create(state);
    return succeeded(cast<mx::OpRules>(op).inferTypes()) ? op->getResult(0) : Value();
  }

  Value castTo(OpBuilder& b, Value x, plan::DType to) {
    return infer(b, "mx.cast", {x}, {b.getNamedAttr("to", TypeAttr::get(element(to)))});
  }

  // Adds the kernel that `make` builds on operands of `types`; false if it gives null.
  bool add(std::string family, plan::DType dtype, unsigned scalars, ArrayRef<Type> types, Make make) {
    OperationState state(loc_, mx::KernelOp::getOperationName());
    Block* body = new Block;
    state.addRegion()->push_back(body);
    for (Type type : types) body->addArgument(type, loc_);
    OpBuilder inside(context_);
    inside.setInsertionPointToEnd(body);
    Value result = make(inside, body->getArguments());
    if (!result) return false;
    inside.create<mx::YieldOp>(loc_, result);
    auto flatten = [&](Value value) {
      TensorType type = rankedType(value);
      if (type.getShape() == ArrayRef<int64_t>{kAsked}) value.setType(flat(type.getElementType()));
    };
    for (Value argument : body->getArguments()) flatten(argument);
    for (Operation& op : *body)
      for (Value value : op.getResults()) flatten(value);

    OpBuilder b = OpBuilder::atBlockEnd(scratch_.getBody());
    auto function = b.create<func::FuncOp>(loc_, "k" + std::to_string(kernels_.size()), b.getFunctionType(body->getArgumentTypes(), {}));
    b.setInsertionPointToEnd(function.addEntryBlock());
    state.addOperands(function.getArguments());
    state.addTypes(result.getType());
    auto kernel = cast<mx::KernelOp>(b.create(state));
    b.create<func::ReturnOp>(loc_);
    kernels_.push_back({std::move(family), dtype, scalars, static_cast<int>(types.size()), kernel, -1});
    return true;
  }

  ModuleOp scratch_;
  MLIRContext* context_;
  Location loc_;
  ScopedDiagnosticHandler quiet_;
  std::vector<ListedKernel> kernels_;
};

}  // namespace

std::vector<ListedKernel> listKernels(ModuleOp scratch) { return Lister(scratch).run(); }

}  // namespace mxc::codegen

// layout: decides how every tensor lies in memory, once for the whole program.
//
//   %y = mx.conv2d %x, %w : (tensor<8x32x7x7>, ...)        %1 = mx.relayout %x -> tensor<8x32x7x7, #mx.enc<block_axis = 1, block = 16>>
//   %z = mx.relu %y                                  -->   %y = mx.conv2d %1, %w : ... -> tensor<8x32x7x7, #mx.enc<... block = 16>>
//   %f = mx.flatten %z                                     %z = mx.relu %y : the same type
//                                                          %2 = mx.relayout %z -> tensor<8x32x7x7>
//                                                          %f = mx.flatten %2
//
// Requires: all tensors row-major. Holds afterwards: operations have the operand layouts that they want; views, inputs and outputs of
// functions are row-major; a parameter or state has one layout in all functions, and its new value the same.
//
// Values whose elements correspond form a class and get one layout: results and equally shaped operands of elementwise operations,
// a parameter in all functions with its new value, and hence its gradient and the optimizer's state. A class takes the layout that most
// of the operations want which have a wish (LayoutRules); a parameter's class the one that its first user wants, in inference if there
// is any. A class without a wish takes the layout of what its values are made from, if that has the same shape. Relayouts bridge what
// is left; fusion lets most of them ride in a producer's loop.
//
// Functions with gradients among their results, which a program may hold or not, come after all others: parameters lie in them as they lie
// in those, and so do their gradients, also as arguments of other functions.
#include "ir/mx.h"
#include "ir/ops/shape.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/forward_part.h"
#include "passes/passes.h"

using namespace mlir;

namespace mxc::passes {
namespace {

// A layout without the tensor that has it.
struct Form {
  SmallVector<int64_t> order;
  int64_t blockAxis = -1, block = 0;
  bool operator==(const Form& other) const { return order == other.order && blockAxis == other.blockAxis && block == other.block; }
};

Form formOf(TensorType type) {
  Layout layout = layoutOf(type);
  return {layout.order, layout.blockAxis, layout.block};
}

TensorType withForm(TensorType type, const Form& form) {
  bool rowMajor = form.blockAxis < 0 && llvm::is_sorted(form.order);
  return rowMajor ? plain(type) : withLayout(type, form.order, form.blockAxis, form.block);
}

bool sameSpace(Value a, Value b) {
  TensorType ta = rankedType(a), tb = rankedType(b);
  return ta.getShape() == tb.getShape() && batchAxis(ta) == batchAxis(tb);
}

// Elements of a block for the operation's arithmetic: as many bytes as `lanes` f32.
int64_t lanesFor(Operation* op, int64_t lanes) {
  SmallVector<Type> types(op->getOperandTypes());
  llvm::append_range(types, op->getResultTypes());
  for (Type type : types)
    if (auto element = dyn_cast<FloatType>(cast<RankedTensorType>(type).getElementType())) return lanes * 4 / elementBytes(element);
  return lanes;
}

bool lives(StringAttr role) { return role && (role == "parameter" || role == "state"); }

// The name of a parameter or state; null for other arguments and results.
StringAttr persistentName(func::FuncOp function, BlockArgument argument) {
  unsigned i = argument.getArgNumber();
  return lives(function.getArgAttrOfType<StringAttr>(i, "mx.role")) ? function.getArgAttrOfType<StringAttr>(i, "mx.name") : StringAttr();
}
StringAttr persistentName(func::FuncOp function, unsigned result) {
  return lives(function.getResultAttrOfType<StringAttr>(result, "mx.role")) ? function.getResultAttrOfType<StringAttr>(result, "mx.name")
                                                                          : StringAttr();
}

// Gradients that another function has made of a parameter of this name.
bool isGradientArgument(func::FuncOp function, BlockArgument argument) {
  auto role = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "mx.role");
  return role && role == "gradient";
}

class LayoutPass {
 public:
  LayoutPass(ModuleOp module, int64_t lanes) : lanes_(lanes) {
    // Inference first: it has the forward user of each parameter and nothing else.
    for (int wanted = 0; wanted < kRanks; ++wanted)
      for (auto function : module.getOps<func::FuncOp>())
        if (rank(function) == wanted) (hasBackward(function) ? following_ : functions_).push_back(function);
  }

  void run() {
    layOut(functions_);
    for (Class& c : classes_) c.settled = true;
    layOut(following_);
  }

 private:
  struct Class {
    explicit Class(int number) : parent(number) {}
    int parent;
    bool persistent = false;
    bool settled = false;                   // whether `form` stays as it is
    std::optional<Form> first;              // what the first user of a parameter itself wants
    SmallVector<std::pair<Form, int>> votes;
    std::optional<Form> form;
  };

  static constexpr int kRanks = 4;
  static int rank(func::FuncOp function) {
    return llvm::StringSwitch<int>(function.getName()).Case("infer", 0).Case("eval", 1).Case("train", 2).Default(3);
  }

  void layOut(ArrayRef<func::FuncOp> functions) {
    for (func::FuncOp function : functions) makeClasses(function);
    for (func::FuncOp function : functions) joinClasses(function);
    for (func::FuncOp function : functions) collectVotes(function);
    decide(functions);
    for (func::FuncOp function : functions) setTypes(function);
    for (func::FuncOp function : functions) bridge(function);
  }

  // ---- Classes ----------------------------------------------------------------------------------------------------------------
  int newClass() {
    classes_.emplace_back(classes_.size());
    return classes_.size() - 1;
  }
  int find(int c) {
    while (classes_[c].parent != c) c = classes_[c].parent = classes_[classes_[c].parent].parent;
    return c;
  }
  // The class of a value; null if it stays row-major whatever others wish: inputs and views.
  Class* classOf(Value value) {
    auto it = class_.find(value);
    return it == class_.end() ? nullptr : &classes_[find(it->second)];
  }
  int named(StringAttr name) {
    auto [it, added] = named_.try_emplace(name.getValue(), 0);
    if (added) {
      it->second = newClass();
      classes_.back().persistent = true;
    }
    return it->second;
  }
  // The parameter or state whose layout a result has; null: none's.
  StringAttr layoutName(func::FuncOp function, unsigned result) {
    auto name = function.getResultAttrOfType<StringAttr>(result, "mx.name");
    bool ofParameter = isGradientResult(function, result) && named_.contains(name.getValue());
    return ofParameter ? name : persistentName(function, result);
  }
  void join(int a, int b) {
    a = find(a), b = find(b);
    if (a == b) return;
    if (b < a) std::swap(a, b);
    if (classes_[b].settled) return;  // and so is `a`
    classes_[b].parent = a;
    classes_[a].persistent |= classes_[b].persistent;
  }
  void join(Value a, Value b) {
    auto ia = class_.find(a), ib = class_.find(b);
    if (ia != class_.end() && ib != class_.end() && sameSpace(a, b)) join(ia->second, ib->second);
  }

  void makeClasses(func::FuncOp function) {
    for (BlockArgument argument : function.getArguments()) {
      StringAttr name = persistentName(function, argument);
      if (isGradientArgument(function, argument)) name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "mx.name");
      if (name) class_[argument] = named(name);
    }
    for (Operation& op : function.getBody().front())
      if (!isa<mx::ViewRules>(op))
        for (Value result : op.getResults()) class_[result] = newClass();
  }

  void joinClasses(func::FuncOp function) {
    for (Operation& op : function.getBody().front().without_terminator()) {
      if (!isa<mx::ElementwiseRules>(op)) continue;
      for (Value value : op.getOperands()) join(value, op.getResult(0));
      for (Value value : op.getResults()) join(value, op.getResult(0));
    }
    for (OpOperand& operand : function.getBody().front().getTerminator()->getOpOperands()) {
      StringAttr name = layoutName(function, operand.getOperandNumber());
      auto it = class_.find(operand.get());
      if (name && it != class_.end()) join(it->second, named(name));
    }
  }

  // ---- Wishes -----------------------------------------------------------------------------------------------------------------
  void collectVotes(func::FuncOp function) {
    for (Operation& op : function.getBody().front().without_terminator()) {
      auto rules = dyn_cast<mx::LayoutRules>(op);
      if (!rules) continue;
      int64_t lanes = lanesFor(&op, lanes_);
      for (unsigned i = 0; i < op.getNumOperands(); ++i) vote(op.getOperand(i), rules.wantedOperandType(i, lanes));
      for (unsigned i = 0; i < op.getNumResults(); ++i) vote(op.getResult(i), rules.wantedResultType(i, lanes));
    }
  }

  void vote(Value value, TensorType wanted) {
    Class* c = classOf(value);
    if (!c || c->settled) return;
    Form form = formOf(wanted);
    if (isa<BlockArgument>(value) && !c->first) c->first = form;
    for (auto& [known, count] : c->votes) {
      if (!(known == form)) continue;
      ++count;
      return;
    }
    c->votes.push_back({form, 1});
  }

  void decide(ArrayRef<func::FuncOp> functions) {
    for (Class& c : classes_) {
      if (c.settled) continue;
      if (c.first) {
        c.form = c.first;
      } else if (!c.votes.empty()) {
        c.form = std::max_element(c.votes.begin(), c.votes.end(), [](auto& a, auto& b) { return a.second < b.second; })->first;
      }
    }
    for (func::FuncOp function : functions)
      for (Operation& op : function.getBody().front().without_terminator())
        for (Value result : op.getResults()) followOperand(op, result);
  }

  void followOperand(Operation& op, Value result) {
    Class* c = classOf(result);
    if (!c || c->form || c->persistent) return;
    for (Value operand : op.getOperands()) {
      Class* source = classOf(operand);
      if (source && source != c && source->form && sameSpace(operand, result)) {
        c->form = source->form;
        return;
      }
    }
  }

  // ---- Types ------------------------------------------------------------------------------------------------------------------
  void setTypes(func::FuncOp function) {
    auto set = [&](Value value) {
      Class* c = classOf(value);
      if (c && c->form) value.setType(withForm(rankedType(value), *c->form));
    };
    for (BlockArgument argument : function.getArguments()) set(argument);
    for (Operation& op : function.getBody().front())
      for (Value result : op.getResults()) set(result);
  }

  void bridge(func::FuncOp function) {
    made_.clear();
    for (Operation& op : llvm::make_early_inc_range(function.getBody().front())) {
      if (op.hasTrait<OpTrait::IsTerminator>()) continue;
      auto rules = dyn_cast<mx::LayoutRules>(op);
      int64_t lanes = lanesFor(&op, lanes_);
      for (OpOperand& operand : op.getOpOperands()) {
        if (isa<mx::ViewRules>(op)) operand.set(relayout(operand.get(), plain(rankedType(operand.get())), &op));
        else if (rules) operand.set(relayout(operand.get(), rules.wantedOperandType(operand.getOperandNumber(), lanes), &op));
      }
    }
    Operation* end = function.getBody().front().getTerminator();
    for (OpOperand& operand : end->getOpOperands()) {
      StringAttr name = layoutName(function, operand.getOperandNumber());
      TensorType type = plain(rankedType(operand.get()));
      if (name)
        if (auto& form = classes_[find(named(name))].form) type = withForm(type, *form);
      operand.set(relayout(operand.get(), type, end));
    }
    function.setFunctionType(FunctionType::get(function.getContext(), function.getBody().front().getArgumentTypes(), end->getOperandTypes()));
  }

  // `value` in the layout of `type`, made before `user` unless it has been already.
  Value relayout(Value value, TensorType type, Operation* user) {
    if (value.getType() == type) return value;
    Value& made = made_[{value, type}];
    if (!made) {
      OpBuilder builder(user);
      made = builder.create<mx::RelayoutOp>(value.getLoc(), type, value, TypeAttr::get(type));
    }
    return made;
  }

  int64_t lanes_;
  SmallVector<func::FuncOp> functions_, following_;
  std::vector<Class> classes_;
  llvm::DenseMap<Value, int> class_;
  llvm::StringMap<int> named_;
  llvm::DenseMap<std::pair<Value, Type>, Value> made_;
};

}  // namespace

LogicalResult layout(ModuleOp module, const PipelineOptions& options) {
  LayoutPass(module, options.lanes).run();
  return success();
}

}  // namespace mxc::passes

// distribute: what a step of several shards exchanges, where, and what goes first.
//
//   %0 = mx.kernel(%x, %w) ...                  mx.pull "w", %w {bytes = 36, priority = 0}
//   %1 = mx.kernel(%dy, %x) ...        -->      %0 = mx.kernel(%x, %w) ...
//   return %0, %1                               %1 = mx.kernel(%dy, %x) ...
//                                               mx.push "w", %1 {bytes = 36, priority = 0}
//                                               return %0, %1
//
// In a function of shards (mx.by_shards) with gradients among its results these, and the new state of layers, are pushed behind the kernel that makes
// them, and what they change is pulled before the first kernel that reads it. If updates look at whole parameters (@update_whole), it is sums
// of gradients that come back, and they are pulled there. The network is used best if what the next step needs first goes first: the priority of the key
// that forward reads first is 0, and each later one's is one less; state comes behind all parameters, as nothing that a step computes waits for it.
//
// Needs: the order in which kernels run; runs last, since what stands behind kernels here would count as a reader of their results.
#include "ir/mx.h"
#include "ir/ops/comm.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/forward_part.h"
#include "passes/overwrite.h"
#include "passes/passes.h"
#include "passes/training_kernels.h"

using namespace mlir;

namespace mxc::passes {
namespace {

StringRef attribute(DictionaryAttr attributes, StringRef name) {
  auto text = attributes.getAs<StringAttr>(name);
  return text ? text.getValue() : StringRef();
}

// Null: there is none.
Value argumentOf(func::FuncOp function, StringRef role, StringRef name) {
  for (BlockArgument argument : function.getArguments()) {
    DictionaryAttr attributes = function.getArgAttrDict(argument.getArgNumber());
    if (attribute(attributes, "mx.role") == role && attribute(attributes, "mx.name") == name) return argument;
  }
  return {};
}

// The first operation that reads the memory of `value`; if there is none, the function's end.
Operation* firstReader(func::FuncOp function, Value value) {
  Operation* first = function.getBody().front().getTerminator();
  if (value)
    forMemoryReaders(value, [&](Operation* reader) { first = reader->isBeforeInBlock(first) ? reader : first; });
  return first;
}

// A key that shards share.
struct Key {
  StringRef name;
  Value value, contribution;  // what is updated: null if the step does not read it
  Operation* firstUse;
  bool isState;
};

// In the order of priority.
SmallVector<Key> keysOf(func::FuncOp function) {
  SmallVector<Key> keys;
  for (OpOperand& result : function.getBody().front().getTerminator()->getOpOperands()) {
    const bool isState = hasRole(function, result.getOperandNumber(), "state");
    if (!isState && !isGradientResult(function, result.getOperandNumber())) continue;
    const StringRef name = attribute(function.getResultAttrDict(result.getOperandNumber()), "mx.name");
    const Value value = argumentOf(function, isState ? "state" : "parameter", name);
    keys.push_back({name, value, result.get(), firstReader(function, value), isState});
  }
  llvm::stable_sort(keys, [](const Key& a, const Key& b) {
    if (a.isState != b.isState) return b.isState;
    return a.firstUse != b.firstUse && a.firstUse->isBeforeInBlock(b.firstUse);
  });
  return keys;
}

int64_t bytesOfElements(Value value) {
  const TensorType type = rankedType(value);
  return type.getNumElements() * type.getElementTypeBitWidth() / 8;
}

template <typename Transfer>
void transfer(OpBuilder& b, Value value, const Key& key, int64_t priority) {
  b.create<Transfer>(value.getLoc(), key.name, value, bytesOfElements(value), priority);
}

// Behind the kernel that makes the contribution.
void push(const Key& key, int64_t priority, func::FuncOp function) {
  OpBuilder b(function.getContext());
  Operation* maker = key.contribution.getDefiningOp();
  if (maker) b.setInsertionPointAfter(maker);
  else b.setInsertionPoint(function.getBody().front().getTerminator());
  transfer<mx::PushOp>(b, key.contribution, key, priority);
}

void pull(Value value, const Key& key, int64_t priority, func::FuncOp function) {
  if (!value) return;
  OpBuilder b(firstReader(function, value));
  transfer<mx::PullOp>(b, value, key, priority);
}

}  // namespace

LogicalResult distribute(ModuleOp module, const PipelineOptions&) {
  auto whole = module.lookupSymbol<func::FuncOp>("update_whole");
  for (auto function : llvm::to_vector(module.getOps<func::FuncOp>())) {
    if (!function->hasAttr("mx.by_shards") || !hasBackward(function)) continue;
    const SmallVector<Key> keys = keysOf(function);
    for (auto [number, key] : llvm::enumerate(keys)) {
      const int64_t priority = -static_cast<int64_t>(number);
      if (whole && !key.isState) pull(argumentOf(whole, "gradient", key.name), key, priority, whole);
      else pull(key.value, key, priority, function);
      push(key, priority, function);
    }
  }
  return success();
}

}  // namespace mxc::passes

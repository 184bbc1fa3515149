// See bound_memory.h.
#include "ir/bound_memory.h"

#include "ir/types.h"
#include "llvm/ADT/StringSet.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace mxc {
namespace {

std::string text(DictionaryAttr attributes, StringRef key) {
  auto value = attributes ? attributes.getAs<StringAttr>(key) : StringAttr();
  return value ? value.str() : "";
}

}  // namespace

BoundMemory boundToArgument(DictionaryAttr attributes) {
  std::string role = text(attributes, "mx.role"), name = text(attributes, "mx.name");
  return {role, name, role != "input" && role != "gradient", role + ":" + name};
}

BoundMemory boundToResult(DictionaryAttr attributes) {
  std::string role = text(attributes, "mx.role"), name = text(attributes, "mx.name");
  bool persistent = role == "parameter" || role == "state";
  return {role, name, persistent, persistent ? role + ":" + name : ""};
}

int64_t bytesBesideArena(ModuleOp module, int64_t alignment) {
  int64_t sum = 0;
  llvm::StringSet<> seen;
  auto add = [&](const BoundMemory& memory, Type type) {
    if (memory.key.empty() || seen.insert(memory.key).second) sum += llvm::alignTo(bytesOf(cast<TensorType>(type)), alignment);
  };
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function->hasAttr("mx.by_shards")) continue;
    for (BlockArgument argument : function.getArguments())
      add(boundToArgument(function.getArgAttrDict(argument.getArgNumber())), argument.getType());
    for (unsigned i = 0; i < function.getNumResults(); ++i) add(boundToResult(function.getResultAttrDict(i)), function.getResultTypes()[i]);
  }
  return sum;
}

}  // namespace mxc

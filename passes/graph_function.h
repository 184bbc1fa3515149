// A function of the program while build-graphs makes it, and what it asks of the model's values.
#pragma once

#include "ir/mx.h"
#include "llvm/ADT/StringMap.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mxc::passes {

// A function under construction: arguments come as they are asked for.
class Graph {
 public:
  Graph(mlir::ModuleOp module, llvm::StringRef name) : module_(module), b(module.getContext()) {
    b.setInsertionPointToEnd(module.getBody());
    function = b.create<mlir::func::FuncOp>(module.getLoc(), name, b.getFunctionType({}, {}));
    b.setInsertionPointToStart(function.addEntryBlock());
  }

  // The argument of this role and name; made at its first use.
  mlir::Value argument(llvm::StringRef role, llvm::StringRef name, mlir::Type type, mlir::Location loc, llvm::ArrayRef<mlir::NamedAttribute> more = {}) {
    auto [it, isNew] = arguments_.try_emplace((role + ":" + name).str(), arguments_.size());
    if (isNew) {
      llvm::SmallVector<mlir::NamedAttribute> attributes = {b.getNamedAttr("mx.name", b.getStringAttr(name)), b.getNamedAttr("mx.role", b.getStringAttr(role))};
      attributes.append(more.begin(), more.end());
      unsigned index = function.getNumArguments();
      (void)function.insertArgument(index, type, b.getDictionaryAttr(attributes), loc);
    }
    return function.getArgument(it->second);
  }

  void result(llvm::StringRef role, llvm::StringRef name, mlir::Value value, mlir::Value donated = {},
              llvm::ArrayRef<mlir::NamedAttribute> more = {}) {
    llvm::SmallVector<mlir::NamedAttribute> attributes = {b.getNamedAttr("mx.name", b.getStringAttr(name)), b.getNamedAttr("mx.role", b.getStringAttr(role))};
    if (donated) attributes.push_back(b.getNamedAttr("mx.donates", b.getI64IntegerAttr(llvm::cast<mlir::BlockArgument>(donated).getArgNumber())));
    llvm::append_range(attributes, more);
    results_.push_back(value);
    resultAttributes_.push_back(b.getDictionaryAttr(attributes));
  }

  void finish() {
    b.create<mlir::func::ReturnOp>(module_.getLoc(), results_);
    llvm::SmallVector<mlir::Type> types;
    for (mlir::Value value : results_) types.push_back(value.getType());
    function.setType(b.getFunctionType(function.getArgumentTypes(), types));
    llvm::SmallVector<mlir::Attribute> attributes(resultAttributes_.begin(), resultAttributes_.end());
    function.setResAttrsAttr(b.getArrayAttr(attributes));
  }

 private:
  mlir::ModuleOp module_;
  llvm::StringMap<unsigned> arguments_;
  llvm::SmallVector<mlir::Value> results_;
  llvm::SmallVector<mlir::DictionaryAttr> resultAttributes_;

 public:
  mlir::OpBuilder b;
  mlir::func::FuncOp function;
};

// The largest integer, exclusive, that the users of an input accept, be it under another shape; 0 if they do not say.
int64_t upperBound(mlir::Value input);

// The means over the samples that a number without a batch is a function of, in the order in which they are met: then progress can show
// that function of the means of all samples. Empty if it is none, or if it is such a mean itself.
llvm::SmallVector<mlir::Value> meansUnder(mlir::Value number);

}  // namespace mxc::passes

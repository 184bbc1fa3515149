// keep-inference: a library runs inference alone, or inference and the training of some parameters.
//
//   before:  func @train(%w0, %w1, ...) -> %loss, %new_w0 {mx.dropped}, %new_w1 ; func @eval, func @infer, func @init, ...
//   after:   func @infer ; func @train(%w0, %w1, ...) -> %loss, %new_w1     if it trains (PipelineOptions::libraryTrains), else @infer alone
//
// It stands behind layout, where all of training has a say in how parameters lie: so a library's kernels are those of the trainer's
// `predict`, and their results the same bits. What only dropped results need goes with them: the backward pass ends at the first parameter
// that is trained. The module gets the attribute mx.library_trains. Needs: build-graphs. Does nothing but for a library.
#include "llvm/ADT/BitVector.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/passes.h"

using namespace mlir;

namespace mxc::passes {
namespace {

void dropResults(func::FuncOp function) {
  llvm::BitVector dropped(function.getNumResults());
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (function.getResultAttr(i, "mx.dropped")) dropped.set(i);
  function.getBody().front().getTerminator()->eraseOperands(dropped);
  function.eraseResults(dropped);
}

// What nobody reads any more.
void dropUnread(func::FuncOp function) {
  SmallVector<Operation*> ops;
  for (Operation& op : function.getBody().front().without_terminator()) ops.push_back(&op);
  for (Operation* op : llvm::reverse(ops))
    if (op->use_empty()) op->erase();
}

// The optimizer's state of parameters that are not trained.
void dropSlots(func::FuncOp function) {
  llvm::BitVector dropped(function.getNumArguments());
  for (BlockArgument argument : function.getArguments())
    if (argument.use_empty() && function.getArgAttr(argument.getArgNumber(), "mx.slot")) dropped.set(argument.getArgNumber());
  OpBuilder builder(function.getContext());
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    auto donates = function.getResultAttrOfType<IntegerAttr>(i, "mx.donates");
    if (!donates) continue;
    int64_t before = 0;
    for (unsigned argument : dropped.set_bits()) before += argument < donates.getInt();
    function.setResultAttr(i, "mx.donates", builder.getI64IntegerAttr(donates.getInt() - before));
  }
  function.eraseArguments(dropped);
}

}  // namespace

LogicalResult keepInference(ModuleOp module, const PipelineOptions& options) {
  if (!options.library) return success();
  func::FuncOp train;
  for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
    if (options.libraryTrains && function.getName() == "train") train = function;
    else if (function.getName() != "infer") function.erase();
  }
  if (!train) return success();
  dropResults(train);
  dropUnread(train);
  dropSlots(train);
  train->moveBefore(module.getBody(), module.getBody()->end());
  module->setAttr("mx.library_trains", UnitAttr::get(module.getContext()));
  return success();
}

}  // namespace mxc::passes

// Optimizers by name: which hyper-parameters and which states they have, and how the update of one parameter is built.
// The order of rescale, clip, weight decay and rule stands in ir/ops/update.td.
#pragma once

#include "ir/types.h"
#include "mlir/IR/Builders.h"

namespace mxc {

struct HyperParameter {
  llvm::StringRef name;
  double defaultValue;
};

// One parameter's update.
struct ParameterUpdate {
  mlir::Value weight, gradient;
  mlir::ValueRange states;                                  // one for each of OptimizerKind::states, in its order
  llvm::function_ref<mlir::Value(llvm::StringRef)> hyper;   // hyper-parameter by name: rank 0, of the weight's element type
  mlir::Value step;                                         // rank-0 i64, counts from 0
  double lrMult = 1, wdMult = 1;
};

struct OptimizerKind {
  llvm::StringRef name;
  // "lr" first; all kinds have lr, weight_decay, rescale (1) and clip (0: none).
  llvm::SmallVector<HyperParameter, 8> hypers;
  // State tensors of the parameter's type, zero at the start.
  llvm::SmallVector<llvm::StringRef, 2> states;
  // The new weight, then the new states.
  llvm::SmallVector<mlir::Value> (*build)(mlir::OpBuilder& builder, mlir::Location loc, const ParameterUpdate& update);
};

// "sgd", "momentum", "nesterov", "adam" or "adamw"; null if there is no such kind.
const OptimizerKind* findOptimizer(llvm::StringRef name);
// The kind of an mx.optimizer: its defaults turn "sgd" into "nesterov" (nesterov != 0) or "momentum" (momentum != 0).
const OptimizerKind* findOptimizer(llvm::StringRef name, mlir::DictionaryAttr defaults);
// The default of a hyper-parameter: that of `defaults` if it is there, else the kind's.
double hyperDefault(const HyperParameter& hyper, mlir::DictionaryAttr defaults);
// For messages: "sgd, momentum, ...".
std::string optimizerNames();

}  // namespace mxc

// Optimizers by name: which hyper-parameters and which states they have, and how the update of one parameter is built.
// The order of rescale, clip, weight decay and rule stands in ir/ops/update.td. Most rules see one element at a time; lamb and lars
// the norms of one parameter and of its gradient; clipping by global norm all gradients.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

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
  // Whether an element's update depends on that element alone.
  bool elementwise() const { return !seesTensor; }
  // The new weight, then the new states.
  llvm::SmallVector<mlir::Value> (*build)(mlir::OpBuilder& builder, mlir::Location loc, const ParameterUpdate& update);
  bool seesTensor = false;  // norms of the whole parameter
};

// "sgd", "momentum", "nesterov", "adam", "adamw", "rmsprop", "adagrad", "adadelta", "ftrl", "lamb" or "lars"; null if there is no such kind.
const OptimizerKind* findOptimizer(llvm::StringRef name);
// The kind of an mx.optimizer: its defaults turn "sgd" into "nesterov" (nesterov != 0) or "momentum" (momentum != 0).
const OptimizerKind* findOptimizer(llvm::StringRef name, mlir::DictionaryAttr defaults);
// The default of a hyper-parameter: that of `defaults` if it is there, else the kind's.
double hyperDefault(const HyperParameter& hyper, mlir::DictionaryAttr defaults);
// "sgd", "momentum", ...
std::vector<std::string> optimizerNames();

// Clipping by global norm is compiled in if the defaults hold a clip_norm > 0: it keeps all gradients until the last is known. The number
// itself is a hyper-parameter of that name, 0: none.
double clipNormDefault(mlir::DictionaryAttr defaults);
// `value` in another element type; itself if it has that one.
mlir::Value castTo(mlir::OpBuilder& builder, mlir::Location loc, mlir::Value value, mlir::Type element);

// The gradients, scaled so that all of them together, rescaled, have a norm of at most `clipNorm`. Both numbers are rank 0, of one element type, in which
// squares of gradients of other types are added.
llvm::SmallVector<mlir::Value> clipByGlobalNorm(mlir::OpBuilder& builder, mlir::Location loc, llvm::ArrayRef<mlir::Value> gradients,
                                                mlir::Value rescale, mlir::Value clipNorm);

// Loss scaling is compiled in if the defaults hold a loss_scale other than 1; the number itself is a hyper-parameter of that name.
double lossScaleDefault(mlir::DictionaryAttr defaults);

// An optimizer as the command line writes it: "adam" or "adam:lr=0.01,clip_norm=1", the numbers being defaults.
struct OptimizerText {
  std::string kind;
  std::vector<std::pair<std::string, double>> defaults;
};
// On an error `message` says what is wrong with `text` ("there is no optimizer 'x': ..."). Which values mean something is not asked here.
std::optional<OptimizerText> parseOptimizer(llvm::StringRef text, std::string& message);

}  // namespace mxc

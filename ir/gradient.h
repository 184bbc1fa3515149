// GradientBuilder and ModeBuilder: what an op sees while it builds its gradient, or what it means in training and evaluation.
#pragma once

#include "ir/make.h"

namespace mxc {

// One call of OpRules::buildGradient. Every gradient set is summed to the operand's shape where broadcasting had spread it.
class GradientBuilder {
 public:
  GradientBuilder(mlir::OpBuilder& builder, mlir::Operation* op, mlir::ValueRange resultGradients,
                  llvm::ArrayRef<bool> wanted);

  // The gradient of result `i`, of that result's type; null if nothing depends on it.
  mlir::Value dy(unsigned i = 0) const { return resultGradients_[i]; }
  // Whether anybody asks for the gradient of operand `i`.
  bool wants(unsigned i) const { return wanted_[i]; }
  // The gradient of operand `i`, of the operand's shape or of one that it broadcasts to.
  void set(unsigned i, mlir::Value gradient);
  mlir::Value get(unsigned i) const { return gradients_[i]; }

  // Elementwise arithmetic, for short gradients.
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  mlir::Value div(mlir::Value a, mlir::Value b);
  mlir::Value neg(mlir::Value a);
  // A rank-0 tensor of `like`'s element type.
  mlir::Value constant(double value, mlir::Value like);
  template <typename OpType>
  mlir::Value make(mlir::ValueRange operands, llvm::ArrayRef<mlir::NamedAttribute> attributes = {}) {
    return mxc::make<OpType>(builder, loc, operands, attributes);
  }

  mlir::OpBuilder& builder;
  mlir::Location loc;

 private:
  mlir::Operation* op_;
  mlir::ValueRange resultGradients_;
  llvm::ArrayRef<bool> wanted_;
  llvm::SmallVector<mlir::Value> gradients_;
};

// The gradient of `op` through simpler ops: `decomposition` builds them from op's operands and returns values equal to op's results;
// they are then walked backwards. Fails if one of them has no gradient. Sets the wanted gradients that are not zero.
using Decomposition = llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::OpBuilder&)>;
mlir::LogicalResult gradientThrough(GradientBuilder& g, mlir::Operation* op, Decomposition decomposition);

// Replaces every op of the block that stands for others (CompositeRules) by those, theirs included.
void expandComposites(mlir::Block& block);

// One call of ModeRules::buildForMode.
class ModeBuilder {
 public:
  ModeBuilder(mlir::OpBuilder& builder, mlir::Location loc, bool training, mlir::Value step, mlir::Value seed)
      : training(training), step(step), seed(seed), builder(builder), loc(loc) {}

  const bool training;
  const mlir::Value step;  // rank-0 i64: the global step, part of every random key; null in evaluation
  const mlir::Value seed;  // rank-0 i64
  // A number for each random op of the model, in order: the stream of its key.
  int64_t nextStream() { return stream_++; }
  // In training: state operand `operand` takes `value` when the step ends.
  void newState(unsigned operand, mlir::Value value) { newStates.push_back({operand, value}); }
  llvm::SmallVector<std::pair<unsigned, mlir::Value>> newStates;

  mlir::OpBuilder& builder;
  mlir::Location loc;
  void setStream(int64_t s) { stream_ = s; }

 private:
  int64_t stream_ = 0;
};

// The place of a gradient: that of the forward op, named "<op>.gradient"; and whether a place is one.
mlir::Location gradientLocation(mlir::Location forward);
bool isGradientLocation(mlir::Location location);

// Sums `value` over the axes in which `type` is narrower (broadcasting undone). Returns `value` itself if nothing is to do.
mlir::Value sumTo(mlir::OpBuilder& builder, mlir::Location loc, mlir::Value value, mlir::RankedTensorType type);

}  // namespace mxc

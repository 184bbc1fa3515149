// The reduction of one register tile: all its sums stay in registers from the first step to the last.
#pragma once

#include "codegen/cpu/contract_plan.h"
#include "codegen/cpu/kernel_builder.h"

namespace mxc::codegen {

// One row of a tile: a place of all parallel loops.
struct TileRow {
  Indices place;       // where lhs is read; the vector loop at its first lane
  Indices stored;      // where the sum is stored
  mlir::Value counts;  // i1: whether the row is stored; null: always
  Index scratch;       // its place in the scratch memory, in elements
};

struct TileRows {
  llvm::SmallVector<TileRow, 12> rows;
  bool border = false;       // some steps of some rows lie outside of lhs; places are constants along the axes concerned
  bool independent = false;  // the rows have no common stride in lhs
};

// What is known of a reduction loop before the tile: nothing (it runs whole), its counter, or its bounds.
struct ReductionBound {
  std::optional<Index> fixed;
  mlir::Value lo, hi;
};

// Whether a tile of rows [at, at + rows) of the tile loop reads outside of lhs along an axis with a fixed border.
bool atBorder(const ContractPlan& plan, int64_t at, int64_t rows);

class TileReducer {
 public:
  TileReducer(CpuKernelBuilder& k, const ContractPlan& plan, int64_t lanes, const TileRows& tile, llvm::ArrayRef<ReductionBound> bounds);
  // sums + the products of all steps within the bounds, in order.
  llvm::SmallVector<mlir::Value> run(llvm::SmallVector<mlir::Value> sums);

 private:
  using Sums = llvm::SmallVector<mlir::Value>;
  // Addresses of a step that others are reached from by constants.
  struct Anchor {
    Indices r;
    mlir::Value rhs;
    llvm::SmallVector<mlir::Value> lhs;  // one, or one a row
  };

  Sums level(int j, Sums sums);
  Sums dynamicLoop(int j, mlir::Value lo, mlir::Value hi, std::optional<int64_t> count, bool aligned, Sums sums);
  Sums staticRange(int j, int64_t lo, int64_t hi, Sums sums);
  Sums unrolled(int j, int64_t lo, int64_t hi, Sums sums);
  Sums step(Sums sums);
  std::pair<mlir::Value, mlir::Value> clip(int j, mlir::Value lo, mlir::Value hi);
  std::pair<int64_t, int64_t> interior(int j) const;
  int64_t stepsBelow(int j) const;
  bool outside(const Index& place, int64_t axis) const;
  std::optional<int64_t> distance(mlir::Value tensor, const Indices& from, const Indices& to) const;
  int64_t rowDistance(size_t row) const;
  mlir::Value offset(mlir::Value pointer, int64_t elements);
  void moveAnchor();

  CpuKernelBuilder& k_;
  const ContractPlan& plan_;
  mlir::OpBuilder& b_;
  mlir::Location loc_;
  int64_t lanes_;
  const TileRows& tile_;
  llvm::ArrayRef<ReductionBound> bounds_;
  mlir::Type element_;
  Indices r_;                     // places of the reduction loops at the current step
  std::optional<Anchor> anchor_;
  int64_t alignment_ = 1;         // the innermost counter is a multiple of this
};

}  // namespace mxc::codegen

// The CPU's KernelBuilder: one mx.kernel becomes one function per loop nest that its ops write.
//
// A kernel function is `name(args, n, begin, end)` (plan.h): `args` holds the addresses of the kernel's operands and then of its
// results. The grid is a linear count of the outer loops; the function decodes each cell into counters. Loops use i64 counters and
// memory is reached through LLVM pointers, so that what is written is what runs: there is no alias or layout analysis below.
//
// Vectors have a fixed number of lanes (`lanes`, 16 for f32, half for f64) whatever the target's width; the tail of a static extent is
// one narrower vector that holds exactly the remaining elements.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "codegen/cpu/vector_unit.h"
#include "ir/mx.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace mxc::codegen {

// What a step must know of a kernel function. grid(n) as in plan.h.
struct KernelInfo {
  std::string symbol;
  int64_t gridCells = 1, gridBatchUnit = 0, gridBatchTile = 1;
  int64_t flops = 0;  // of contractions, at the compiled batch
  mlir::TypedAttr identity = {};  // of a carried reduction (carryReduction)
};

// A cell of the grid does about this many elements, so that taking one costs little beside it.
constexpr int64_t kCellElements = 4096;

// The lanes of a kernel's vectors: 64 bytes of its widest float, or of f32.
int64_t lanesOf(mx::KernelOp kernel);

class CpuKernelBuilder final : public KernelBuilder {
 public:
  // Writes functions into `kernels`. `lanes`: elements of a 64-byte vector of the kernel's widest type.
  CpuKernelBuilder(mlir::ModuleOp kernels, mx::KernelOp kernel, std::string name, int64_t lanes, VectorUnit unit = {});

  // Before `run`: the reduction along the batch that the kernel's one op writes goes on from the accumulators in the kernel's operand
  // `slot`, `lanes` values of the type that is reduced, and leaves them there. If the op asks for the count of what it reduces, the kernel
  // is of no use: KernelInfo::identity is null.
  void carryReduction(unsigned slot) { carried_ = slot; }

  // Lowers the kernel. Fails with a diagnostic if an op cannot be lowered.
  mlir::FailureOr<std::vector<KernelInfo>> run();

  Body body() override;
  void forall(mlir::Value result, const EachFn& body, llvm::ArrayRef<int64_t> scalarAxes) override;
  void rows(llvm::ArrayRef<Extent> extents, const EachFn& body) override;
  void contract(const Contract& c) override;
  void each(llvm::ArrayRef<Extent> extents, const EachFn& body) override;
  llvm::SmallVector<mlir::Value> reduce(llvm::ArrayRef<Combine> combine, llvm::ArrayRef<Range> ranges, const ReduceFn& body) override;
  llvm::SmallVector<mlir::Value> fold(mlir::ValueRange init, llvm::ArrayRef<Range> ranges, const FoldFn& body) override;
  mlir::Value load(mlir::Value tensor, At at) override;
  mlir::Value loadOr(mlir::Value tensor, At at, double outside) override;
  void store(mlir::Value result, At at, mlir::Value value) override;
  void accumulate(mlir::Value result, At at, mlir::Value value) override;
  mlir::Value loadBack(mlir::Value result, At at) override;
  mlir::Value position(const Index& index) override;
  mlir::Value scalar(const Index& index) override;
  Index indexFrom(mlir::Value integer, int64_t bound) override;
  mlir::Value size(Extent extent) override;
  mlir::Value count(llvm::ArrayRef<Extent> extents, mlir::Type element) override;
  mlir::Value elementNumber(mlir::Value tensor, At at) override;

  // ---- For the contraction emitter, which writes its own loops --------------------------------------------------------------
  using LoopFn = std::function<llvm::SmallVector<mlir::Value>(mlir::Value counter, mlir::ValueRange state)>;
  mlir::OpBuilder& builder() { return b_; }
  mlir::Location loc() const { return loc_; }
  int64_t lanes() const { return lanes_; }
  const VectorUnit& vectorUnit() const { return unit_; }
  // An i64 constant.
  mlir::Value constant(int64_t value);
  // for (counter = lo; counter < hi; counter += step) state = body(counter, state); returns the last state.
  llvm::SmallVector<mlir::Value> loop(mlir::Value lo, mlir::Value hi, int64_t step, mlir::ValueRange init, const LoopFn& body);
  // Opens a kernel function with the grid of `extents` (outermost first) and runs `body` once a cell with an Index per extent.
  // The batch extent, if any, may be cut into tiles: extents[batch] is then counted in ceil(n * unit / batchTile) cells.
  void grid(llvm::ArrayRef<Extent> extents, int64_t batchTile, const EachFn& body);
  // A loop counter as an Index: `value` is i64 and lies in [0, size).
  Index newLoop(mlir::Value value, int64_t size);
  // A counter that runs over the lanes of vectors of `lanes` elements, until `endLanes`.
  Index beginLanes(int64_t lanes);
  void endLanes();
  // The address of the element `at` of an operand or result of the kernel.
  mlir::Value address(mlir::Value tensor, At at);
  // The i64 value of an index whose lanes all agree (a lane counter counts as 0).
  mlir::Value valueOf(const Index& index);
  // n * unit, or the constant size, as i64.
  mlir::Value extentValue(Extent extent);
  // Runs `body` for block `counter` of [0, size) with its first element and its size, which is written for its own if it is the tail.
  void inBlocks(Index counter, int64_t size, int64_t block, const std::function<void(Index, int64_t)>& body);
  // Forgets what was computed for the last point: the next store starts a new one.
  void newPoint() { memo_.clear(); }
  // Whether a tensor is memory (an operand of the kernel, or a result that is stored), not computed in place.
  bool isMemory(mlir::Value tensor) const { return slots_.count(tensor) != 0; }

 private:
  struct Loop {
    mlir::Value value;  // i64; null for a lane counter
    int64_t size;       // counters lie in [0, size); -1 if unknown
  };
  // A linear offset in elements: `index`, plus computed values times factors.
  struct Offset {
    Index index;
    llvm::SmallVector<std::pair<mlir::Value, int64_t>> computed;
  };

  // What a contraction leaves on the stack for the windows of the same cell (kernel_windows.cc).
  struct Waiting {
    mlir::Value value;      // the tensor of which it is a part
    unsigned slot = 0;      // its address
    TensorType type = {};   // [rows, columns, lanes] of it
    Index row, channel;     // the first row and channel
    Indices place(At at) const { return {at[2] - row, at[3], at[1] - channel}; }
  };

  struct RowRange {
    int loop;
    mlir::Value lo, hi;
  };

  // ---- Of reductions (kernel_reduce.cc, kernel_blocks.cc): the innermost loop, a step of the lanes at a time.
  struct Part {                 // of the steps
    mlir::Value lo, hi;         // null: all
    bool toEnd = true;          // with the narrower step at the end
    bool whole() const { return !lo; }
  };
  struct Run {
    int64_t steps;  // with the narrower one; -1: known at run time
    std::function<mlir::Value()> allSteps, wholeSteps;  // as values; the second without the narrower one
    bool narrowEnd = false;  // there may be one
    std::function<llvm::SmallVector<mlir::Value>(At outer, Part part, mlir::ValueRange state)> body = {};
  };
  struct Blocks {
    llvm::ArrayRef<Combine> combine;
    llvm::ArrayRef<Range> outer;
    const Run& run;
    llvm::SmallVector<mlir::Value> init;
  };
  struct Steps {          // a number: `value` if it is there, else `count`
    int64_t count;
    mlir::Value value;
  };

  void openFunction();
  void closeFunction(int64_t cells, int64_t batchUnit, int64_t batchTile);
  mlir::LogicalResult lowerElementwiseKernel();
  bool isFlat() const;
  void flatLoops();
  void storeYields(mlir::Value stored, At at);
  void storePoint(llvm::ArrayRef<std::pair<mlir::Value, unsigned>> yields, At at);
  mlir::Value compute(mlir::Value tensor, At at, llvm::ArrayRef<int64_t> shape, llvm::DenseMap<mlir::Value, mlir::Value>& memo);
  void storeMemory(unsigned slot, TensorType type, At at, mlir::Value value);
  mlir::Value loadMemory(unsigned slot, TensorType type, At at);
  Offset offsetOf(TensorType type, At at);
  mlir::Value pointer(unsigned slot, TensorType type, const Offset& offset, int64_t lane);
  int64_t laneStride(const Offset& offset) const;
  std::pair<int64_t, int64_t> rangeOf(const Index& index, bool& known) const;
  mlir::Value insideCondition(TensorType type, At at);
  bool variesByLane(const Index& index) const;
  Index lane(const Index& index, int64_t lane) const;
  // Runs `body` over [0, extent) in vectors: whole vectors in a loop, a static tail as a narrower vector, a dynamic one element by
  // element.
  void vectorLoop(Extent extent, const std::function<void(Index)>& body);
  // The same over [base, base + count), count <= bound known at run time.
  void vectorRange(Index base, mlir::Value count, int64_t bound, const std::function<void(Index)>& body);
  void vectorAt(Index base, int64_t lanes, const std::function<void(Index)>& body);
  // A grid over all elements along the batch: one cell, or cells of kCellElements.
  void batchCells(Extent all, const std::function<void(Index)>& body);
  void nest(llvm::ArrayRef<Extent> extents, llvm::SmallVectorImpl<Index>& at, const std::function<void()>& body);
  llvm::SmallVector<mlir::Value> foldNest(mlir::ValueRange init, llvm::ArrayRef<Range> ranges, Indices& at, const FoldFn& body);
  llvm::SmallVector<mlir::Value> reduceVector(llvm::ArrayRef<Combine> combine, llvm::ArrayRef<Range> ranges, const ReduceFn& body);
  llvm::SmallVector<mlir::Type> elementTypesOf(llvm::ArrayRef<Range> ranges, const ReduceFn& body);
  mlir::TypedAttr identityOf(Combine combine, mlir::Type element);
  mlir::Value identity(Combine combine, mlir::Type element, int64_t lanes);
  mlir::Value combineValues(Combine combine, mlir::Value a, mlir::Value b);
  mlir::Value combineLane(Combine combine, mlir::Value accumulator, mlir::Value value, mlir::Value lane);
  mlir::Value carriedAccumulators(Combine combine, mlir::Type element);
  llvm::SmallVector<mlir::Value> reduceBlocks(llvm::ArrayRef<Combine> combine, llvm::ArrayRef<Range> outer, const Run& run,
                                              llvm::ArrayRef<mlir::Value> init);
  llvm::SmallVector<mlir::Value> blocksFrom(const Blocks& blocks, size_t level, Steps inside);
  llvm::SmallVector<mlir::Value> blocksOf(const Blocks& blocks, size_t level, const Steps& inside);
  llvm::SmallVector<mlir::Value> addBlock(const Blocks& blocks, size_t level, At prefix, Part part, mlir::ValueRange totals);
  mlir::Value stepsValue(const Steps& steps);
  mlir::Type wideType(mlir::Value narrow);
  mlir::Value horizontal(Combine combine, mlir::Value vector);
  void contractGeneric(const Contract& c);
  // One vector of c's results, at `p` of its parallel loops.
  void contractAt(const Contract& c, At p);
  void overWindows(mlir::Value result, const EachFn& body);
  void contractInWindows(const Contract& c);
  void allocateWaiting(TensorType type);
  void genericRows(const Contract& c, Indices p, int64_t lanes, const RowRange& rows, int column);
  void forWindows(At outer, int64_t lanes, mlir::Value begin, mlir::Value end);
  void storeWaiting(At at);

  mlir::ModuleOp kernels_;
  mx::KernelOp kernel_;
  std::string name_;
  int64_t lanes_;
  VectorUnit unit_;
  mlir::Location loc_;
  mlir::OpBuilder b_;
  mlir::Operation* anchor_ = nullptr;
  mlir::Operation* producer_ = nullptr;    // makes what the anchor reads in windows; null in most kernels
  llvm::DenseMap<mlir::Value, unsigned> slots_;                        // kernel operands
  llvm::SmallVector<std::pair<mlir::Value, unsigned>> yields_;         // yielded values and their slots
  std::vector<KernelInfo> infos_;
  int carried_ = -1;              // the operand of carryReduction
  mlir::TypedAttr carriedFrom_;   // and where it starts

  // Of the function being written.
  mlir::func::FuncOp function_;
  llvm::SmallVector<mlir::Value> pointers_;
  mlir::Value n_, begin_, end_;
  llvm::SmallVector<Loop> loops_;
  int laneLoop_ = -1;        // the loop whose counter runs over lanes, -1: scalars
  int64_t vector_ = 0;       // lanes of values now; 0: scalars
  bool flat_ = false;        // elementwise on equal layouts: one index over all elements
  llvm::DenseMap<mlir::Value, mlir::Value> memo_;  // values at the current point
  Waiting waiting_;                 // with a producer
  mlir::Value windowResult_;        // what the anchor's loop is over
  const EachFn* windowBody_ = nullptr;
};

}  // namespace mxc::codegen

// KernelBuilder: how an op writes its computation as loops, without knowing target, layout or what is fused with it.
//
// An op calls one of `forall`, `rows` or `contract` at the top: that loop nest is the kernel's grid. Inside it loads operands and
// stores results at logical indices. Loading an operand that a fused elementwise op produces computes it there; storing a result
// that fused elementwise ops consume computes them there. Layout, vector width, tails and threads are the target's business.
//
// Vectors. In `forall` the innermost axis of the result's layout is run in vectors: values are then vectors, and loops inside run
// per lane. In `rows` values are scalars, and `reduce` and `each` inside run their last loop in vectors. Either way an op's text is
// the same. A reduction has a fixed number of lanes and a fixed tree, whatever the target and the number of threads.
#pragma once

#include <functional>
#include <memory>

#include "ir/body.h"
#include "ir/types.h"

namespace mxc {

// A place along one axis: a linear form of loop counters, plus a value computed in the kernel.
struct Index {
  struct Term {
    int loop;
    int64_t coeff;
  };
  llvm::SmallVector<Term, 4> terms;  // by ascending loop, coeff != 0
  int64_t constant = 0;
  mlir::Value opaque;  // of type index, the same for all lanes; may be null

  Index() = default;
  Index(int64_t c) : constant(c) {}
  bool isConstant() const { return terms.empty() && !opaque; }
};
Index operator+(const Index& a, const Index& b);  // Requires: at most one has an opaque part.
Index operator*(const Index& a, int64_t factor);  // Requires: no opaque part.
inline Index operator-(const Index& a, const Index& b) { return a + b * -1; }
// An index that is a value computed in the kernel (of type index, not a vector).
Index indexOf(mlir::Value value);

using Indices = llvm::SmallVector<Index, 6>;
using At = llvm::ArrayRef<Index>;

// The range of an inner loop: [0, extent), or [lo, hi) computed in the kernel.
struct Range {
  Extent extent;
  mlir::Value lo, hi;
  Range(Extent e) : extent(e) {}
  Range(int64_t size) : extent{size, 0} {}
  Range(mlir::Value lo, mlir::Value hi) : lo(lo), hi(hi) {}
};

// How the lowering of an op reads an operand:
//   stored   it must lie in memory (`contract` reads it in ways of its own)
//   often    by `load`; elements are read several times
//   once     by `load`, each element about once
//   windows  [n, c, h, w], its only operand, by `loadOr` in `forall` over a result [n, c, ..]: sample and channel are the result's, and
//            row p of the result reads the rows of the op's Window
enum class Reading { stored, often, once, windows };

// The rows p * stride - pad + [0, size), as far as there are such.
struct Window {
  int64_t size = 1, stride = 1, pad = 0;
};

// Rows that a kernel may keep on its stack of what its windows read.
constexpr int64_t kWindowBytes = 128 << 10;

enum class Combine { sum, product, max, min };

// result[resultAt(p)] = epilogue(p, sum over r of lhs[lhsAt(p, r)] * rhs[rhsAt(p, r)]), fused multiply-adds in the order of r.
// An element of lhs outside its tensor counts as zero (padding). All places are linear in the loops. `vector` is the loop of
// `parallel` that runs in vectors: rhs and result should be contiguous in it and lhs not depend on it.
struct Contract {
  mlir::Value result, lhs, rhs;
  llvm::SmallVector<Extent> parallel = {}, reduction = {};
  int vector = 0;
  std::function<Indices(At p, At r)> lhsAt = {}, rhsAt = {};
  std::function<Indices(At p)> resultAt = {};
  std::function<mlir::Value(At p, mlir::Value sum)> epilogue = {};  // may be empty
};

class KernelBuilder {
 public:
  virtual ~KernelBuilder() = default;

  // Arithmetic at the current place.
  virtual Body body() = 0;

  // ---- Loops that make the grid -------------------------------------------------------------------------------------------
  using EachFn = std::function<void(At)>;
  // For all elements of `result` (an op result): body(indices of its axes). Axes in `scalarAxes` are never run in vectors.
  virtual void forall(mlir::Value result, const EachFn& body, llvm::ArrayRef<int64_t> scalarAxes = {}) = 0;
  // For all points of `extents` (may be empty: once).
  virtual void rows(llvm::ArrayRef<Extent> extents, const EachFn& body) = 0;
  virtual void contract(const Contract& c) = 0;

  // ---- Loops inside ---------------------------------------------------------------------------------------------------------
  // In `rows`: for all points, the last loop in vectors.
  virtual void each(llvm::ArrayRef<Extent> extents, const EachFn& body) = 0;
  using ReduceFn = std::function<llvm::SmallVector<mlir::Value>(At)>;
  // Reduces each value that `body` returns with its combiner. In `rows` the last loop runs in vectors and the results are scalars.
  virtual llvm::SmallVector<mlir::Value> reduce(llvm::ArrayRef<Combine> combine, llvm::ArrayRef<Range> ranges, const ReduceFn& body) = 0;
  using FoldFn = std::function<llvm::SmallVector<mlir::Value>(At, mlir::ValueRange state)>;
  // Strictly in order, per lane: state = body(indices, state), starting from `init`.
  virtual llvm::SmallVector<mlir::Value> fold(mlir::ValueRange init, llvm::ArrayRef<Range> ranges, const FoldFn& body) = 0;

  // ---- Elements --------------------------------------------------------------------------------------------------------------
  virtual mlir::Value load(mlir::Value tensor, At at) = 0;
  // `outside` where an index lies outside the tensor.
  virtual mlir::Value loadOr(mlir::Value tensor, At at, double outside) = 0;
  virtual void store(mlir::Value result, At at, mlir::Value value) = 0;
  // result[at] += value, for results that `fill` has set: scattered sums. Only in `rows`, and rows must not share elements.
  virtual void accumulate(mlir::Value result, At at, mlir::Value value) = 0;
  // What lies at `at` of a result, after a `store` there. Only in `rows`, and only of what this row has stored.
  virtual mlir::Value loadBack(mlir::Value result, At at) = 0;

  // ---- Indices as values ------------------------------------------------------------------------------------------------------
  // As i64, a vector of consecutive numbers if it varies from lane to lane.
  virtual mlir::Value position(const Index& index) = 0;
  // As a scalar of type index. Requires: the same for all lanes.
  virtual mlir::Value scalar(const Index& index) = 0;
  // A loaded integer as an index, the nearest of [0, bound): memory is safe whatever was computed. Requires: a scalar (in `rows`).
  virtual Index indexFrom(mlir::Value integer, int64_t bound) = 0;
  // The extent at run time, as a scalar of type index.
  virtual mlir::Value size(Extent extent) = 0;
  // The number of elements of `extents` at run time, as an element of type `like`'s.
  virtual mlir::Value count(llvm::ArrayRef<Extent> extents, mlir::Type element) = 0;
  // The row-major logical number of the element of `tensor` at `at`, as i64 (a vector if it varies): the counter of random keys.
  virtual mlir::Value elementNumber(mlir::Value tensor, At at) = 0;

  // ---- Facts ------------------------------------------------------------------------------------------------------------------
  // The axis of the tensor that is contiguous in memory (-1: rank 0).
  int64_t innermostAxis(mlir::Value tensor) { return layoutOf(rankedType(tensor)).innermost(); }

  mlir::Value reduce1(Combine combine, llvm::ArrayRef<Range> ranges, const std::function<mlir::Value(At)>& body) {
    return reduce({combine}, ranges, [&](At at) { return llvm::SmallVector<mlir::Value>{body(at)}; })[0];
  }
};

namespace mx {
// Lowering of any elementwise op by its body; operands broadcast.
mlir::LogicalResult lowerElementwise(mlir::Operation* op, KernelBuilder& k);
// Where an operand of a broadcasting op is read for the element `at` of the result.
Indices broadcastAt(TensorType operand, At at);
}  // namespace mx

}  // namespace mxc

// Facts about a contraction's places, and the choices made from them. All arithmetic on static numbers.
#include "codegen/cpu/contract_plan.h"

namespace mxc::codegen {
namespace {

constexpr int64_t kCellRows = 96;            // the most rows of results in a cell: their scratch stays in the first-level cache
constexpr int64_t kLeastRows = 24;           // and the least, which a chunk of rhs must serve
constexpr int64_t kLhsBytes = 96 << 10;      // of lhs in a cell: a part of the second-level cache
constexpr int64_t kLeastCells = 8;           // for threads to share
constexpr int64_t kChunkBytes = 20 << 10;    // rhs of a chunk, in a first-level cache of 32 KiB
constexpr int64_t kScratchBytes = 64 << 10;  // on the stack
constexpr int64_t kMaxFull = 3;

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
// The size of `count` nearly equal parts of `total`, none above `most`.
int64_t balanced(int64_t total, int64_t most) { return ceilDiv(total, ceilDiv(total, most)); }

Indices symbols(llvm::ArrayRef<Extent> extents, int first) {
  Indices result;
  for (size_t i = 0; i < extents.size(); ++i) {
    Index index;
    if (extents[i].isBatch() || extents[i].size > 1) index.terms.push_back({first + static_cast<int>(i), 1});
    result.push_back(index);
  }
  return result;
}

bool moves(const Indices& places, int loop) {
  return llvm::any_of(places, [&](const Index& index) { return coefficient(index, loop) != 0; });
}

struct Interval {
  int64_t lo, hi;
};

class Planner {
 public:
  Planner(const Contract& c, int64_t lanes, const VectorUnit& unit, std::optional<RowCut> rows) : rows_(rows) {
    plan_.c = c;
    plan_.unit = unit;
    plan_.lanes = lanes;
  }

  bool run() {
    describe();
    if (opaque(plan_.lhs) || opaque(plan_.rhs) || opaque(plan_.result)) return false;
    if (!vectorFits() && (rows_ || !exchange())) return false;
    plan_.lhsInVectors = moves(plan_.lhs, plan_.c.vector);
    chooseTile();
    if (!borders()) return false;
    chooseStrip();
    chooseChunk();
    double rhsBytes = footprint(plan_.c.rhs, plan_.rhs), lhsBytes = footprint(plan_.c.lhs, plan_.lhs);
    plan_.vectorsInnermost = rhsBytes <= lhsBytes;
    return true;
  }
  ContractPlan plan_;

 private:
  const Extent& extent(int loop) const { return plan_.extent(loop); }
  int loopCount() const { return static_cast<int>(plan_.c.parallel.size() + plan_.c.reduction.size()); }
  int64_t elementSize() const { return elementBytes(rankedType(plan_.c.result).getElementType()); }

  void describe() {
    Indices p = symbols(plan_.c.parallel, 0), r = symbols(plan_.c.reduction, plan_.parallelCount());
    plan_.lhs = plan_.c.lhsAt(p, r);
    plan_.rhs = plan_.c.rhsAt(p, r);
    plan_.result = plan_.c.resultAt(p);
  }

  static bool opaque(const Indices& places) {
    return llvm::any_of(places, [](const Index& index) { return static_cast<bool>(index.opaque); });
  }

  Interval rangeOf(const Index& index, int without = -1) const {
    Interval range{index.constant, index.constant};
    for (Index::Term t : index.terms)
      if (t.loop != without) (t.coeff > 0 ? range.hi : range.lo) += t.coeff * (extent(t.loop).size - 1);
    return range;
  }

  // Whether what `loop` adds to `index` stays inside one block, for blocks of the loop's range of `block` from 0.
  bool staysInBlock(const Index& index, int loop, int64_t block) const {
    Interval rest = rangeOf(index, loop);
    if (rest.lo >= 0 && rest.hi + extent(loop).size <= block) return true;
    return index.constant % block == 0 &&
           llvm::all_of(index.terms, [&](Index::Term t) { return t.loop == loop || t.coeff % block == 0; });
  }

  bool contiguous(mlir::Value tensor, const Indices& places, int loop) const {
    Layout layout = layoutOf(rankedType(tensor));
    int64_t inner = layout.innermost();
    for (size_t axis = 0; axis < places.size(); ++axis)
      if (coefficient(places[axis], loop) != (static_cast<int64_t>(axis) == inner ? 1 : 0)) return false;
    if (layout.blockAxis < 0) return inner >= 0;
    return (layout.block % plan_.lanes == 0 || extent(loop).size <= layout.block) && staysInBlock(places[inner], loop, layout.block);
  }

  bool vectorFits() const {
    int v = plan_.c.vector;
    if (extent(v).isBatch() || extent(v).size < 2) return false;
    return contiguous(plan_.c.result, plan_.result, v) && contiguous(plan_.c.rhs, plan_.rhs, v) &&
           (!moves(plan_.lhs, v) || contiguous(plan_.c.lhs, plan_.lhs, v));
  }

  bool inside(mlir::Value tensor, const Indices& places) const {
    TensorType type = rankedType(tensor);
    for (int64_t axis = 0; axis < type.getRank(); ++axis) {
      Interval range = rangeOf(places[axis]);
      if (range.lo < 0 || range.hi >= type.getDimSize(axis)) return false;
    }
    return true;
  }

  // The product is the same with lhs and rhs exchanged; another loop may then be contiguous.
  bool exchange() {
    if (!inside(plan_.c.lhs, plan_.lhs)) return false;
    std::swap(plan_.c.lhs, plan_.c.rhs);
    std::swap(plan_.c.lhsAt, plan_.c.rhsAt);
    describe();
    int before = plan_.c.vector;
    for (int i = 0; i < plan_.parallelCount(); ++i) {
      plan_.c.vector = i;
      if (i != before && vectorFits()) return true;
    }
    return false;
  }

  // ---- The register tile ------------------------------------------------------------------------------------------------------
  bool sharesRhs(int loop) const {
    if (rows_ && loop != rows_->columns) return false;
    return loop != plan_.c.vector && (extent(loop).isBatch() || extent(loop).size > 1) && !moves(plan_.rhs, loop) && moves(plan_.lhs, loop);
  }

  // The block in which the tile loop must stay because lhs is blocked along it; 0: none; -1: it does not fit.
  int64_t lhsBlock(int loop) const {
    Layout layout = layoutOf(rankedType(plan_.c.lhs));
    if (layout.blockAxis < 0 || coefficient(plan_.lhs[layout.blockAxis], loop) == 0) return 0;
    const Index& index = plan_.lhs[layout.blockAxis];
    if (extent(loop).isBatch() || coefficient(index, loop) != 1 || !staysInBlock(index, loop, layout.block)) return -1;
    return extent(loop).size > layout.block ? layout.block : 0;
  }

  // Cycles that `rows` rows of a vector of `lanes` take a step: two multiply-adds and two loads a cycle, each sum once in four cycles.
  double cyclesOf(int64_t rows, int64_t lanes) const {
    int64_t registers = plan_.registersOf(lanes);
    return std::max({static_cast<double>(rows * registers) / 2, static_cast<double>(rows + registers) / 2, 4.0});
  }
  double cyclesOfTiles(int64_t size, int64_t full, int64_t lanes) const {
    int64_t count = ceilDiv(size, std::max<int64_t>(1, plan_.accumulators() / plan_.registersOf(lanes) / full)), large = size % count;
    return large * cyclesOf((size / count + 1) * full, lanes) + (count - large) * cyclesOf(size / count * full, lanes);
  }

  // Cycles a step and row, over all vectors, with tiles over `loop` and `full` rows beside each.
  double costOf(int loop, int64_t full) const {
    int64_t vectors = extent(plan_.c.vector).size, size = extent(loop).size, block = lhsBlock(loop);
    if (block <= 0) block = size;
    auto blocks = [&](int64_t lanes) {
      double cycles = static_cast<double>(size / block) * cyclesOfTiles(block, full, lanes);
      return size % block == 0 ? cycles : cycles + cyclesOfTiles(size % block, full, lanes);
    };
    double cycles = static_cast<double>(vectors / plan_.lanes) * blocks(plan_.lanes);
    if (vectors % plan_.lanes != 0) cycles += blocks(vectors % plan_.lanes);
    return cycles / static_cast<double>(size * full);
  }

  // The cheapest tile; the innermost of equals. A batch tile is dearer for its last samples, a pair of loops for its code.
  void chooseTile() {
    double best = 1e30;
    auto consider = [&](int loop, int full) {
      if (lhsBlock(loop) < 0) return;
      double cost = costOf(loop, full < 0 ? 1 : extent(full).size) * (full < 0 ? 1 : 1.02) * (extent(loop).isBatch() ? 1.2 : 1);
      if (cost > best) return;
      best = cost;
      plan_.tile = loop;
      plan_.full = full;
    };
    for (int loop = 0; loop < plan_.parallelCount(); ++loop)
      if (sharesRhs(loop)) consider(loop, -1);
    for (int full = 0; full < plan_.parallelCount(); ++full) {
      if (!sharesRhs(full) || extent(full).isBatch() || extent(full).size > kMaxFull || lhsBlock(full) != 0) continue;
      for (int loop = 0; loop < plan_.parallelCount(); ++loop)
        if (loop != full && sharesRhs(loop)) consider(loop, full);
    }
    if (plan_.tile < 0) return;
    int64_t block = lhsBlock(plan_.tile);
    plan_.tileBlock = block > 0 ? block : cellRows();
  }

  // Rows of the tile loop in a cell, whole tiles: as many as keep lhs in the second-level cache, but not so many that few cells are
  // left to share among threads.
  int64_t cellRows() const {
    int64_t size = extent(plan_.tile).size, tile = plan_.tileRows(plan_.lanes);
    int64_t bytes = std::max<int64_t>(1, static_cast<int64_t>(footprint(plan_.c.lhs, plan_.lhs) * static_cast<double>(elementSize())));
    int64_t rows = std::clamp(kLhsBytes / bytes, kLeastRows, kCellRows), others = ceilDiv(extent(plan_.c.vector).size, plan_.lanes);
    for (int loop = 0; loop < plan_.parallelCount(); ++loop)
      if (loop != plan_.tile && loop != plan_.full && loop != plan_.c.vector) others *= extent(loop).size;
    rows = std::min(rows, ceilDiv(size * others, kLeastCells));
    return std::min(size, ceilDiv(rows, tile) * tile);
  }

  // ---- Padding ------------------------------------------------------------------------------------------------------------------
  bool borders() {
    TensorType type = rankedType(plan_.c.lhs);
    plan_.border.assign(type.getRank(), Border::none);
    plan_.clippedBy.assign(type.getRank(), -1);
    for (int64_t axis = 0; axis < type.getRank(); ++axis) {
      const Index& index = plan_.lhs[axis];
      Interval range = rangeOf(index);
      if (range.lo >= 0 && range.hi < type.getDimSize(axis)) continue;
      bool tiled = false, outer = false;
      llvm::SmallVector<int> reductions;
      for (Index::Term t : index.terms) {
        if (t.loop == plan_.c.vector) return false;
        if (t.loop >= plan_.parallelCount()) reductions.push_back(t.loop - plan_.parallelCount());
        else if (t.loop == plan_.tile || t.loop == plan_.full) tiled = true;
        else outer = true;
      }
      if (!outer) {
        if (llvm::any_of(reductions, [&](int j) { return plan_.c.reduction[j].isBatch(); })) return false;
        plan_.border[axis] = Border::fixed;
        if (coefficient(index, plan_.tile) != 0) {
          if (plan_.batchTile() || lhsBlock(plan_.tile) > 0) return false;
          plan_.tileBlock = extent(plan_.tile).size;
        }
      } else if (!tiled && reductions.size() == 1 && !llvm::is_contained(plan_.clippedBy, reductions[0])) {
        plan_.border[axis] = Border::clipped;
        plan_.clippedBy[axis] = reductions[0];
      } else {
        return false;
      }
    }
    return true;
  }

  // ---- Cells and chunks -----------------------------------------------------------------------------------------------------------
  void chooseStrip() {
    if (rows_) {
      plan_.strip = rows_->rows;
      plan_.stripSize = balanced(rows_->most, std::max<int64_t>(1, kCellRows / (plan_.tileBlock * plan_.fullSize())));
      return;
    }
    int64_t rows = plan_.tileBlock * plan_.fullSize();
    for (int loop = plan_.parallelCount() - 1; loop >= 0; --loop) {
      if (loop == plan_.tile || loop == plan_.full || extent(loop).isBatch() || !sharesRhs(loop)) continue;
      int64_t most = std::min(extent(loop).size, kCellRows / rows);
      if (most > 1) {
        plan_.strip = loop;
        plan_.stripSize = balanced(extent(loop).size, most);
      }
      return;
    }
  }

  void chooseChunk() {
    int64_t rows = plan_.tileBlock * plan_.stripSize;
    if (rows <= plan_.tileRows(plan_.lanes) || rows * plan_.fullSize() * plan_.lanes * elementSize() > kScratchBytes) return;
    Layout layout = layoutOf(rankedType(plan_.c.lhs));
    int64_t inner = layout.innermost();
    bool lhsLines = plan_.lhsInVectors || (plan_.tile >= 0 && inner >= 0 && coefficient(plan_.lhs[inner], plan_.tile) != 0);
    int64_t bytes = plan_.lanes * elementSize() * (lhsLines ? 2 : 1);
    for (int j = static_cast<int>(plan_.c.reduction.size()) - 1; j >= 0; --j) {
      int64_t size = plan_.c.reduction[j].size;
      if (bytes * size <= kChunkBytes) {
        bytes *= size;
        continue;
      }
      if (!mayCut(j)) return;
      int64_t chunk = balanced(size, std::max<int64_t>(1, kChunkBytes / bytes));
      if (chunk >= 16) chunk = ceilDiv(chunk, 16) * 16;
      if (chunk >= size && j == 0) return;
      plan_.chunkLoop = j;
      plan_.chunk = std::min(chunk, size);
      return;
    }
  }

  // Loops up to `j` run outside of tiles: they must not be those that border tiles write out, nor (before `j`) be clipped.
  bool mayCut(int j) const {
    for (size_t axis = 0; axis < plan_.border.size(); ++axis) {
      if (plan_.border[axis] == Border::clipped && plan_.clippedBy[axis] < j) return false;
      if (plan_.border[axis] != Border::fixed) continue;
      for (int i = 0; i <= j; ++i)
        if (coefficient(plan_.lhs[axis], plan_.parallelCount() + i) != 0) return false;
    }
    return true;
  }

  // Bytes of `tensor` that a cell reads, about.
  double footprint(mlir::Value tensor, const Indices& places) const {
    TensorType type = rankedType(tensor);
    double elements = 1;
    for (size_t axis = 0; axis < places.size(); ++axis) {
      int64_t span = 1;
      for (Index::Term t : places[axis].terms) {
        int64_t size = 1;
        if (t.loop >= plan_.parallelCount() || t.loop == plan_.full) size = extent(t.loop).size;
        else if (t.loop == plan_.c.vector) size = std::min(plan_.lanes, extent(t.loop).size);
        else if (t.loop == plan_.tile) size = plan_.tileBlock;
        else if (t.loop == plan_.strip) size = plan_.stripSize;
        span += std::abs(t.coeff) * (size - 1);
      }
      elements *= static_cast<double>(std::min(span, type.getDimSize(axis)));
    }
    return elements;
  }

  std::optional<RowCut> rows_;
};

}  // namespace

int64_t coefficient(const Index& index, int loop) {
  for (Index::Term t : index.terms)
    if (t.loop == loop) return t.coeff;
  return 0;
}

int64_t ContractPlan::registersOf(int64_t lanes) const {
  return ceilDiv(lanes * elementBytes(rankedType(c.result).getElementType()), unit.registerBytes);
}

int64_t ContractPlan::tileRows(int64_t lanes) const { return std::max<int64_t>(1, accumulators() / registersOf(lanes) / fullSize()); }

std::optional<ContractPlan> planContract(const Contract& c, int64_t lanes, const VectorUnit& unit, std::optional<RowCut> rows) {
  Planner planner(c, lanes, unit, rows);
  if (!planner.run()) return std::nullopt;
  return std::move(planner.plan_);
}

}  // namespace mxc::codegen

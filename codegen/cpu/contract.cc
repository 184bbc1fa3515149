// Writes a contraction as its plan says (contract_plan.h): grid cell, chunks, strip, tiles. The reduction of one tile is in
// contract_tile.cc.
#include "codegen/cpu/contract.h"

#include "codegen/cpu/contract_tile.h"
#include "codegen/cpu/kernel_builder.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace mxc::codegen {
namespace {

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

class ContractEmitter {
 public:
  ContractEmitter(CpuKernelBuilder& k, const ContractPlan& plan) : k_(k), plan_(plan), b_(k.builder()), loc_(k.loc()) {}

  void run() {
    // Loops of the grid, outermost first, each with the size of its blocks.
    SmallVector<int> order;
    for (int loop = 0; loop < plan_.parallelCount(); ++loop)
      if (loop != plan_.c.vector && loop != plan_.full) order.push_back(loop);
    order.insert(plan_.vectorsInnermost ? order.end() : order.begin(), plan_.c.vector);
    SmallVector<Extent> extents;
    for (int loop : order) {
      Extent e = plan_.extent(loop);
      extents.push_back(e.isBatch() ? e : Extent{ceilDiv(e.size, blockOf(loop)), 0});
    }
    k_.grid(extents, plan_.batchTile() ? plan_.tileBlock : 1, [&](At counters) {
      p_.assign(plan_.parallelCount(), Index(0));
      Index vectors, tiles;
      for (auto [loop, counter] : llvm::zip(order, counters)) {
        if (loop == plan_.c.vector) vectors = counter;
        else if (loop == plan_.tile) tiles = counter;
        else if (loop == plan_.strip) strip_ = counter * plan_.stripSize;
        else p_[loop] = counter;
      }
      allocateScratch();
      k_.inBlocks(vectors, plan_.extent(plan_.c.vector).size, plan_.lanes, [&](Index base, int64_t lanes) {
        p_[plan_.c.vector] = base;
        lanes_ = lanes;
        if (plan_.batchTile() || plan_.tile < 0) return cell(tiles, 1);
        k_.inBlocks(tiles, plan_.tileSize(), plan_.tileBlock, [&](Index first, int64_t size) { cell(first, size); });
      });
    });
  }

  // The steps [lo, hi) of the strip loop in a cell of another grid, which is at `place`.
  void rows(const Indices& place, int64_t lanes, Value lo, Value hi) {
    p_ = place;
    lanes_ = lanes;
    stripEnd_ = hi;
    allocateScratch();
    k_.loop(lo, hi, plan_.stripSize, {}, [&](Value counter, ValueRange) -> SmallVector<Value> {
      strip_ = k_.newLoop(counter, plan_.extent(plan_.strip).size);
      int64_t blocks = ceilDiv(plan_.tileSize(), plan_.tileBlock);
      k_.loop(k_.constant(0), k_.constant(blocks), 1, {}, [&](Value tiles, ValueRange) -> SmallVector<Value> {
        k_.inBlocks(k_.newLoop(tiles, blocks), plan_.tileSize(), plan_.tileBlock, [&](Index first, int64_t size) { cell(first, size); });
        return {};
      });
      return {};
    });
  }

 private:
  int64_t blockOf(int loop) const {
    return loop == plan_.c.vector ? plan_.lanes : loop == plan_.tile ? plan_.tileBlock : loop == plan_.strip ? plan_.stripSize : 1;
  }

  void allocateScratch() {
    if (plan_.chunkLoop < 0) return;
    int64_t rows = plan_.tileBlock;
    if (plan_.batchTile()) rows += plan_.tileRows(1);  // the last tile may be written beyond the rows that count
    OpBuilder::InsertionGuard guard(b_);
    auto function = b_.getInsertionBlock()->getParentOp()->getParentOfType<func::FuncOp>();
    b_.setInsertionPointToStart(&function.getBody().front());
    Type element = rankedType(plan_.c.result).getElementType(), pointer = LLVM::LLVMPointerType::get(b_.getContext());
    scratch_ = b_.create<LLVM::AllocaOp>(loc_, pointer, element, k_.constant(rows * plan_.fullSize() * plan_.stripSize * plan_.lanes), 64);
    scratchRows_ = rows;
  }

  // ---- One cell -----------------------------------------------------------------------------------------------------------------
  void cell(Index first, int64_t size) {
    SmallVector<ReductionBound> bounds(plan_.c.reduction.size());
    if (plan_.chunkLoop < 0) return stripLoop(first, size, bounds);
    chunks(0, first, size, bounds, Value(), Value());
  }

  // The reduction loops up to the one that is cut. `isFirst`, `isLast`: so far.
  void chunks(int j, const Index& first, int64_t size, SmallVector<ReductionBound>& bounds, Value isFirst, Value isLast) {
    Value extent = k_.extentValue(plan_.c.reduction[j]);
    int64_t step = j == plan_.chunkLoop ? plan_.chunk : 1;
    k_.loop(k_.constant(0), extent, step, {}, [&](Value counter, ValueRange) -> SmallVector<Value> {
      Value next = b_.create<arith::AddIOp>(loc_, counter, k_.constant(step));
      Value begins = b_.create<arith::CmpIOp>(loc_, arith::CmpIPredicate::eq, counter, k_.constant(0));
      Value ends = b_.create<arith::CmpIOp>(loc_, arith::CmpIPredicate::sge, next, extent);
      if (isFirst) {
        begins = b_.create<arith::AndIOp>(loc_, isFirst, begins);
        ends = b_.create<arith::AndIOp>(loc_, isLast, ends);
      }
      if (j < plan_.chunkLoop) {
        bounds[j].fixed = k_.newLoop(counter, plan_.c.reduction[j].size);
        chunks(j + 1, first, size, bounds, begins, ends);
      } else {
        bounds[j].lo = counter;
        bounds[j].hi = b_.create<arith::MinSIOp>(loc_, next, extent);
        isFirst_ = begins;
        isLast_ = ends;
        stripLoop(first, size, bounds);
      }
      return {};
    });
  }

  void stripLoop(const Index& first, int64_t size, ArrayRef<ReductionBound> bounds) {
    if (plan_.strip < 0) return tiles(first, size, bounds, Index(0));
    int64_t whole = plan_.extent(plan_.strip).size;
    Value count = k_.constant(plan_.stripSize);
    if (stripEnd_ || whole % plan_.stripSize != 0) {
      Value left = b_.create<arith::SubIOp>(loc_, stripEnd_ ? stripEnd_ : k_.constant(whole), k_.valueOf(strip_));
      count = b_.create<arith::MinSIOp>(loc_, left, count);
    }
    k_.loop(k_.constant(0), count, 1, {}, [&](Value counter, ValueRange) -> SmallVector<Value> {
      Index local = k_.newLoop(counter, plan_.stripSize);
      p_[plan_.strip] = whole == plan_.stripSize && !stripEnd_ ? local : strip_ + local;
      tiles(first, size, bounds, local);
      return {};
    });
  }

  // ---- The tiles of a strip -------------------------------------------------------------------------------------------------------
  void tiles(const Index& first, int64_t size, ArrayRef<ReductionBound> bounds, const Index& stripRow) {
    int64_t most = plan_.tileRows(lanes_);
    if (plan_.tile < 0) return oneTile(Index(0), Index(0), 1, bounds, stripRow);
    if (plan_.batchTile()) return batchTiles(first, most, bounds, stripRow);
    // Nearly equal tiles: `large` of `rows`, then some of one less.
    int64_t count = ceilDiv(size, most), rows = size / count, large = size % count;
    SmallVector<std::pair<int64_t, int64_t>> cuts;  // first row, rows
    for (int64_t i = 0, at = 0; i < count; ++i) {
      cuts.push_back({at, rows + (i < large ? 1 : 0)});
      at += cuts.back().second;
    }
    for (size_t i = 0; i < cuts.size();) {
      auto [at, n] = cuts[i];
      size_t run = 1;
      if (!atBorder(plan_, at, n))
        while (i + run < cuts.size() && cuts[i + run].second == n && !atBorder(plan_, cuts[i + run].first, n)) ++run;
      if (run == 1) {
        oneTile(first, Index(at), n, bounds, stripRow);
      } else {
        k_.loop(k_.constant(0), k_.constant(run), 1, {}, [&, at = at, n = n](Value counter, ValueRange) -> SmallVector<Value> {
          oneTile(first, k_.newLoop(counter, run) * n + Index(at), n, bounds, stripRow);
          return {};
        });
      }
      i += run;
    }
  }

  // Tiles of `rows` samples up to the end of the cell or of the batch; the last one repeats its last sample and does not store it.
  void batchTiles(const Index& block, int64_t rows, ArrayRef<ReductionBound> bounds, const Index& stripRow) {
    Extent extent = plan_.extent(plan_.tile);
    rows = std::min(rows, extent.size);
    Value base = k_.valueOf(block * plan_.tileBlock), batch = k_.extentValue(extent);
    Value end = b_.create<arith::MinSIOp>(loc_, b_.create<arith::AddIOp>(loc_, base, k_.constant(plan_.tileBlock)), batch);
    k_.loop(base, end, rows, {}, [&](Value counter, ValueRange) -> SmallVector<Value> {
      Index at = k_.newLoop(counter, extent.size), local = k_.newLoop(b_.create<arith::SubIOp>(loc_, counter, base), plan_.tileBlock);
      TileRows tile;
      Value last = b_.create<arith::SubIOp>(loc_, end, k_.constant(1));
      for (int64_t i = 0; i < rows; ++i) {
        Value number = k_.valueOf(at + Index(i));
        Value clamped = b_.create<arith::IndexCastOp>(loc_, b_.getIndexType(), b_.create<arith::MinSIOp>(loc_, number, last));
        Value counts = i == 0 ? Value() : b_.create<arith::CmpIOp>(loc_, arith::CmpIPredicate::slt, number, end);
        addRows(tile, i == 0 ? at : indexOf(clamped), at + Index(i), local + Index(i), counts, stripRow);
      }
      tile.border = atBorder(plan_, 0, 1);
      emitTile(tile, bounds);
      return {};
    });
  }

  void oneTile(const Index& first, const Index& local, int64_t rows, ArrayRef<ReductionBound> bounds, const Index& stripRow) {
    TileRows tile;
    for (int64_t i = 0; i < rows; ++i) {
      Index at = first + local + Index(i);
      addRows(tile, at, at, local + Index(i), Value(), stripRow);
    }
    // Tiles that are run in a loop are inside; along an axis that depends on the tile loop there is one block, from 0.
    tile.border = local.isConstant() && atBorder(plan_, local.constant, rows);
    emitTile(tile, bounds);
  }

  // The row of the tile loop at `read` (and to be stored at `write`), once for each element of the full loop.
  void addRows(TileRows& tile, const Index& read, const Index& write, const Index& local, Value counts, const Index& stripRow) {
    for (int64_t f = 0; f < plan_.fullSize(); ++f) {
      TileRow row;
      row.place = p_;
      if (plan_.tile >= 0) row.place[plan_.tile] = read;
      if (plan_.full >= 0) row.place[plan_.full] = Index(f);
      row.stored = row.place;
      if (plan_.tile >= 0) row.stored[plan_.tile] = write;
      row.counts = counts;
      row.scratch = ((stripRow * scratchRows_ + local) * plan_.fullSize() + Index(f)) * plan_.lanes;
      tile.rows.push_back(row);
    }
    tile.independent |= read.opaque != Value();
  }

  // ---- Sums in and out ------------------------------------------------------------------------------------------------------------
  VectorType vectorType() const { return VectorType::get({lanes_}, rankedType(plan_.c.result).getElementType()); }

  Value scratchAt(const TileRow& row) {
    Type element = vectorType().getElementType(), pointer = LLVM::LLVMPointerType::get(b_.getContext());
    return b_.create<LLVM::GEPOp>(loc_, pointer, element, scratch_, ArrayRef<LLVM::GEPArg>{k_.valueOf(row.scratch)});
  }

  void emitTile(const TileRows& tile, ArrayRef<ReductionBound> bounds) {
    Value zero = b_.create<arith::ConstantOp>(loc_, b_.getZeroAttr(vectorType()));
    SmallVector<Value> sums(tile.rows.size(), zero);
    if (plan_.chunkLoop >= 0) {
      SmallVector<Type> types(sums.size(), vectorType());
      auto branch = b_.create<scf::IfOp>(loc_, types, isFirst_, true);
      OpBuilder::InsertionGuard guard(b_);
      b_.setInsertionPointToEnd(branch.thenBlock());
      b_.create<scf::YieldOp>(loc_, sums);
      b_.setInsertionPointToEnd(branch.elseBlock());
      SmallVector<Value> loaded;
      for (const TileRow& row : tile.rows) loaded.push_back(b_.create<LLVM::LoadOp>(loc_, vectorType(), scratchAt(row), elementSize()));
      b_.create<scf::YieldOp>(loc_, loaded);
      sums.assign(branch.getResults().begin(), branch.getResults().end());
    }
    sums = TileReducer(k_, plan_, lanes_, tile, bounds).run(sums);
    if (plan_.chunkLoop < 0) return storeResults(tile, sums);
    auto branch = b_.create<scf::IfOp>(loc_, isLast_, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPoint(branch.thenBlock()->getTerminator());
    storeResults(tile, sums);
    b_.setInsertionPoint(branch.elseBlock()->getTerminator());
    for (auto [row, sum] : llvm::zip(tile.rows, sums)) b_.create<LLVM::StoreOp>(loc_, sum, scratchAt(row), elementSize());
  }

  int64_t elementSize() const { return elementBytes(rankedType(plan_.c.result).getElementType()); }

  void storeResults(const TileRows& tile, ArrayRef<Value> sums) {
    for (auto [row, sum] : llvm::zip(tile.rows, sums)) {
      OpBuilder::InsertionGuard guard(b_);
      if (row.counts) {
        auto branch = b_.create<scf::IfOp>(loc_, row.counts, /*withElseRegion=*/false);
        b_.setInsertionPoint(branch.thenBlock()->getTerminator());
      }
      Indices p = row.stored;
      p[plan_.c.vector] = p[plan_.c.vector] + k_.beginLanes(lanes_);
      k_.newPoint();
      k_.store(plan_.c.result, plan_.c.resultAt(p), plan_.c.epilogue ? plan_.c.epilogue(p, sum) : sum);
      k_.endLanes();
    }
    k_.newPoint();
  }

  CpuKernelBuilder& k_;
  const ContractPlan& plan_;
  OpBuilder& b_;
  Location loc_;
  Indices p_;           // the cell's places of the parallel loops
  Index strip_;         // the first step of the strip
  Value stripEnd_;      // where the strip loop ends, if not at its extent
  int64_t lanes_ = 0;   // of this cell's vectors
  Value scratch_, isFirst_, isLast_;
  int64_t scratchRows_ = 0;
};

}  // namespace

bool emitContract(CpuKernelBuilder& k, const Contract& c) {
  if (!k.isMemory(c.lhs) || !k.isMemory(c.rhs)) return false;
  std::optional<ContractPlan> plan = planContract(c, k.lanes(), k.vectorUnit());
  if (!plan) return false;
  ContractEmitter(k, *plan).run();
  return true;
}

void emitContractRows(CpuKernelBuilder& k, const ContractPlan& plan, const Indices& place, int64_t lanes, Value lo, Value hi) {
  ContractEmitter(k, plan).rows(place, lanes, lo, hi);
}

}  // namespace mxc::codegen

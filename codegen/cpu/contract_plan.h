// How a contraction is cut: which loops make the register tile, the cells of the grid, and the chunks that stay in cache.
//
// The kernel that contract.cc writes has this shape, outermost first:
//   grid      all parallel loops; the vector loop in blocks of `lanes`, the tile and the strip loop in blocks of their own
//   chunks    the outer reduction loops, cut so that the rhs of a chunk stays in the first-level cache; sums wait in scratch
//   strip     one parallel loop inside a cell, so that a chunk of rhs serves many tiles
//   tiles     `rows` results of the tile loop (times all of the `full` loop) x one vector: the accumulators in registers
//   steps     the rest of the reduction: load a vector of rhs, and for each row broadcast an element of lhs and fma
// Each sum is taken in the order of the reduction loops whatever the cut, so all cuts give the same bits.
//
// Padding. Where lhs may be read outside along an axis, the axis either depends on tile, full and reduction loops only: then tiles at
// the border are written for their place and skip what lies outside; or it depends on outer loops and one reduction loop: then that
// loop's bounds are clipped.
#pragma once

#include <optional>

#include "codegen/cpu/vector_unit.h"
#include "ir/kernel.h"

namespace mxc::codegen {

enum class Border { none, fixed, clipped };

struct ContractPlan {
  // The contraction, lhs and rhs exchanged if that makes the vector loop contiguous. Loops are numbered: parallel ones from 0, then
  // the reduction loops.
  Contract c;
  Indices lhs, rhs, result;    // c's places in terms of those numbers
  VectorUnit unit;
  int64_t lanes = 1;           // of a whole vector
  bool lhsInVectors = false;   // lhs is read in vectors, not broadcast
  int tile = -1;               // -1: a tile has one row
  int full = -1;               // a small loop, all of it in each tile
  int64_t tileBlock = 1;       // elements of the tile loop in a cell
  int strip = -1;
  int64_t stripSize = 1;       // elements of the strip loop in a cell
  int chunkLoop = -1;          // reduction loop (from 0) that is cut; those before it run outside too; -1: none
  int64_t chunk = 0;
  bool vectorsInnermost = true;            // the order of the grid
  llvm::SmallVector<Border, 6> border;     // of each lhs axis
  llvm::SmallVector<int, 6> clippedBy;     // reduction loop (from 0) of a clipped axis, else -1

  int parallelCount() const { return static_cast<int>(c.parallel.size()); }
  const Extent& extent(int loop) const {
    return loop < parallelCount() ? c.parallel[loop] : c.reduction[loop - parallelCount()];
  }
  int64_t fullSize() const { return full < 0 ? 1 : extent(full).size; }
  int64_t tileSize() const { return tile < 0 ? 1 : extent(tile).size; }
  bool batchTile() const { return tile >= 0 && extent(tile).isBatch(); }
  // Whether a clipped or cut or batch extent makes the bounds of reduction loop `j` known only at run time.
  bool dynamicBounds(int j) const { return c.reduction[j].isBatch() || j == chunkLoop || llvm::is_contained(clippedBy, j); }
  // Registers that a vector of `lanes` elements takes; accumulators that a tile may have beside those for operands.
  int64_t registersOf(int64_t lanes) const;
  int64_t accumulators() const { return unit.registers * 3 / 4; }
  // Rows of the tile loop in a register tile when vectors have `lanes` elements.
  int64_t tileRows(int64_t lanes) const;
};

// For the cells of another grid: the parallel loop `rows` is run in parts known at run time only, of at most `most` steps, as the strip
// loop; `columns`, which may be the tile loop, whole; of the vector loop one vector; the others stand at one place.
struct RowCut {
  int rows, columns;
  int64_t most;
};

// `lanes`: elements of a 64-byte vector of the program, whatever the `unit`. Nothing if the contraction does not suit register tiles.
std::optional<ContractPlan> planContract(const Contract& c, int64_t lanes, const VectorUnit& unit,
                                         std::optional<RowCut> rows = {});

// The factor of `loop` in a place.
int64_t coefficient(const Index& index, int loop);

}  // namespace mxc::codegen

// Long sums of f32, in blocks: kBlockSteps steps or fewer are added up in f32, lane by lane, and what they give in f64. So a sum does not drift,
// however long it is, and a short one is nothing but its steps.
//
// The loops of a reduction, from the outside in, and what stands inside them are levels. Blocks are made of passes of one level, the innermost of which all
// passes together have more than kBlockSteps steps; as many passes make a block as have kBlockSteps steps or fewer, but at least one. Each time
// that the level begins anew, so does a block. With 64 x 7 x 7 steps the level is the outermost and a block one pass of it, 49 steps; with 3 x 4 x 5
// steps there are no blocks. Levels of known and unknown extents obey the same rule, so that a batch gives the bits of a constant.
#include "codegen/cpu/kernel_builder.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace mxc::codegen {
namespace {

// So many that a flush into f64 costs little beside them, and that their rounding is no matter.
constexpr int64_t kBlockSteps = 64;

bool isLong(Combine combine, Value state) { return combine == Combine::sum && getElementTypeOrSelf(state.getType()).isF32(); }

}  // namespace

// Levels [0, level) are known to have more than kBlockSteps steps in all their passes or not to be needed: finds the one that blocks are made of.
// `inside`: the steps of one pass of `level`, at most kBlockSteps.
SmallVector<Value> CpuKernelBuilder::blocksFrom(const Blocks& blocks, size_t level, Steps inside) {
  const bool isRun = level == blocks.outer.size();
  const int64_t extent = isRun ? blocks.run.steps : blocks.outer[level].extent.isBatch() ? -1 : blocks.outer[level].extent.size;
  const bool known = extent >= 0 && !inside.value;
  Steps all{known ? inside.count * extent : -1, Value()};
  if (known && all.count <= kBlockSteps) {
    if (level > 0) return blocksFrom(blocks, level - 1, all);
    Indices none;
    return foldNest(blocks.init, blocks.outer, none, [&](At at, ValueRange state) { return blocks.run.body(at, {}, state); });
  }
  if (known || level == 0) return blocksOf(blocks, level, inside);
  Value passes = isRun ? blocks.run.allSteps() : extentValue(blocks.outer[level].extent);
  all.value = b_.create<arith::MulIOp>(loc_, passes, stepsValue(inside));
  Value fits = b_.create<arith::CmpIOp>(loc_, arith::CmpIPredicate::sle, all.value, constant(kBlockSteps));
  auto branch = b_.create<scf::IfOp>(loc_, ValueRange(blocks.init).getTypes(), fits, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToEnd(branch.thenBlock());
  b_.create<scf::YieldOp>(loc_, blocksFrom(blocks, level - 1, all));
  b_.setInsertionPointToEnd(branch.elseBlock());
  b_.create<scf::YieldOp>(loc_, blocksOf(blocks, level, inside));
  return SmallVector<Value>(branch.getResults());
}

Value CpuKernelBuilder::stepsValue(const Steps& steps) { return steps.value ? steps.value : constant(steps.count); }

// Blocks of passes of `level`.
SmallVector<Value> CpuKernelBuilder::blocksOf(const Blocks& blocks, size_t level, const Steps& inside) {
  const bool isRun = level == blocks.outer.size();
  SmallVector<Value> totals = blocks.init;
  for (size_t i = 0; i < totals.size(); ++i)
    if (isLong(blocks.combine[i], totals[i])) totals[i] = b_.create<arith::ExtFOp>(loc_, wideType(totals[i]), totals[i]);
  Value span = inside.value ? b_.create<arith::DivUIOp>(loc_, constant(kBlockSteps), inside.value).getResult() : constant(kBlockSteps / inside.count);
  const bool known = !inside.value && (isRun ? blocks.run.steps >= 0 && !blocks.run.narrowEnd : !blocks.outer[level].extent.isBatch());
  const bool even = known && (isRun ? blocks.run.steps : blocks.outer[level].extent.size) % (kBlockSteps / inside.count) == 0;
  Indices none;
  totals = foldNest(totals, ArrayRef(blocks.outer).take_front(level), none, [&](At prefix, ValueRange before) {
    Value passes = isRun ? blocks.run.wholeSteps() : extentValue(blocks.outer[level].extent);
    Value count = b_.create<arith::DivUIOp>(loc_, passes, span);
    SmallVector<Value> state = loop(constant(0), count, 1, before, [&](Value block, ValueRange s) {
      Value first = b_.create<arith::MulIOp>(loc_, block, span);
      return addBlock(blocks, level, prefix, {first, b_.create<arith::AddIOp>(loc_, first, span), false}, s);
    });
    if (even) return state;
    return addBlock(blocks, level, prefix, {b_.create<arith::MulIOp>(loc_, count, span), passes, true}, state);
  });
  for (size_t i = 0; i < totals.size(); ++i)
    if (isLong(blocks.combine[i], blocks.init[i])) totals[i] = b_.create<arith::TruncFOp>(loc_, blocks.init[i].getType(), totals[i]);
  return totals;
}

// One block, added to `totals`.
SmallVector<Value> CpuKernelBuilder::addBlock(const Blocks& blocks, size_t level, At prefix, Part part, ValueRange totals) {
  SmallVector<Value> state(totals);
  for (size_t i = 0; i < state.size(); ++i)
    if (isLong(blocks.combine[i], blocks.init[i])) state[i] = blocks.init[i];
  if (level == blocks.outer.size()) {
    state = blocks.run.body(prefix, part, state);
  } else {
    state = loop(part.lo, part.hi, 1, state, [&](Value counter, ValueRange s) {
      Indices at(prefix);
      at.push_back(newLoop(counter, blocks.outer[level].extent.size));
      return foldNest(s, ArrayRef(blocks.outer).drop_front(level + 1), at, [&](At inner, ValueRange t) { return blocks.run.body(inner, {}, t); });
    });
  }
  for (size_t i = 0; i < state.size(); ++i)
    if (isLong(blocks.combine[i], blocks.init[i]))
      state[i] = b_.create<arith::AddFOp>(loc_, totals[i], b_.create<arith::ExtFOp>(loc_, totals[i].getType(), state[i]));
  return state;
}

Type CpuKernelBuilder::wideType(Value narrow) { return VectorType::get(cast<VectorType>(narrow.getType()).getShape(), b_.getF64Type()); }

SmallVector<Value> CpuKernelBuilder::reduceBlocks(ArrayRef<Combine> combine, ArrayRef<Range> outer, const Run& run, ArrayRef<Value> init) {
  bool sums = false, windows = llvm::any_of(outer, [](const Range& range) { return static_cast<bool>(range.lo); });
  for (auto [c, value] : llvm::zip(combine, init)) sums |= isLong(c, value);
  Indices none;
  if (!sums || windows) return foldNest(init, outer, none, [&](At at, ValueRange state) { return run.body(at, {}, state); });
  return blocksFrom({combine, outer, run, SmallVector<Value>(init)}, outer.size(), {1, Value()});
}

}  // namespace mxc::codegen

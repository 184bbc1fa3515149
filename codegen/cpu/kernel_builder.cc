// Functions, grids and loops of the CPU's KernelBuilder. Reductions are in kernel_reduce.cc, memory in kernel_memory.cc, the fused work in
// kernel_values.cc, kernels of two anchors in kernel_windows.cc.
#include "codegen/cpu/kernel_builder.h"

#include "codegen/cpu/contract.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace mxc::codegen {

int64_t lanesOf(mx::KernelOp kernel) {
  SmallVector<Type> types(kernel->getOperandTypes());
  llvm::append_range(types, kernel->getResultTypes());
  int64_t widest = 4;
  for (Type type : types)
    if (Type element = elementType(type); isa<FloatType>(element)) widest = std::max(widest, elementBytes(element));
  return 64 / widest;
}

CpuKernelBuilder::CpuKernelBuilder(ModuleOp kernels, mx::KernelOp kernel, std::string name, int64_t lanes, VectorUnit unit)
    : kernels_(kernels), kernel_(kernel), name_(std::move(name)), lanes_(lanes), unit_(unit), loc_(kernel.getLoc()), b_(kernels.getContext()) {
  Block& block = kernel_.getBody().front();
  for (BlockArgument argument : block.getArguments()) slots_[argument] = argument.getArgNumber();
  unsigned slot = block.getNumArguments();
  for (Value value : block.getTerminator()->getOperands()) yields_.push_back({value, slot++});
  std::tie(producer_, anchor_) = kernel_.anchors();
}

FailureOr<std::vector<KernelInfo>> CpuKernelBuilder::run() {
  if (!anchor_) {
    if (failed(lowerElementwiseKernel())) return failure();
    return std::move(infos_);
  }
  loc_ = anchor_->getLoc();
  if (failed(cast<mx::OpRules>(anchor_).lower(*this))) return anchor_->emitOpError() << "has no CPU kernel for these operands";
  return std::move(infos_);
}

Body CpuKernelBuilder::body() { return Body(b_, loc_, n_); }

Value CpuKernelBuilder::constant(int64_t value) {
  return b_.create<arith::ConstantOp>(loc_, b_.getI64IntegerAttr(value));
}

// ---- Functions and grids ------------------------------------------------------------------------------------------------------

void CpuKernelBuilder::openFunction() {
  loops_.clear();
  memo_.clear();
  pointers_.clear();
  b_.setInsertionPointToEnd(kernels_.getBody());
  Type pointer = LLVM::LLVMPointerType::get(b_.getContext()), i64 = b_.getI64Type();
  std::string symbol = name_ + (infos_.empty() ? "" : "." + std::to_string(infos_.size()));
  function_ = b_.create<func::FuncOp>(loc_, symbol, b_.getFunctionType({pointer, i64, i64, i64}, {}));
  Block* entry = function_.addEntryBlock();
  b_.setInsertionPointToStart(entry);
  n_ = entry->getArgument(1);
  begin_ = entry->getArgument(2);
  end_ = entry->getArgument(3);
  for (unsigned slot = 0; slot < slots_.size() + yields_.size(); ++slot) {
    Value place = b_.create<LLVM::GEPOp>(loc_, pointer, pointer, entry->getArgument(0), ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(slot)});
    pointers_.push_back(b_.create<LLVM::LoadOp>(loc_, pointer, place));
  }
}

void CpuKernelBuilder::closeFunction(int64_t cells, int64_t batchUnit, int64_t batchTile) {
  b_.create<func::ReturnOp>(loc_);
  infos_.push_back({function_.getSymName().str(), cells, batchUnit, batchTile, 0, carriedFrom_});
}

Value CpuKernelBuilder::extentValue(Extent extent) {
  if (!extent.isBatch()) return constant(extent.size);
  return extent.batchUnit == 1 ? n_ : b_.create<arith::MulIOp>(loc_, n_, constant(extent.batchUnit)).getResult();
}

void CpuKernelBuilder::grid(ArrayRef<Extent> extents, int64_t batchTile, const EachFn& body) {
  openFunction();
  int64_t cells = 1, batchUnit = 0;
  for (Extent e : extents) (e.isBatch() ? batchUnit : cells) = e.isBatch() ? e.batchUnit : cells * e.size;
  loop(begin_, end_, 1, {}, [&](Value cell, ValueRange) -> SmallVector<Value> {
    SmallVector<Value> counters(extents.size());
    int64_t outermost = 0;
    while (outermost < static_cast<int64_t>(extents.size()) && !extents[outermost].isBatch() && extents[outermost].size == 1) ++outermost;
    Value rest = cell;
    for (int64_t i = extents.size() - 1; i >= 0; --i) {
      Extent e = extents[i];
      if (!e.isBatch() && e.size == 1) continue;
      if (i == outermost) {
        counters[i] = rest;
        continue;
      }
      Value count = extentValue(e);
      if (e.isBatch() && batchTile > 1)
        count = b_.create<arith::DivUIOp>(loc_, b_.create<arith::AddIOp>(loc_, count, constant(batchTile - 1)), constant(batchTile));
      counters[i] = b_.create<arith::RemUIOp>(loc_, rest, count);
      rest = b_.create<arith::DivUIOp>(loc_, rest, count);
    }
    Indices at;
    for (auto [counter, e] : llvm::zip(counters, extents))
      at.push_back(counter ? newLoop(counter, e.isBatch() ? (e.size + batchTile - 1) / batchTile : e.size) : Index(0));
    newPoint();
    body(at);
    return {};
  });
  closeFunction(cells, batchUnit, batchTile);
}

Index CpuKernelBuilder::newLoop(Value value, int64_t size) {
  Index index;
  index.terms.push_back({static_cast<int>(loops_.size()), 1});
  loops_.push_back({value, size});
  return index;
}

Index CpuKernelBuilder::beginLanes(int64_t lanes) {
  assert(laneLoop_ < 0);
  Index index = newLoop(Value(), lanes);
  laneLoop_ = index.terms[0].loop;
  vector_ = lanes;
  return index;
}

void CpuKernelBuilder::endLanes() {
  laneLoop_ = -1;
  vector_ = 0;
}

// ---- Loops --------------------------------------------------------------------------------------------------------------------

SmallVector<Value> CpuKernelBuilder::loop(Value lo, Value hi, int64_t step, ValueRange init, const LoopFn& body) {
  auto loop = b_.create<scf::ForOp>(loc_, lo, hi, constant(step), init);
  OpBuilder::InsertionGuard guard(b_);
  Block* block = loop.getBody();
  if (init.empty()) {
    b_.setInsertionPoint(block->getTerminator());
    body(loop.getInductionVar(), {});
  } else {
    b_.setInsertionPointToEnd(block);
    SmallVector<Value> next = body(loop.getInductionVar(), loop.getRegionIterArgs());
    b_.create<scf::YieldOp>(loc_, next);
  }
  return SmallVector<Value>(loop.getResults());
}

void CpuKernelBuilder::nest(ArrayRef<Extent> extents, SmallVectorImpl<Index>& at, const std::function<void()>& body) {
  if (extents.empty()) return body();
  Extent e = extents.front();
  if (!e.isBatch() && e.size == 1) {
    at.push_back(Index(0));
    nest(extents.drop_front(), at, body);
    at.pop_back();
    return;
  }
  loop(constant(0), extentValue(e), 1, {}, [&](Value counter, ValueRange) -> SmallVector<Value> {
    at.push_back(newLoop(counter, e.size));
    nest(extents.drop_front(), at, body);
    at.pop_back();
    return {};
  });
}

void CpuKernelBuilder::inBlocks(Index counter, int64_t size, int64_t block, const std::function<void(Index, int64_t)>& body) {
  int64_t blocks = (size + block - 1) / block, tail = size - (blocks - 1) * block;
  if (blocks == 1) return body(Index(0), tail);
  if (tail == block) return body(counter * block, block);
  Value isLast = b_.create<arith::CmpIOp>(loc_, arith::CmpIPredicate::eq, valueOf(counter), constant(blocks - 1));
  auto branch = b_.create<scf::IfOp>(loc_, isLast, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPoint(branch.thenBlock()->getTerminator());
  body(Index((blocks - 1) * block), tail);
  b_.setInsertionPoint(branch.elseBlock()->getTerminator());
  body(counter * block, block);
}

void CpuKernelBuilder::vectorAt(Index base, int64_t lanes, const std::function<void(Index)>& body) {
  Index lane = beginLanes(lanes);
  newPoint();
  body(base + lane);
  endLanes();
}

void CpuKernelBuilder::vectorLoop(Extent extent, const std::function<void(Index)>& body) {
  if (extent.isBatch()) return vectorRange(Index(0), extentValue(extent), extent.size, body);
  int64_t whole = extent.size / lanes_, tail = extent.size % lanes_;
  if (whole == 1) {
    vectorAt(Index(0), lanes_, body);
  } else if (whole > 1) {
    loop(constant(0), constant(whole), 1, {}, [&](Value chunk, ValueRange) -> SmallVector<Value> {
      vectorAt(newLoop(chunk, whole) * lanes_, lanes_, body);
      return {};
    });
  }
  if (tail > 0) vectorAt(Index(whole * lanes_), tail, body);
}

void CpuKernelBuilder::vectorRange(Index base, Value count, int64_t bound, const std::function<void(Index)>& body) {
  Value whole = b_.create<arith::DivUIOp>(loc_, count, constant(lanes_));
  loop(constant(0), whole, 1, {}, [&](Value chunk, ValueRange) -> SmallVector<Value> {
    vectorAt(base + newLoop(chunk, bound / lanes_ + 1) * lanes_, lanes_, body);
    return {};
  });
  loop(b_.create<arith::MulIOp>(loc_, whole, constant(lanes_)), count, 1, {}, [&](Value element, ValueRange) -> SmallVector<Value> {
    vectorAt(base + newLoop(element, bound), 1, body);
    return {};
  });
}

void CpuKernelBuilder::batchCells(Extent all, const std::function<void(Index)>& body) {
  if (all.size <= kCellElements) return grid({}, 1, [&](At) { vectorLoop(all, body); });
  grid({all}, kCellElements, [&](At at) {
    Index start = at[0] * kCellElements;
    Value rest = b_.create<arith::SubIOp>(loc_, extentValue(all), valueOf(start));
    vectorRange(start, b_.create<arith::MinUIOp>(loc_, rest, constant(kCellElements)), kCellElements, body);
  });
}

void CpuKernelBuilder::rows(ArrayRef<Extent> extents, const EachFn& body) { grid(extents, 1, body); }

void CpuKernelBuilder::each(ArrayRef<Extent> extents, const EachFn& body) {
  Indices at;
  if (vector_ || extents.empty()) {
    nest(extents, at, [&] {
      newPoint();
      body(at);
    });
    return;
  }
  nest(extents.drop_back(), at, [&] {
    vectorLoop(extents.back(), [&](Index last) {
      Indices all = at;
      all.push_back(last);
      body(all);
    });
  });
}

void CpuKernelBuilder::forall(Value result, const EachFn& body, ArrayRef<int64_t> scalarAxes) {
  if (producer_) return overWindows(result, body);
  TensorType type = rankedType(result);
  Layout layout = layoutOf(type);
  int64_t rank = type.getRank(), v = layout.innermost();
  if (v >= 0 && (llvm::is_contained(scalarAxes, v) || type.getDimSize(v) == 1)) v = -1;
  bool blocked = v >= 0 && v == layout.blockAxis;

  if (v >= 0 && !blocked && rank == 1 && batchAxis(type) == v)
    return batchCells(extentOf(type, v), [&](Index i) { body(At(i)); });

  // Loops outside the vectors: logical axes, the blocked one counting blocks.
  SmallVector<int64_t> axes;
  SmallVector<Extent> extents;
  for (int64_t axis : layout.order) {
    if (axis == v && !blocked) continue;
    axes.push_back(axis);
    extents.push_back(axis == v ? Extent{(type.getDimSize(axis) + layout.block - 1) / layout.block, 0} : extentOf(type, axis));
  }
  int64_t inner = blocked ? layout.block : v >= 0 ? type.getDimSize(v) : 1;
  size_t split = extents.size();
  while (split > 0 && !extents[split - 1].isBatch() && inner * extents[split - 1].size <= kCellElements) inner *= extents[--split].size;

  grid(ArrayRef(extents).take_front(split), 1, [&](At outer) {
    Indices counters(outer);
    nest(ArrayRef(extents).drop_front(split), counters, [&] {
      Indices at(rank);
      for (auto [axis, counter] : llvm::zip(axes, counters)) at[axis] = counter;
      if (v < 0) {
        Index lane = beginLanes(1);
        newPoint();
        body(at);
        endLanes();
        return;
      }
      if (!blocked) {
        vectorLoop(extentOf(type, v), [&](Index i) {
          at[v] = i;
          body(at);
        });
        return;
      }
      inBlocks(at[v], type.getDimSize(v), layout.block, [&](Index base, int64_t size) {
        vectorLoop({size, 0}, [&](Index i) {
          at[v] = base + i;
          body(at);
        });
      });
    });
  });
}

// ---- Contractions ---------------------------------------------------------------------------------------------------------------

void CpuKernelBuilder::contract(const Contract& c) {
  if (producer_) contractInWindows(c);
  else if (!emitContract(*this, c)) contractGeneric(c);
  int64_t flops = 2;
  for (ArrayRef<Extent> loops : {ArrayRef(c.parallel), ArrayRef(c.reduction)})
    for (Extent extent : loops) flops *= extent.size;
  infos_.back().flops = flops;
}

// Any contraction: one vector of sums at a time.
void CpuKernelBuilder::contractGeneric(const Contract& c) {
  SmallVector<Extent> outer(c.parallel);
  Extent vectorExtent = outer[c.vector];
  outer.erase(outer.begin() + c.vector);
  grid(outer, 1, [&](At counters) {
    vectorLoop(vectorExtent, [&](Index v) {
      Indices p(counters);
      p.insert(p.begin() + c.vector, v);
      contractAt(c, p);
    });
  });
}

void CpuKernelBuilder::contractAt(const Contract& c, At p) {
  SmallVector<Range> ranges(c.reduction.begin(), c.reduction.end());
  Value sum = fold({identity(Combine::sum, rankedType(c.result).getElementType(), vector_)}, ranges, [&](At r, ValueRange state) {
    Value a = loadOr(c.lhs, c.lhsAt(p, r), 0), b = load(c.rhs, c.rhsAt(p, r));
    return SmallVector<Value>{body().fma(a, b, state[0])};
  })[0];
  if (c.epilogue) sum = c.epilogue(p, sum);
  store(c.result, c.resultAt(p), sum);
}

}  // namespace mxc::codegen

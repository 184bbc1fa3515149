// Kernels of two anchors: a contraction (a convolution), and an op that reads its result in windows (a pooling).
//
// What the contraction computes is never stored whole. The grid is that of the windows: samples, vectors of channels, blocks of rows. A
// cell computes the rows that its windows read into memory on its stack, with what elementwise work there is between the two, and runs
// the windows over them:
//
//   for each sample, vector of channels and block of rows of the result:
//     for each row that the block's windows read, and each column:  waiting[row][column] = between(contraction)
//     for each row and column of the block:                         result = behind(window of waiting)
//
// Where windows overlap, rows between two blocks are computed twice, by the same sums in the same order.
#include "codegen/cpu/contract.h"
#include "codegen/cpu/contract_plan.h"
#include "codegen/cpu/kernel_builder.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace mxc::codegen {
namespace {

constexpr int64_t kWaitingBytes = 32 << 10;  // of windows that share no rows: in the first-level cache

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// The rows that `windows` neighbouring windows read.
int64_t rowsOf(const Window& window, int64_t windows) { return (windows - 1) * window.stride + window.size; }

// How many of `windows` a cell does, nearly the same in all. The more, the fewer rows are computed twice.
int64_t blockOf(const Window& window, int64_t windows, int64_t rowBytes) {
  int64_t rows = (window.size > window.stride ? kWindowBytes : kWaitingBytes) / rowBytes;
  int64_t most = std::max<int64_t>(1, (rows - window.size) / window.stride + 1);
  return ceilDiv(windows, ceilDiv(windows, most));
}

// The parallel loops that are axes of the result.
struct AxisLoops {
  int sample, row, column;
};
AxisLoops axisLoopsOf(const Contract& c) {
  Indices p(c.parallel.size());
  for (size_t loop = 0; loop < p.size(); ++loop) p[loop].terms.push_back({static_cast<int>(loop), 1});
  Indices at = c.resultAt(p);
  return {at[0].terms.back().loop, at[2].terms.back().loop, at[3].terms.back().loop};
}

}  // namespace

// The anchor's loop becomes the second half of the cells that the producer's contraction opens.
void CpuKernelBuilder::overWindows(Value result, const EachFn& body) {
  windowResult_ = result;
  windowBody_ = &body;
  [[maybe_unused]] LogicalResult lowered = cast<mx::OpRules>(producer_).lower(*this);
  assert(succeeded(lowered) && "what makes rows has a kernel");
}

void CpuKernelBuilder::contractInWindows(const Contract& c) {
  waiting_.value = anchor_->getOperand(0);
  TensorType from = rankedType(waiting_.value), to = rankedType(windowResult_);
  const Window window = cast<mx::OpRules>(anchor_).window();
  const AxisLoops loops = axisLoopsOf(c);
  const int64_t rows = from.getDimSize(2), columns = from.getDimSize(3), channels = from.getDimSize(1), windows = to.getDimSize(2);
  const int64_t block = blockOf(window, windows, columns * lanes_ * elementBytes(from.getElementType()));
  std::optional<ContractPlan> plan;
  if (isMemory(c.lhs) && isMemory(c.rhs)) plan = planContract(c, lanes_, unit_, RowCut{loops.row, loops.column, rowsOf(window, block)});

  SmallVector<Extent> extents = {extentOf(from, 0), {ceilDiv(windows, block), 0}};
  const bool vectorsInnermost = !plan || plan->vectorsInnermost;
  extents.insert(vectorsInnermost ? extents.end() : extents.begin(), Extent{ceilDiv(channels, lanes_), 0});
  grid(extents, 1, [&](At counters) {
    At others = vectorsInnermost ? counters.drop_back() : counters.drop_front();
    Index first = others[1] * block;
    Value begin = valueOf(first), end = b_.create<arith::MinSIOp>(loc_, b_.create<arith::AddIOp>(loc_, begin, constant(block)), constant(windows));
    waiting_.row = first * window.stride - Index(window.pad);
    allocateWaiting(tensorType({rowsOf(window, block), columns, lanes_}, from.getElementType()));
    Value lo = b_.create<arith::MaxSIOp>(loc_, valueOf(waiting_.row), constant(0));
    Value hi = b_.create<arith::MulIOp>(loc_, b_.create<arith::SubIOp>(loc_, end, constant(1)), constant(window.stride));
    hi = b_.create<arith::MinSIOp>(loc_, b_.create<arith::AddIOp>(loc_, hi, constant(window.size - window.pad)), constant(rows));
    inBlocks(vectorsInnermost ? counters.back() : counters.front(), channels, lanes_, [&](Index channel, int64_t lanes) {
      waiting_.channel = channel;
      Indices p(c.parallel.size());
      p[loops.sample] = others[0];
      p[c.vector] = channel;
      if (plan) emitContractRows(*this, *plan, p, lanes, lo, hi);
      else genericRows(c, p, lanes, {loops.row, lo, hi}, loops.column);
      forWindows({others[0], channel}, lanes, begin, end);
    });
  });
}

void CpuKernelBuilder::allocateWaiting(TensorType type) {
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToStart(&function_.getBody().front());
  waiting_.type = type;
  waiting_.slot = pointers_.size();
  pointers_.push_back(b_.create<LLVM::AllocaOp>(loc_, LLVM::LLVMPointerType::get(b_.getContext()), type.getElementType(),
                                                constant(type.getNumElements()), 64));
}

// Rows [lo, hi) of any contraction's result, one vector of sums at a time.
void CpuKernelBuilder::genericRows(const Contract& c, Indices p, int64_t lanes, const RowRange& rows, int column) {
  auto loopOver = [&](int which, Value lo, Value hi, const std::function<void()>& body) {
    loop(lo, hi, 1, {}, [&](Value counter, ValueRange) -> SmallVector<Value> {
      p[which] = newLoop(counter, c.parallel[which].size);
      body();
      return {};
    });
  };
  loopOver(rows.loop, rows.lo, rows.hi, [&] {
    loopOver(column, constant(0), constant(c.parallel[column].size), [&] {
      vectorAt(p[c.vector], lanes, [&](Index vector) {
        Indices at = p;
        at[c.vector] = vector;
        contractAt(c, at);
      });
    });
  });
}

// The windows of the rows [begin, end) of the result, at a sample and `lanes` of its channels.
void CpuKernelBuilder::forWindows(At outer, int64_t lanes, Value begin, Value end) {
  TensorType type = rankedType(windowResult_);
  loop(begin, end, 1, {}, [&](Value row, ValueRange) -> SmallVector<Value> {
    Index rowPlace = newLoop(row, type.getDimSize(2));
    loop(constant(0), constant(type.getDimSize(3)), 1, {}, [&](Value column, ValueRange) -> SmallVector<Value> {
      Index columnPlace = newLoop(column, type.getDimSize(3));
      vectorAt(outer[1], lanes, [&](Index channel) { (*windowBody_)(Indices{outer[0], channel, rowPlace, columnPlace}); });
      return {};
    });
    return {};
  });
}

void CpuKernelBuilder::storeWaiting(At at) {
  Value value = compute(waiting_.value, at, rankedType(waiting_.value).getShape(), memo_);
  storeMemory(waiting_.slot, waiting_.type, waiting_.place(at), value);
}

}  // namespace mxc::codegen

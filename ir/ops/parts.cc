// Pieces of tensors: each element of a result knows the one place that it comes from, and gradients go the same way back.
#include "ir/ops/parts.h"

#include "ir/ops/elementwise.h"
#include "ir/ops/shape.h"
#include "ir/origin.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "ir/ops/parts.cc.inc"

namespace mxc::mx {

void registerFamily_parts(MxDialect& dialect) {
  dialect.registerOps<
#define GET_OP_LIST
#include "ir/ops/parts.cc.inc"
      >();
}

namespace {

// What a slice takes of one axis.
struct AxisSlice {
  int64_t begin = 0, size = 0, step = 1;
};

FailureOr<SmallVector<AxisSlice>> slicesOf(SliceOp op, TensorType type) {
  SmallVector<AxisSlice> slices;
  for (int64_t size : type.getShape()) slices.push_back({0, size, 1});
  ArrayRef<int64_t> begin = op.getBegin(), end = op.getEnd(), step = op.getStep(), axes = op.getAxes();
  for (ArrayRef<int64_t> list : {end, step, axes})
    if (!list.empty() && list.size() != begin.size()) return op.emitOpError() << "has lists of different lengths";
  llvm::SmallDenseSet<int64_t> taken;
  for (size_t i = 0; i < begin.size(); ++i) {
    FailureOr<int64_t> axis = checkAxis(op, axes.empty() ? static_cast<int64_t>(i) : axes[i], type.getRank());
    if (failed(axis)) return failure();
    if (!taken.insert(*axis).second) return op.emitOpError() << "names axis " << (axes.empty() ? *axis : axes[i]) << " twice";
    int64_t size = type.getDimSize(*axis), first = begin[i], last = end.empty() ? size : end[i], stride = step.empty() ? 1 : step[i];
    if (first < 0) first += size;
    if (last < 0) last += size;
    last = std::min(last, size);
    if (stride < 1) return op.emitOpError() << "needs a step >= 1, got " << stride;
    if (first < 0 || first >= last) return op.emitOpError() << "leaves nothing of axis " << *axis << " of " << shapeText(type);
    if (*axis == batchAxis(type) && (first != 0 || last != size || stride != 1)) return op.emitOpError() << "cannot take part of the batch";
    slices[*axis] = {first, (last - first + stride - 1) / stride, stride};
  }
  return slices;
}

// Every point of `extents`, the last axis in vectors.
void forPoints(KernelBuilder& k, ArrayRef<Extent> extents, llvm::function_ref<void(At)> point) {
  if (extents.empty()) return k.rows({}, [&](At) { point({}); });
  k.rows(extents.drop_back(), [&](At outer) {
    k.each({extents.back()}, [&](At last) {
      Indices at(outer);
      at.push_back(last[0]);
      point(at);
    });
  });
}

// Runs `body` for each element of tensors that make up a whole along `axis`: the tensor, the place in it, the place in the whole.
void forPieces(KernelBuilder& k, ValueRange pieces, int64_t axis, llvm::function_ref<void(Value, At, At)> body) {
  int64_t begin = 0;
  for (Value piece : pieces) {
    TensorType type = rankedType(piece);
    SmallVector<Extent> extents;
    for (int64_t i = 0; i < type.getRank(); ++i) extents.push_back(extentOf(type, i));
    forPoints(k, extents, [&](At p) {
      Indices at(p);
      at[axis] = at[axis] + Index(begin);
      body(piece, p, at);
    });
    begin += type.getDimSize(axis);
  }
}

}  // namespace

LogicalResult ConcatOp::inferTypes() {
  if (getInputs().empty()) return emitOpError() << "needs at least one input";
  FailureOr<TensorType> first = expectRank(*this, 0, -1);
  if (failed(first)) return failure();
  FailureOr<int64_t> axis = checkAxis(*this, getAxis(), first->getRank());
  if (failed(axis)) return failure();
  if (batchAxis(*first) == *axis) return emitOpError() << "cannot run along the batch axis";
  SmallVector<int64_t> dims(first->getShape());
  for (unsigned i = 1; i < getInputs().size(); ++i) {
    FailureOr<TensorType> other = expectRank(*this, i, first->getRank());
    if (failed(other)) return failure();
    SmallVector<int64_t> expected(first->getShape());
    expected[*axis] = other->getDimSize(*axis);
    if (other->getShape() != ArrayRef(expected) || batchAxis(*other) != batchAxis(*first) || batchUnit(*other) != batchUnit(*first)) {
      InFlightDiagnostic error = emitOpError() << "cannot join " << shapeText(*first) << " and " << shapeText(*other) << " along axis " << *axis;
      for (int64_t other_axis = 0; other_axis < first->getRank(); ++other_axis) {
        if (other->getDimSize(other_axis) == expected[other_axis]) continue;
        for (Value input : {getInputs()[0], getInputs()[i]})
          noteOrigin(error, input, other_axis, "the " + Twine(rankedType(input).getDimSize(other_axis)));
        break;
      }
      return error;
    }
    if (other->getElementType() != first->getElementType())
      return emitOpError() << "mixes element types " << first->getElementType() << " and " << other->getElementType();
    dims[*axis] += other->getDimSize(*axis);
  }
  return setResult(*this, 0, withDims(*first, dims)), success();
}
LogicalResult ConcatOp::buildGradient(GradientBuilder& g) {
  int64_t axis = *checkAxis(*this, getAxis(), rankedType(getOutput()).getRank()), begin = 0;
  for (auto [i, input] : llvm::enumerate(getInputs())) {
    int64_t end = begin + rankedType(input).getDimSize(axis);
    if (g.wants(i))
      g.set(i, g.make<SliceOp>({g.dy()}, {numbers(g.builder, "begin", {begin}), numbers(g.builder, "end", {end}), numbers(g.builder, "axes", {axis})}));
    begin = end;
  }
  return success();
}
LogicalResult ConcatOp::lower(KernelBuilder& k) {
  int64_t axis = *checkAxis(*this, getAxis(), rankedType(getOutput()).getRank());
  forPieces(k, getInputs(), axis, [&](Value input, At p, At at) { k.store(getOutput(), at, k.load(input, p)); });
  return success();
}
bool ConcatOp::canOverwrite(unsigned, unsigned) { return false; }

LogicalResult SplitOp::inferTypes() {
  FailureOr<TensorType> type = expectRank(*this, 0, -1);
  if (failed(type)) return failure();
  FailureOr<int64_t> axis = checkAxis(*this, getAxis(), type->getRank());
  if (failed(axis)) return failure();
  if (batchAxis(*type) == *axis) return emitOpError() << "cannot run along the batch axis";
  int64_t parts = getParts(), size = type->getDimSize(*axis);
  if (parts < 1 || size % parts != 0) return emitOpError() << parts << " parts do not divide axis " << *axis << " of " << shapeText(*type);
  if (parts != static_cast<int64_t>(getOutputs().size())) return emitOpError() << "has " << getOutputs().size() << " results for " << parts << " parts";
  SmallVector<int64_t> dims(type->getShape());
  dims[*axis] = size / parts;
  for (unsigned i = 0; i < getOutputs().size(); ++i) setResult(*this, i, withDims(*type, dims));
  return success();
}
LogicalResult SplitOp::buildGradient(GradientBuilder& g) {
  SmallVector<Value> parts;
  for (auto [i, output] : llvm::enumerate(getOutputs())) {
    TensorType type = rankedType(output);
    parts.push_back(g.dy(i) ? g.dy(i) : makeFilled(g.builder, g.loc, 0, type));
  }
  return g.set(0, g.make<ConcatOp>(parts, g.builder.getNamedAttr("axis", getAxisAttr()))), success();
}
LogicalResult SplitOp::lower(KernelBuilder& k) {
  int64_t axis = *checkAxis(*this, getAxis(), rankedType(getInput()).getRank());
  forPieces(k, getOutputs(), axis, [&](Value output, At p, At at) { k.store(output, p, k.load(getInput(), at)); });
  return success();
}
bool SplitOp::canOverwrite(unsigned, unsigned) { return false; }

LogicalResult StackOp::inferTypes() {
  if (getInputs().empty()) return emitOpError() << "needs at least one input";
  FailureOr<TensorType> first = expectRank(*this, 0, -1);
  if (failed(first)) return failure();
  FailureOr<int64_t> axis = checkAxis(*this, getAxis(), first->getRank() + 1);
  if (failed(axis)) return failure();
  for (unsigned i = 1; i < getInputs().size(); ++i) {
    FailureOr<TensorType> other = expectRank(*this, i, -1);
    if (failed(other)) return failure();
    if (plain(*other) == plain(*first)) continue;
    InFlightDiagnostic error = emitOpError() << "cannot stack " << shapeText(*first) << " and " << shapeText(*other);
    if (other->getElementType() != first->getElementType()) error << " of " << first->getElementType() << " and " << other->getElementType();
    error.attachNote(getInputs()[i].getLoc()) << "input " << i << " comes from here";
    return error;
  }
  auto from = llvm::to_vector(llvm::seq<int64_t>(0, first->getRank()));
  from.insert(from.begin() + *axis, -1);
  TensorType one = rearranged(*first, from);
  SmallVector<int64_t> dims(one.getShape());
  dims[*axis] = static_cast<int64_t>(getInputs().size());
  return setResult(*this, 0, withDims(one, dims)), success();
}
SmallVector<Value> StackOp::decompose(OpBuilder& b) {
  int64_t axis = *checkAxis(*this, getAxis(), rankedType(getOutput()).getRank());
  NamedAttribute at = b.getNamedAttr("axis", b.getI64IntegerAttr(axis));
  SmallVector<Value> inputs;
  for (Value input : getInputs()) inputs.push_back(make<ExpandDimsOp>(b, getLoc(), {input}, at));
  return {make<ConcatOp>(b, getLoc(), inputs, at)};
}

LogicalResult TileOp::inferTypes() {
  FailureOr<TensorType> type = expectRank(*this, 0, -1);
  if (failed(type)) return failure();
  ArrayRef<int64_t> repeats = getRepeats();
  if (static_cast<int64_t>(repeats.size()) != type->getRank())
    return emitOpError() << "needs " << type->getRank() << " numbers of repeats, got " << repeats.size();
  SmallVector<int64_t> dims(type->getShape());
  for (auto [i, repeat] : llvm::enumerate(repeats)) {
    if (repeat < 1) return emitOpError() << "needs repeats >= 1, got " << repeat;
    if (repeat > 1 && static_cast<int64_t>(i) == batchAxis(*type)) return emitOpError() << "cannot repeat the batch axis";
    dims[i] *= repeat;
  }
  return setResult(*this, 0, withDims(*type, dims)), success();
}
// Each repeated axis gets one of size 1 before it, along which the input is spread.
SmallVector<Value> TileOp::decompose(OpBuilder& b) {
  TensorType type = rankedType(getInput());
  Value x = getInput();
  SmallVector<std::pair<int64_t, int64_t>> spread;  // axis, repeats
  for (int64_t i = 0, at = 0; i < type.getRank(); ++i, ++at) {
    if (getRepeats()[i] == 1) continue;
    x = make<ExpandDimsOp>(b, getLoc(), {x}, b.getNamedAttr("axis", b.getI64IntegerAttr(at)));
    spread.push_back({at++, getRepeats()[i]});
  }
  SmallVector<int64_t> dims(rankedType(x).getShape());
  for (auto [axis, repeats] : spread) dims[axis] = repeats;
  x = make<BroadcastOp>(b, getLoc(), {x}, b.getNamedAttr("to", TypeAttr::get(withDims(rankedType(x), dims))));
  return {make<ReshapeOp>(b, getLoc(), {x}, numbers(b, "shape", rankedType(getOutput()).getShape()))};
}

LogicalResult SliceOp::inferTypes() {
  FailureOr<TensorType> type = expectRank(*this, 0, -1);
  if (failed(type)) return failure();
  FailureOr<SmallVector<AxisSlice>> slices = slicesOf(*this, *type);
  if (failed(slices)) return failure();
  SmallVector<int64_t> dims;
  for (const AxisSlice& slice : *slices) dims.push_back(slice.size);
  return setResult(*this, 0, withDims(*type, dims)), success();
}
LogicalResult SliceOp::buildGradient(GradientBuilder& g) {
  TensorType type = rankedType(getInput());
  SmallVector<int64_t> begin, step;
  SmallVector<AxisSlice> slices = *slicesOf(*this, type);
  for (const AxisSlice& slice : slices) begin.push_back(slice.begin), step.push_back(slice.step);
  g.set(0, g.make<SliceGradOp>({g.dy()}, {numbers(g.builder, "size", type.getShape()), numbers(g.builder, "begin", begin), numbers(g.builder, "step", step)}));
  return success();
}
LogicalResult SliceOp::lower(KernelBuilder& k) {
  SmallVector<AxisSlice> slices = *slicesOf(*this, rankedType(getInput()));
  k.forall(getOutput(), [&](At p) {
    Indices at;
    for (auto [place, slice] : llvm::zip(p, slices)) at.push_back(place * slice.step + Index(slice.begin));
    k.store(getOutput(), p, k.load(getInput(), at));
  });
  return success();
}
bool SliceOp::canOverwrite(unsigned, unsigned) { return false; }

LogicalResult SliceGradOp::inferTypes() {
  FailureOr<TensorType> dy = expectRank(*this, 0, -1);
  if (failed(dy)) return failure();
  return setResult(*this, 0, withDims(*dy, getSize())), success();
}
LogicalResult SliceGradOp::buildGradient(GradientBuilder& g) {
  SmallVector<int64_t> end;
  for (auto [begin, step, size] : llvm::zip(getBegin(), getStep(), rankedType(getDy()).getShape())) end.push_back(begin + (size - 1) * step + 1);
  g.set(0, g.make<SliceOp>({g.dy()}, {numbers(g.builder, "begin", getBegin()), numbers(g.builder, "end", end), numbers(g.builder, "step", getStep())}));
  return success();
}
// Places of one remainder by the steps are taken together: either all of them come from dy or all are zero.
LogicalResult SliceGradOp::lower(KernelBuilder& k) {
  TensorType type = rankedType(getOutput());
  ArrayRef<int64_t> begin = getBegin(), step = getStep();
  int64_t rank = type.getRank();
  SmallVector<int64_t> phase(rank, 0);
  bool more = true;
  while (more) {
    bool taken = true;
    SmallVector<Extent> extents;
    for (int64_t i = 0; i < rank; ++i) {
      Extent whole = extentOf(type, i);
      extents.push_back(step[i] == 1 ? whole : Extent{(whole.size - phase[i] + step[i] - 1) / step[i], 0});
      taken &= phase[i] == begin[i] % step[i];
    }
    forPoints(k, extents, [&](At q) {
      Indices to, from;
      for (int64_t i = 0; i < rank; ++i) {
        to.push_back(q[i] * step[i] + Index(phase[i]));
        from.push_back(q[i] - Index(begin[i] / step[i]));
      }
      Value zero = k.body().constant(0, type.getElementType());
      k.store(getOutput(), to, taken ? k.loadOr(getDy(), from, 0) : zero);
    });
    more = false;
    for (int64_t i = 0; i < rank && !more; ++i) {
      more = phase[i] + 1 < std::min(step[i], type.getDimSize(i));
      phase[i] = more ? phase[i] + 1 : 0;
    }
  }
  return success();
}
bool SliceGradOp::canOverwrite(unsigned, unsigned) { return false; }

LogicalResult PadOp::inferTypes() {
  FailureOr<TensorType> type = expectRank(*this, 0, -1);
  if (failed(type)) return failure();
  ArrayRef<int64_t> before = getBefore(), after = getAfter();
  size_t rank = type->getRank();
  if (before.size() != rank || after.size() != rank)
    return emitOpError() << "needs " << rank << " numbers before and after, got " << before.size() << " and " << after.size();
  SmallVector<int64_t> dims(type->getShape());
  for (size_t i = 0; i < rank; ++i) {
    if (before[i] < 0 || after[i] < 0) return emitOpError() << "needs numbers >= 0";
    if (static_cast<int64_t>(i) == batchAxis(*type) && before[i] + after[i] > 0) return emitOpError() << "cannot pad the batch axis";
    dims[i] += before[i] + after[i];
  }
  return setResult(*this, 0, withDims(*type, dims)), success();
}
LogicalResult PadOp::buildGradient(GradientBuilder& g) {
  SmallVector<int64_t> end;
  for (auto [before, size] : llvm::zip(getBefore(), rankedType(getInput()).getShape())) end.push_back(before + size);
  g.set(0, g.make<SliceOp>({g.dy()}, {numbers(g.builder, "begin", getBefore()), numbers(g.builder, "end", end)}));
  return success();
}
LogicalResult PadOp::lower(KernelBuilder& k) {
  ArrayRef<int64_t> before = getBefore();
  k.forall(getOutput(), [&](At p) {
    Indices at;
    for (auto [place, shift] : llvm::zip(p, before)) at.push_back(place - Index(shift));
    k.store(getOutput(), p, k.loadOr(getInput(), at, getValue().convertToDouble()));
  });
  return success();
}
bool PadOp::canOverwrite(unsigned, unsigned) { return false; }

}  // namespace mxc::mx

// Convolution as contractions. Forward and weight gradient are linear in their loops as they stand. The input gradient of a strided
// convolution is split by phase: input rows h = stride * q + phase meet only every stride-th kernel tap, and within a phase the output
// row is linear in q and in the number of the tap, so that each phase is a dense contraction of its own.
#include "ir/ops/conv.h"

#include <numeric>

#include "ir/ops/elementwise.h"
#include "ir/ops/reduce.h"
#include "ir/ops/shape.h"
#include "ir/origin.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "ir/ops/conv.cc.inc"

namespace mxc::mx {

void registerFamily_conv(MxDialect& dialect) {
  dialect.registerOps<
#define GET_OP_LIST
#include "ir/ops/conv.cc.inc"
      >();
}

namespace {

using Size2 = ArrayRef<int64_t>;

NamedAttribute sizes(OpBuilder& b, StringRef name, Size2 value) { return b.getNamedAttr(name, b.getDenseI64ArrayAttr(value)); }

InFlightDiagnostic noteChannels(InFlightDiagnostic error, Value input) {
  noteOrigin(error, input, 1, "the " + Twine(rankedType(input).getDimSize(1)) + " channels", /*plural=*/true);
  return error;
}

// The kernel taps k with (phase + pad - k * dilation) divisible by stride: first + j * step for j < count; output row for input row
// stride * q + phase and tap j: q + offset - j * slope.
struct Taps {
  int64_t first = 0, step = 1, count = 0, offset = 0, slope = 0;
};
Taps tapsOf(int64_t phase, int64_t kernel, int64_t stride, int64_t pad, int64_t dilation) {
  Taps taps;
  taps.step = stride / std::gcd(stride, dilation);
  taps.slope = taps.step * dilation / stride;
  for (int64_t k = 0; k < std::min(kernel, taps.step); ++k) {
    if ((phase + pad - k * dilation) % stride != 0) continue;
    taps.first = k;
    taps.count = (kernel - k + taps.step - 1) / taps.step;
    taps.offset = (phase + pad - k * dilation) / stride;
  }
  return taps;
}

// A pad as large as the kernel would make results of padding alone. `reach`: the kernel's size, dilation included.
LogicalResult checkPad(Operation* op, int64_t pad, int64_t reach, int64_t dilation) {
  if (pad < reach) return success();
  return op->emitOpError() << "pad " << pad << " must be smaller than the kernel " << reach << (dilation > 1 ? " (dilated)" : "");
}

}  // namespace

// ---- forward ----------------------------------------------------------------------------------------------------------------
LogicalResult Conv2dOp::inferTypes() {
  FailureOr<TensorType> x = expectRank(*this, 0, 4);
  if (failed(x)) return failure();
  Size2 kernel = getKernel(), stride = getStride(), pad = getPad(), dilation = getDilation();
  int64_t c = x->getDimSize(1), groups = getGroups(), filters = getFilters();
  if (batchAxis(*x) > 0) return emitOpError() << "the batch must be axis 0";
  if (filters < 1) return emitOpError() << "needs at least one filter, got " << filters;
  if (groups < 1 || c % groups != 0 || filters % groups != 0)
    return noteChannels(emitOpError() << groups << " groups do not divide " << c << " channels and " << filters << " filters", getInput());
  int64_t out[2];
  for (int i : {0, 1}) {
    if (kernel[i] < 1 || stride[i] < 1 || dilation[i] < 1 || pad[i] < 0)
      return emitOpError() << "needs kernel, stride and dilation >= 1 and pad >= 0";
    int64_t padded = x->getDimSize(2 + i) + 2 * pad[i], reach = dilation[i] * (kernel[i] - 1) + 1;
    if (failed(checkPad(*this, pad[i], reach, dilation[i]))) return failure();
    if (reach > padded) {
      InFlightDiagnostic error = emitOpError() << "kernel of " << reach << " (dilated) is larger than the padded input of " << padded;
      noteOrigin(error, getInput(), 2 + i, (i == 0 ? "the height " : "the width ") + Twine(x->getDimSize(2 + i)));
      return error;
    }
    out[i] = (padded - reach) / stride[i] + 1;
  }
  Type element = x->getElementType();
  if (failed(setParameter(*this, 1, {filters, c / groups, kernel[0], kernel[1]}, element))) return failure();
  if (getBias() && failed(setParameter(*this, 2, {filters}, element))) return failure();
  setResult(*this, 0, withDims(*x, {x->getDimSize(0), filters, out[0], out[1]}));
  return success();
}

LogicalResult Conv2dOp::buildGradient(GradientBuilder& g) {
  OpBuilder& b = g.builder;
  SmallVector<NamedAttribute> common = {sizes(b, "stride", getStride()), sizes(b, "pad", getPad()), sizes(b, "dilation", getDilation()),
                                        b.getNamedAttr("groups", b.getI64IntegerAttr(getGroups()))};
  if (g.wants(0)) {
    SmallVector<NamedAttribute> attributes = common;
    attributes.push_back(sizes(b, "size", rankedType(getInput()).getShape().take_back(2)));
    g.set(0, g.make<Conv2dBackwardDataOp>({g.dy(), getWeight()}, attributes));
  }
  if (g.wants(1)) {
    SmallVector<NamedAttribute> attributes = common;
    attributes.push_back(sizes(b, "kernel", getKernel()));
    g.set(1, g.make<Conv2dBackwardWeightOp>({getInput(), g.dy()}, attributes));
  }
  if (getBias() && g.wants(2))
    g.set(2, g.make<ReduceSumOp>({g.dy()}, b.getNamedAttr("axes", b.getDenseI64ArrayAttr({0, 2, 3}))));
  return success();
}

LogicalResult Conv2dOp::lower(KernelBuilder& k) {
  TensorType x = rankedType(getInput()), y = rankedType(getOutput());
  Size2 kernel = getKernel(), stride = getStride(), pad = getPad(), dilation = getDilation();
  int64_t groups = getGroups(), perIn = x.getDimSize(1) / groups, perOut = y.getDimSize(1) / groups;
  Contract c{getOutput(), getInput(), getWeight()};
  c.parallel = {extentOf(y, 0), {groups, 0}, {perOut, 0}, extentOf(y, 2), extentOf(y, 3)};
  c.reduction = {{perIn, 0}, {kernel[0], 0}, {kernel[1], 0}};
  c.vector = perOut == 1 ? 1 : 2;
  c.lhsAt = [=](At p, At r) {
    return Indices{p[0], p[1] * perIn + r[0], p[3] * stride[0] + r[1] * dilation[0] - pad[0], p[4] * stride[1] + r[2] * dilation[1] - pad[1]};
  };
  c.rhsAt = [=](At p, At r) { return Indices{p[1] * perOut + p[2], r[0], r[1], r[2]}; };
  c.resultAt = [=](At p) { return Indices{p[0], p[1] * perOut + p[2], p[3], p[4]}; };
  if (getBias()) c.epilogue = [&, perOut](At p, Value sum) { return k.body().add(sum, k.load(getBias(), p[1] * perOut + p[2])); };
  k.contract(c);
  return success();
}

PaperFacts Conv2dOp::paperFacts(BackwardReads) {
  PaperFacts facts = PaperFacts::unknown((*this)->getResults());
  facts.readsWrites.clear();
  return facts;
}
bool Conv2dOp::canOverwrite(unsigned, unsigned) { return false; }
TensorType Conv2dOp::wantedOperandType(unsigned operand, int64_t lanes) {
  TensorType type = rankedType(getOperand(operand));
  if (operand == 0) return channelBlocks(type, lanes);
  if (operand == 1) return withLayout(type, {0, 1, 2, 3}, 0, lanes);
  return plain(type);
}
TensorType Conv2dOp::wantedResultType(unsigned, int64_t lanes) { return channelBlocks(rankedType(getOutput()), lanes); }

// ---- transpose ----------------------------------------------------------------------------------------------------------------
LogicalResult Conv2dTransposeOp::inferTypes() {
  FailureOr<TensorType> x = expectRank(*this, 0, 4);
  if (failed(x)) return failure();
  Size2 kernel = getKernel(), stride = getStride(), pad = getPad(), dilation = getDilation(), extra = getExtra();
  int64_t c = x->getDimSize(1), groups = getGroups(), filters = getFilters();
  if (batchAxis(*x) > 0) return emitOpError() << "the batch must be axis 0";
  if (filters < 1) return emitOpError() << "needs at least one filter, got " << filters;
  if (groups < 1 || c % groups != 0 || filters % groups != 0)
    return emitOpError() << groups << " groups do not divide " << c << " channels and " << filters << " filters";
  int64_t out[2];
  for (int i : {0, 1}) {
    if (kernel[i] < 1 || stride[i] < 1 || dilation[i] < 1 || pad[i] < 0 || extra[i] < 0)
      return emitOpError() << "needs kernel, stride and dilation >= 1, pad and extra >= 0";
    if (failed(checkPad(*this, pad[i], dilation[i] * (kernel[i] - 1) + 1, dilation[i]))) return failure();
    if (extra[i] >= stride[i]) return emitOpError() << "extra " << extra[i] << " must be smaller than the stride " << stride[i];
    out[i] = (x->getDimSize(2 + i) - 1) * stride[i] - 2 * pad[i] + dilation[i] * (kernel[i] - 1) + 1 + extra[i];
    if (out[i] >= 1) continue;
    InFlightDiagnostic error = emitOpError() << "leaves an output of size " << out[i];
    error.attachNote(getInput().getLoc()) << "input " << shapeText(*x) << " comes from here";
    return error;
  }
  Type element = x->getElementType();
  if (failed(setParameter(*this, 1, {c, filters / groups, kernel[0], kernel[1]}, element))) return failure();
  if (getBias() && failed(setParameter(*this, 2, {filters}, element))) return failure();
  setResult(*this, 0, withDims(*x, {x->getDimSize(0), filters, out[0], out[1]}));
  return success();
}
SmallVector<Value> Conv2dTransposeOp::decompose(OpBuilder& b) {
  Value y = make<Conv2dBackwardDataOp>(b, getLoc(), {getInput(), getWeight()},
                                       {sizes(b, "size", rankedType(getOutput()).getShape().take_back(2)), sizes(b, "stride", getStride()),
                                        sizes(b, "pad", getPad()), sizes(b, "dilation", getDilation()),
                                        b.getNamedAttr("groups", b.getI64IntegerAttr(getGroups()))});
  if (!getBias()) return {y};
  Value bias = make<ReshapeOp>(b, getLoc(), {getBias()}, sizes(b, "shape", {static_cast<int64_t>(getFilters()), 1, 1}));
  return {make<AddOp>(b, getLoc(), {y, bias})};
}

// ---- gradient of the input --------------------------------------------------------------------------------------------------
LogicalResult Conv2dBackwardDataOp::inferTypes() {
  FailureOr<TensorType> dy = expectRank(*this, 0, 4), w = expectRank(*this, 1, 4);
  if (failed(dy) || failed(w)) return failure();
  setResult(*this, 0, withDims(*dy, {dy->getDimSize(0), w->getDimSize(1) * static_cast<int64_t>(getGroups()), getSize()[0], getSize()[1]}));
  return success();
}

// Bilinear in dy and weight: its own gradients are a convolution and a weight gradient.
LogicalResult Conv2dBackwardDataOp::buildGradient(GradientBuilder& g) {
  OpBuilder& b = g.builder;
  TensorType w = rankedType(getWeight());
  SmallVector<NamedAttribute> common = {sizes(b, "stride", getStride()), sizes(b, "pad", getPad()), sizes(b, "dilation", getDilation()),
                                        b.getNamedAttr("groups", b.getI64IntegerAttr(getGroups())), sizes(b, "kernel", w.getShape().take_back(2))};
  if (g.wants(0)) {
    SmallVector<NamedAttribute> attributes = common;
    attributes.push_back(b.getNamedAttr("filters", b.getI64IntegerAttr(w.getDimSize(0))));
    g.set(0, g.make<Conv2dOp>({g.dy(), getWeight()}, attributes));
  }
  if (g.wants(1)) g.set(1, g.make<Conv2dBackwardWeightOp>({g.dy(), getDy()}, common));
  return success();
}

LogicalResult Conv2dBackwardDataOp::lower(KernelBuilder& k) {
  TensorType dx = rankedType(getOutput()), w = rankedType(getWeight());
  int64_t groups = getGroups(), perIn = w.getDimSize(1), perOut = w.getDimSize(0) / groups;
  Size2 stride = getStride(), pad = getPad(), dilation = getDilation();
  for (int64_t ph = 0; ph < std::min(stride[0], dx.getDimSize(2)); ++ph) {
    for (int64_t pw = 0; pw < std::min(stride[1], dx.getDimSize(3)); ++pw) {
      Taps th = tapsOf(ph, w.getDimSize(2), stride[0], pad[0], dilation[0]);
      Taps tw = tapsOf(pw, w.getDimSize(3), stride[1], pad[1], dilation[1]);
      int64_t rows = (dx.getDimSize(2) - ph + stride[0] - 1) / stride[0], columns = (dx.getDimSize(3) - pw + stride[1] - 1) / stride[1];
      Contract c{getOutput(), getDy(), getWeight()};
      c.parallel = {extentOf(dx, 0), {groups, 0}, {perIn, 0}, {rows, 0}, {columns, 0}};
      c.reduction = {{perOut, 0}, {th.count, 0}, {tw.count, 0}};
      c.vector = perIn == 1 ? 1 : 2;
      c.lhsAt = [=](At p, At r) {
        return Indices{p[0], p[1] * perOut + r[0], p[3] + Index(th.offset) - r[1] * th.slope, p[4] + Index(tw.offset) - r[2] * tw.slope};
      };
      c.rhsAt = [=](At p, At r) {
        return Indices{p[1] * perOut + r[0], p[2], r[1] * th.step + Index(th.first), r[2] * tw.step + Index(tw.first)};
      };
      c.resultAt = [=](At p) {
        return Indices{p[0], p[1] * perIn + p[2], p[3] * stride[0] + Index(ph), p[4] * stride[1] + Index(pw)};
      };
      k.contract(c);
    }
  }
  return success();
}

bool Conv2dBackwardDataOp::canOverwrite(unsigned, unsigned) { return false; }
TensorType Conv2dBackwardDataOp::wantedOperandType(unsigned operand, int64_t lanes) {
  TensorType type = rankedType(getOperand(operand));
  if (operand == 0) return channelBlocks(type, lanes);
  return withLayout(type, {1, 0, 2, 3}, 1, lanes);
}
TensorType Conv2dBackwardDataOp::wantedResultType(unsigned, int64_t lanes) { return channelBlocks(rankedType(getOutput()), lanes); }

// ---- gradient of the weight -------------------------------------------------------------------------------------------------
LogicalResult Conv2dBackwardWeightOp::inferTypes() {
  FailureOr<TensorType> x = expectRank(*this, 0, 4), dy = expectRank(*this, 1, 4);
  if (failed(x) || failed(dy)) return failure();
  setResult(*this, 0, tensorType({dy->getDimSize(1), x->getDimSize(1) / static_cast<int64_t>(getGroups()), getKernel()[0], getKernel()[1]},
                                 x->getElementType()));
  return success();
}

LogicalResult Conv2dBackwardWeightOp::buildGradient(GradientBuilder& g) {
  OpBuilder& b = g.builder;
  TensorType x = rankedType(getInput()), dy = rankedType(getDy());
  SmallVector<NamedAttribute> common = {sizes(b, "stride", getStride()), sizes(b, "pad", getPad()), sizes(b, "dilation", getDilation()),
                                        b.getNamedAttr("groups", b.getI64IntegerAttr(getGroups()))};
  if (g.wants(0)) {
    SmallVector<NamedAttribute> attributes = common;
    attributes.push_back(sizes(b, "size", x.getShape().take_back(2)));
    g.set(0, g.make<Conv2dBackwardDataOp>({getDy(), g.dy()}, attributes));
  }
  if (g.wants(1)) {
    SmallVector<NamedAttribute> attributes = common;
    attributes.push_back(sizes(b, "kernel", getKernel()));
    attributes.push_back(b.getNamedAttr("filters", b.getI64IntegerAttr(dy.getDimSize(1))));
    g.set(1, g.make<Conv2dOp>({getInput(), g.dy()}, attributes));
  }
  return success();
}

LogicalResult Conv2dBackwardWeightOp::lower(KernelBuilder& k) {
  TensorType x = rankedType(getInput()), dy = rankedType(getDy());
  Size2 kernel = getKernel(), stride = getStride(), pad = getPad(), dilation = getDilation();
  int64_t groups = getGroups(), perIn = x.getDimSize(1) / groups, perOut = dy.getDimSize(1) / groups;
  Contract c{getOutput(), getInput(), getDy()};
  c.parallel = {{groups, 0}, {perOut, 0}, {perIn, 0}, {kernel[0], 0}, {kernel[1], 0}};
  c.reduction = {extentOf(dy, 0), extentOf(dy, 2), extentOf(dy, 3)};
  c.vector = perOut == 1 ? 0 : 1;
  c.lhsAt = [=](At p, At r) {
    return Indices{r[0], p[0] * perIn + p[2], r[1] * stride[0] + p[3] * dilation[0] - pad[0], r[2] * stride[1] + p[4] * dilation[1] - pad[1]};
  };
  c.rhsAt = [=](At p, At r) { return Indices{r[0], p[0] * perOut + p[1], r[1], r[2]}; };
  c.resultAt = [=](At p) { return Indices{p[0] * perOut + p[1], p[2], p[3], p[4]}; };
  k.contract(c);
  return success();
}

bool Conv2dBackwardWeightOp::canOverwrite(unsigned, unsigned) { return false; }
TensorType Conv2dBackwardWeightOp::wantedOperandType(unsigned operand, int64_t lanes) {
  return channelBlocks(rankedType(getOperand(operand)), lanes);
}
TensorType Conv2dBackwardWeightOp::wantedResultType(unsigned, int64_t lanes) {
  return withLayout(rankedType(getOutput()), {0, 1, 2, 3}, 0, lanes);
}

}  // namespace mxc::mx

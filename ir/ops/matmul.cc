// dense and matmul are the same contraction; dense adds its bias as the sum is stored.
#include "ir/ops/matmul.h"

#include "ir/ops/reduce.h"
#include "ir/origin.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "ir/ops/matmul.cc.inc"

namespace mxc::mx {

void registerFamily_matmul(MxDialect& dialect) {
  dialect.registerOps<
#define GET_OP_LIST
#include "ir/ops/matmul.cc.inc"
      >();
}

namespace {

// `type` so that `axis` lies innermost in blocks of `lanes`, with the axes `before` it outermost: what the vector side of a
// contraction reads straight through.
TensorType panels(TensorType type, int64_t axis, int64_t lanes) {
  SmallVector<int64_t> order;
  int64_t rank = type.getRank();
  for (int64_t i = 0; i < rank - 2; ++i) order.push_back(i);
  order.push_back(axis);
  order.push_back(axis == rank - 1 ? rank - 2 : rank - 1);
  return withLayout(type, order, axis, lanes);
}

// A product whose result has its rows innermost (the gradient of a packed weight) runs its vectors over them: operands change sides.
bool runsAlongRows(TensorType result) { return result.getRank() >= 2 && layoutOf(result).innermost() == result.getRank() - 2; }

InFlightDiagnostic noteInnerSizes(InFlightDiagnostic error, Value a, int64_t axisA, Value b, int64_t axisB) {
  noteOrigin(error, a, axisA, "the " + Twine(rankedType(a).getDimSize(axisA)));
  noteOrigin(error, b, axisB, "the " + Twine(rankedType(b).getDimSize(axisB)));
  return error;
}

NamedAttribute flag(OpBuilder& b, StringRef name, bool value) { return b.getNamedAttr(name, b.getBoolAttr(value)); }

}  // namespace

// ---- dense ------------------------------------------------------------------------------------------------------------------
LogicalResult DenseOp::inferTypes() {
  FailureOr<TensorType> input = expectRank(*this, 0, 2);
  if (failed(input)) return failure();
  if (auto units = static_cast<int64_t>(getUnits()); units < 1) return emitOpError() << "needs at least one unit, got " << units;
  if (batchAxis(*input) == 1) return emitOpError() << "the batch cannot be the features axis";
  Type element = input->getElementType();
  if (failed(setParameter(*this, 1, {static_cast<int64_t>(getUnits()), input->getDimSize(1)}, element))) return failure();
  if (getBias() && failed(setParameter(*this, 2, {static_cast<int64_t>(getUnits())}, element))) return failure();
  setResult(*this, 0, withDims(*input, {input->getDimSize(0), static_cast<int64_t>(getUnits())}));
  return success();
}

LogicalResult DenseOp::buildGradient(GradientBuilder& g) {
  OpBuilder& b = g.builder;
  if (g.wants(0)) g.set(0, g.make<MatmulOp>({g.dy(), getWeight()}));
  if (g.wants(1)) g.set(1, g.make<MatmulOp>({g.dy(), getInput()}, flag(b, "transpose_a", true)));
  if (getBias() && g.wants(2))
    g.set(2, g.make<ReduceSumOp>({g.dy()}, b.getNamedAttr("axes", b.getDenseI64ArrayAttr({0}))));
  return success();
}

LogicalResult DenseOp::lower(KernelBuilder& k) {
  TensorType input = rankedType(getInput());
  Contract c{getOutput(), getInput(), getWeight()};
  c.parallel = {extentOf(input, 0), {static_cast<int64_t>(getUnits()), 0}};
  c.reduction = {extentOf(input, 1)};
  c.vector = 1;
  c.lhsAt = [](At p, At r) { return Indices{p[0], r[0]}; };
  c.rhsAt = [](At p, At r) { return Indices{p[1], r[0]}; };
  c.resultAt = [](At p) { return Indices{p[0], p[1]}; };
  if (getBias()) c.epilogue = [&](At p, Value sum) { return k.body().add(sum, k.load(getBias(), p[1])); };
  k.contract(c);
  return success();
}

// The gradient of the input is written after that of the weight has read the input.
PaperFacts DenseOp::paperFacts(BackwardReads) {
  PaperFacts facts = PaperFacts::unknown((*this)->getResults());
  facts.readsWrites.clear();
  facts.overOperand = true;
  return facts;
}
bool DenseOp::canOverwrite(unsigned, unsigned) { return false; }

TensorType DenseOp::wantedOperandType(unsigned operand, int64_t lanes) {
  TensorType type = rankedType(getOperand(operand));
  return operand == 1 ? panels(type, 0, lanes) : plain(type);
}
TensorType DenseOp::wantedResultType(unsigned, int64_t) { return plain(rankedType(getOutput())); }

// ---- matmul -----------------------------------------------------------------------------------------------------------------
LogicalResult MatmulOp::inferTypes() {
  FailureOr<TensorType> a = expectRank(*this, 0, -1), b = expectRank(*this, 1, -1);
  if (failed(a) || failed(b)) return failure();
  if (a->getRank() < 2 || b->getRank() < 2)
    return emitOpError() << "expects at least 2-D inputs, got " << shapeText(*a) << " and " << shapeText(*b);
  if (a->getElementType() != b->getElementType())
    return emitOpError() << "mixes element types " << a->getElementType() << " and " << b->getElementType();
  if (!isa<FloatType>(a->getElementType())) return emitOpError() << "expects floating-point inputs, got " << a->getElementType();
  int64_t ra = a->getRank(), rb = b->getRank();
  int64_t m = getTransposeA() ? ra - 1 : ra - 2, ka = getTransposeA() ? ra - 2 : ra - 1;
  int64_t kb = getTransposeB() ? rb - 1 : rb - 2, n = getTransposeB() ? rb - 2 : rb - 1;
  if (a->getDimSize(ka) != b->getDimSize(kb) || (batchAxis(*a) == ka) != (batchAxis(*b) == kb))
    return noteInnerSizes(emitOpError() << "inner sizes differ: " << shapeText(*a) << (getTransposeA() ? " transposed" : "") << " times "
                                        << shapeText(*b) << (getTransposeB() ? " transposed" : ""),
                          getA(), ka, getB(), kb);
  // The leading axes broadcast; m and n join them.
  auto leading = [](TensorType t) {
    int64_t rank = t.getRank() - 2, batch = batchAxis(t);
    return tensorType(t.getShape().take_front(rank), t.getElementType(), batch < rank ? batch : -1,
                      std::max<int64_t>(1, batchUnit(t)));
  };
  FailureOr<TensorType> lead = broadcast(*this, leading(*a), leading(*b));
  if (failed(lead)) return failure();
  SmallVector<int64_t> dims(lead->getShape());
  int64_t rank = lead->getRank() + 2, batch = batchAxis(*lead), unit = batchUnit(*lead);
  dims.push_back(a->getDimSize(m));
  dims.push_back(b->getDimSize(n));
  if (batchAxis(*a) == m) batch = rank - 2, unit = batchUnit(*a);
  if (batchAxis(*b) == n) batch = rank - 1, unit = batchUnit(*b);
  if ((batchAxis(*lead) >= 0) + (batchAxis(*a) == m) + (batchAxis(*b) == n) > 1)
    return emitOpError() << "would have the batch on two axes of its result";
  setResult(*this, 0, tensorType(dims, a->getElementType(), batch, std::max<int64_t>(1, unit)));
  return success();
}

LogicalResult MatmulOp::buildGradient(GradientBuilder& g) {
  OpBuilder& b = g.builder;
  bool ta = getTransposeA(), tb = getTransposeB();
  auto product = [&](Value x, bool tx, Value y, bool ty) {
    return g.make<MatmulOp>({x, y}, {flag(b, "transpose_a", tx), flag(b, "transpose_b", ty)});
  };
  Value dy = g.dy();
  if (g.wants(0)) g.set(0, ta ? product(getB(), tb, dy, true) : product(dy, false, getB(), !tb));
  if (g.wants(1)) g.set(1, tb ? product(dy, true, getA(), ta) : product(getA(), !ta, dy, false));
  return success();
}

LogicalResult MatmulOp::lower(KernelBuilder& k) {
  TensorType a = rankedType(getA()), b = rankedType(getB()), y = rankedType(getOutput());
  int64_t rank = y.getRank();
  bool ta = getTransposeA(), tb = getTransposeB();
  Contract c{getOutput(), getA(), getB()};
  for (int64_t axis = 0; axis < rank; ++axis) c.parallel.push_back(extentOf(y, axis));
  c.reduction = {extentOf(a, ta ? a.getRank() - 2 : a.getRank() - 1)};
  c.vector = rank - 1;
  auto operandAt = [rank](TensorType type, At p, Index row, Index column, bool transposed) {
    Indices at = broadcastAt(tensorType(type.getShape().drop_back(2), type.getElementType(),
                                        batchAxis(type) < type.getRank() - 2 ? batchAxis(type) : -1,
                                        std::max<int64_t>(1, batchUnit(type))),
                             p.take_front(rank - 2));
    at.push_back(transposed ? column : row);
    at.push_back(transposed ? row : column);
    return at;
  };
  c.lhsAt = [=](At p, At r) { return operandAt(a, p, p[rank - 2], r[0], ta); };
  c.rhsAt = [=](At p, At r) { return operandAt(b, p, r[0], p[rank - 1], tb); };
  if (runsAlongRows(y)) {
    std::swap(c.lhs, c.rhs);
    std::swap(c.lhsAt, c.rhsAt);
    c.vector = rank - 2;
  }
  c.resultAt = [](At p) { return Indices(p); };
  k.contract(c);
  return success();
}

bool MatmulOp::canOverwrite(unsigned, unsigned) { return false; }

TensorType MatmulOp::wantedOperandType(unsigned operand, int64_t lanes) {
  TensorType type = rankedType(getOperand(operand));
  bool rows = runsAlongRows(rankedType(getOutput()));
  if (operand == (rows ? 1 : 0)) return plain(type);
  bool contiguous = rows ? getTransposeA() : !getTransposeB();
  int64_t axis = contiguous ? type.getRank() - 1 : type.getRank() - 2;
  // Row-major is as good where a row is short enough to be read straight through.
  if (contiguous && type.getDimSize(axis) <= 4 * lanes) return plain(type);
  return panels(type, axis, lanes);
}
TensorType MatmulOp::wantedResultType(unsigned, int64_t) { return plain(rankedType(getOutput())); }

}  // namespace mxc::mx

// Initial values that elements do not find each on its own, or that follow from their place.
#include "ir/ops/initial.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "ir/ops/initial.cc.inc"

namespace mxc::mx {

void registerFamily_initial(MxDialect& dialect) {
  dialect.registerOps<
#define GET_OP_LIST
#include "ir/ops/initial.cc.inc"
      >();
}

LogicalResult OrthonormaliseOp::inferTypes() {
  FailureOr<TensorType> type = expectRank(*this, 0, 2);
  if (failed(type)) return failure();
  return setResult(*this, 0, plain(*type)), success();
}
LogicalResult OrthonormaliseOp::buildGradient(GradientBuilder&) { return failure(); }
bool OrthonormaliseOp::canOverwrite(unsigned, unsigned) { return false; }

// One after the other, each row loses its parts along the rows before, twice because the first time leaves rounding errors in
// proportion to what was removed; then it is scaled to length 1.
LogicalResult OrthonormaliseOp::lower(KernelBuilder& k) {
  TensorType type = rankedType(getOutput());
  Extent columns = extentOf(type, 1);
  Type index = IndexType::get(getContext());
  k.rows({}, [&](At) {
    auto back = [&](Index row, Index column) { return k.loadBack(getOutput(), {row, column}); };
    k.fold({}, {Range(extentOf(type, 0))}, [&](At i, ValueRange) {
      k.each({columns}, [&](At c) { k.store(getOutput(), {i[0], c[0]}, k.load(getInput(), {i[0], c[0]})); });
      Body b = k.body();
      Value zero = b.builder.create<arith::ConstantOp>(b.loc, index, b.builder.getIndexAttr(0));
      for (int pass = 0; pass < 2; ++pass) {
        k.fold({}, {Range(zero, k.scalar(i[0]))}, [&](At j, ValueRange) {
          Value along = k.reduce1(Combine::sum, {columns}, [&](At c) {
            Value x = back(i[0], c[0]), y = back(j[0], c[0]);
            return k.body().mul(x, y);
          });
          k.each({columns}, [&](At c) {
            Value other = back(j[0], c[0]);
            k.accumulate(getOutput(), {i[0], c[0]}, k.body().neg(k.body().mul(along, other)));
          });
          return SmallVector<Value>{};
        });
      }
      Value square = k.reduce1(Combine::sum, {columns}, [&](At c) {
        Value x = back(i[0], c[0]);
        return k.body().mul(x, x);
      });
      Value scale = k.body().rsqrt(square);
      k.each({columns}, [&](At c) {
        Value x = back(i[0], c[0]);
        k.store(getOutput(), {i[0], c[0]}, k.body().mul(x, scale));
      });
      return SmallVector<Value>{};
    });
  });
  return success();
}

LogicalResult BilinearKernelOp::inferTypes() { return setResult(*this, 0, cast<RankedTensorType>(getTo())), success(); }
LogicalResult BilinearKernelOp::buildGradient(GradientBuilder&) { return success(); }
bool BilinearKernelOp::canOverwrite(unsigned, unsigned) { return false; }

// Along an axis of size s: 1 - |i / f - c| with f = ceil(s / 2), c = (2 f - 1 - f mod 2) / (2 f).
LogicalResult BilinearKernelOp::lower(KernelBuilder& k) {
  TensorType type = rankedType(getOutput());
  Type element = type.getElementType();
  auto triangle = [&](Index at, int64_t size) {
    double factor = static_cast<double>((size + 1) / 2), centre = (2 * factor - 1 - static_cast<double>((size + 1) / 2 % 2)) / (2 * factor);
    Value place = k.position(at);
    Body b = k.body();
    Value distance = b.sub(b.div(b.cast(place, element), b.constant(factor, element)), b.constant(centre, element));
    return b.sub(b.constant(1, element), b.abs(distance));
  };
  int64_t rank = type.getRank();
  k.forall(getOutput(), [&](At p) {
    Value high = triangle(p[rank - 2], type.getDimSize(rank - 2)), wide = triangle(p[rank - 1], type.getDimSize(rank - 1));
    k.store(getOutput(), p, k.body().mul(high, wide));
  });
  return success();
}

}  // namespace mxc::mx

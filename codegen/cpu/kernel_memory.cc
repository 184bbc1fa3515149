// Elements of the CPU's KernelBuilder: addresses, loads and stores, and the fused elementwise ops that are computed at them.
#include "codegen/cpu/kernel_builder.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace mxc::codegen {
namespace {

// Booleans and unsigned bytes lie in memory as bytes.
bool isByte(Type element) { return element.isInteger(1) || element.isUnsignedInteger(8); }
Type memoryType(Type element) { return isByte(element) ? IntegerType::get(element.getContext(), 8) : element; }

int64_t floorDiv(int64_t a, int64_t b) { return (a >= 0 ? a : a - b + 1) / b; }

}  // namespace

// ---- Indices ------------------------------------------------------------------------------------------------------------------

bool CpuKernelBuilder::variesByLane(const Index& index) const {
  return llvm::any_of(index.terms, [&](Index::Term t) { return t.loop == laneLoop_; });
}

Index CpuKernelBuilder::lane(const Index& index, int64_t lane) const {
  Index fixed = index;
  fixed.terms.clear();
  for (Index::Term t : index.terms) {
    if (t.loop == laneLoop_) fixed.constant += t.coeff * lane;
    else fixed.terms.push_back(t);
  }
  return fixed;
}

// The smallest and largest value; `known` turns false if a part is only known at run time.
std::pair<int64_t, int64_t> CpuKernelBuilder::rangeOf(const Index& index, bool& known) const {
  int64_t lo = index.constant, hi = index.constant;
  if (index.opaque) known = false;
  for (Index::Term t : index.terms) {
    int64_t size = loops_[t.loop].size;
    if (size < 0) known = false;
    (t.coeff > 0 ? hi : lo) += t.coeff * (size - 1);
  }
  return {lo, hi};
}

// Terms are added outer loops first, so that what does not change in an inner loop is a subexpression.
Value CpuKernelBuilder::valueOf(const Index& index) {
  Value sum;
  auto add = [&](Value v) { sum = sum ? b_.create<arith::AddIOp>(loc_, sum, v).getResult() : v; };
  if (index.opaque) add(b_.create<arith::IndexCastOp>(loc_, b_.getI64Type(), index.opaque));
  for (Index::Term t : index.terms) {
    if (t.loop == laneLoop_) continue;
    Value counter = loops_[t.loop].value;
    add(t.coeff == 1 ? counter : b_.create<arith::MulIOp>(loc_, counter, constant(t.coeff)).getResult());
  }
  if (!sum) return constant(index.constant);
  if (index.constant != 0) add(constant(index.constant));
  return sum;
}

Value CpuKernelBuilder::scalar(const Index& index) {
  return b_.create<arith::IndexCastOp>(loc_, b_.getIndexType(), valueOf(index));
}

Index CpuKernelBuilder::indexFrom(Value integer, int64_t bound) {
  Value wide = body().cast(integer, b_.getI64Type());
  Value inside = b_.create<arith::MaxSIOp>(loc_, b_.create<arith::MinSIOp>(loc_, wide, constant(bound - 1)), constant(0));
  return indexOf(b_.create<arith::IndexCastOp>(loc_, b_.getIndexType(), inside));
}

Value CpuKernelBuilder::position(const Index& index) {
  Value base = valueOf(index);
  if (!vector_) return base;
  auto type = VectorType::get({vector_}, b_.getI64Type());
  Value spread = b_.create<vector::BroadcastOp>(loc_, type, base);
  int64_t coeff = 0;
  for (Index::Term t : index.terms)
    if (t.loop == laneLoop_) coeff = t.coeff;
  if (coeff == 0) return spread;
  SmallVector<int64_t> steps;
  for (int64_t i = 0; i < vector_; ++i) steps.push_back(i * coeff);
  Value lanes = b_.create<arith::ConstantOp>(loc_, DenseElementsAttr::get(type, ArrayRef<int64_t>(steps)));
  return b_.create<arith::AddIOp>(loc_, spread, lanes);
}

Value CpuKernelBuilder::size(Extent extent) {
  return b_.create<arith::IndexCastOp>(loc_, b_.getIndexType(), extentValue(extent));
}

Value CpuKernelBuilder::count(ArrayRef<Extent> extents, Type element) {
  Value product = constant(1);
  if (carried_ >= 0) carriedFrom_ = {};  // a carried reduction knows only its last run: it is none
  for (Extent e : extents) product = b_.create<arith::MulIOp>(loc_, product, extentValue(e));
  return body().cast(product, element);
}

Value CpuKernelBuilder::elementNumber(Value tensor, At at) {
  TensorType type = rankedType(tensor);
  Index number;
  int64_t stride = 1;
  for (int64_t axis = type.getRank() - 1; axis >= 0; --axis) {
    number = number + at[axis] * stride;
    stride *= type.getDimSize(axis);
  }
  return position(number);
}

// ---- Addresses ----------------------------------------------------------------------------------------------------------------

CpuKernelBuilder::Offset CpuKernelBuilder::offsetOf(TensorType type, At at) {
  Layout layout = layoutOf(type);
  Offset offset;
  auto add = [&](Index index, int64_t stride) {
    if (index.opaque) {
      offset.computed.push_back({index.opaque, stride});
      index.opaque = Value();
    }
    offset.index = offset.index + index * stride;
  };
  for (int64_t axis = 0; axis < type.getRank(); ++axis) {
    Index e = at[axis];
    if (axis != layout.blockAxis) {
      add(e, layout.strides[axis]);
      continue;
    }
    // e = block * which + place: by terms if the rest stays inside a block, else by division.
    Index which, place;
    which.constant = floorDiv(e.constant, layout.block);
    place.constant = e.constant - which.constant * layout.block;
    for (Index::Term t : e.terms)
      (t.coeff % layout.block == 0 ? which : place).terms.push_back({t.loop, t.coeff % layout.block == 0 ? t.coeff / layout.block : t.coeff});
    bool known = !e.opaque;
    auto [lo, hi] = rangeOf(place, known);
    if (!known || lo < 0 || hi >= layout.block) {
      Value value = valueOf(e), block = constant(layout.block);
      which = indexOf(b_.create<arith::IndexCastOp>(loc_, b_.getIndexType(), b_.create<arith::DivUIOp>(loc_, value, block)));
      place = indexOf(b_.create<arith::IndexCastOp>(loc_, b_.getIndexType(), b_.create<arith::RemUIOp>(loc_, value, block)));
    }
    add(which, layout.strides[axis]);
    add(place, 1);
  }
  return offset;
}

// The distance in elements between the lanes of an access; -1 if it is not the same for all.
int64_t CpuKernelBuilder::laneStride(const Offset& offset) const {
  for (Index::Term t : offset.index.terms)
    if (t.loop == laneLoop_) return t.coeff;
  return 0;
}

Value CpuKernelBuilder::pointer(unsigned slot, TensorType type, const Offset& offset, int64_t laneNumber) {
  Type element = memoryType(type.getElementType()), pointerType = LLVM::LLVMPointerType::get(b_.getContext());
  Index index = lane(offset.index, laneNumber);
  int64_t fixed = index.constant;
  index.constant = 0;
  Value place = pointers_[slot];
  Value sum;
  for (auto [value, factor] : offset.computed) {
    Value wide = b_.create<arith::IndexCastOp>(loc_, b_.getI64Type(), value);
    Value product = b_.create<arith::MulIOp>(loc_, wide, constant(factor));
    sum = sum ? b_.create<arith::AddIOp>(loc_, sum, product).getResult() : product;
  }
  if (!index.terms.empty()) {
    Value linear = valueOf(index);
    sum = sum ? b_.create<arith::AddIOp>(loc_, linear, sum).getResult() : linear;
  }
  if (sum) place = b_.create<LLVM::GEPOp>(loc_, pointerType, element, place, ArrayRef<LLVM::GEPArg>{sum});
  if (fixed != 0) place = b_.create<LLVM::GEPOp>(loc_, pointerType, element, place, ArrayRef<LLVM::GEPArg>{constant(fixed)});
  return place;
}

Value CpuKernelBuilder::address(Value tensor, At at) {
  TensorType type = rankedType(tensor);
  unsigned slot = 0;
  if (auto it = slots_.find(tensor); it != slots_.end()) slot = it->second;
  else
    for (auto [value, s] : yields_)
      if (value == tensor) slot = s;
  return pointer(slot, type, offsetOf(type, at), 0);
}

// ---- Memory -------------------------------------------------------------------------------------------------------------------

Value CpuKernelBuilder::loadMemory(unsigned slot, TensorType type, At at) {
  Type element = type.getElementType(), stored = memoryType(element);
  int64_t alignment = elementBytes(stored);
  auto fromMemory = [&](Value v) -> Value {
    if (element.isInteger(1)) return body().ne(v, body().constant(0, v));
    if (valueType(element) == element) return v;
    Type wide = vector_ ? Type(VectorType::get({vector_}, valueType(element))) : valueType(element);
    if (isFloat(v)) return b_.create<arith::ExtFOp>(loc_, wide, v);
    return b_.create<arith::ExtUIOp>(loc_, wide, v);
  };
  bool irregular = false;
  Layout layout = layoutOf(type);
  if (vector_ && layout.blockAxis >= 0 && variesByLane(at[layout.blockAxis])) {
    // Lanes that cross a block have no common stride.
    Index place = at[layout.blockAxis];
    SmallVector<Index::Term, 4> kept;
    for (Index::Term t : place.terms)
      if (t.coeff % layout.block != 0) kept.push_back(t);
    place.terms = kept;
    place.constant -= floorDiv(place.constant, layout.block) * layout.block;
    bool known = !place.opaque;
    auto [lo, hi] = rangeOf(place, known);
    irregular = !known || lo < 0 || hi >= layout.block;
  }
  if (!vector_) return fromMemory(b_.create<LLVM::LoadOp>(loc_, stored, pointer(slot, type, offsetOf(type, at), 0), alignment));
  auto vectorType = VectorType::get({vector_}, stored);
  if (!irregular) {
    Offset offset = offsetOf(type, at);
    int64_t stride = laneStride(offset);
    if (stride == 0) {
      Value one = b_.create<LLVM::LoadOp>(loc_, stored, pointer(slot, type, offset, 0), alignment);
      return fromMemory(b_.create<vector::BroadcastOp>(loc_, vectorType, one));
    }
    if (stride == 1) return fromMemory(b_.create<LLVM::LoadOp>(loc_, vectorType, pointer(slot, type, offset, 0), alignment));
  }
  Value gathered = b_.create<arith::ConstantOp>(loc_, b_.getZeroAttr(vectorType));
  for (int64_t i = 0; i < vector_; ++i) {
    Indices one;
    for (const Index& index : at) one.push_back(lane(index, i));
    Value element = b_.create<LLVM::LoadOp>(loc_, stored, pointer(slot, type, offsetOf(type, one), 0), alignment);
    gathered = b_.create<vector::InsertOp>(loc_, element, gathered, ArrayRef<int64_t>{i});
  }
  return fromMemory(gathered);
}

void CpuKernelBuilder::storeMemory(unsigned slot, TensorType type, At at, Value value) {
  Type element = type.getElementType(), stored = memoryType(element);
  int64_t alignment = elementBytes(stored);
  if (stored != element) {
    value = body().cast(value, stored);
  } else if (valueType(element) != element) {
    auto vector = dyn_cast<VectorType>(value.getType());
    value = b_.create<arith::TruncFOp>(loc_, vector ? Type(VectorType::get(vector.getShape(), stored)) : stored, value);
  }
  if (!vector_) {
    b_.create<LLVM::StoreOp>(loc_, value, pointer(slot, type, offsetOf(type, at), 0), alignment);
    return;
  }
  if (!isa<VectorType>(value.getType())) value = b_.create<vector::BroadcastOp>(loc_, VectorType::get({vector_}, stored), value);
  Layout layout = layoutOf(type);
  bool divides = layout.blockAxis < 0 || !variesByLane(at[layout.blockAxis]);
  Offset offset = offsetOf(type, at);
  int64_t stride = laneStride(offset);
  // A division in the offset hides the lanes: then they are stored one by one.
  if (stride == 1 && (divides || offset.computed.empty())) {
    b_.create<LLVM::StoreOp>(loc_, value, pointer(slot, type, offset, 0), alignment);
    return;
  }
  for (int64_t i = 0; i < vector_; ++i) {
    Indices one;
    for (const Index& index : at) one.push_back(lane(index, i));
    Value scalarValue = b_.create<vector::ExtractOp>(loc_, value, ArrayRef<int64_t>{i});
    b_.create<LLVM::StoreOp>(loc_, scalarValue, pointer(slot, type, offsetOf(type, one), 0), alignment);
  }
}

}  // namespace mxc::codegen

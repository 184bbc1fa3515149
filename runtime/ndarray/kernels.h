// The arithmetic of NDArray: kernels over runs of elements, made at build time from the compiler's own operations.
//
// One operation stays one place: a kernel here is the operation's scalar body (ir/ops) put through the same code generation as a
// compiled graph, on a flat tensor whose only axis is the run-time batch. Hence a kernel gives, bit for bit, what a compiled graph gives
// for the same operation in a row-major layout. codegen/imperative makes the object file that holds them, once for each level of
// processor; the level is chosen when the program runs and makes no difference to any bit.
//
// Calling. `k.run(args, n, begin, end)` computes cells [begin, end) of cells(k, n), in any order and on any threads at once; a caller
// who does not share the work passes 0 and cells(k, n). `args`: the addresses of the operands and then of the results.
//   n           >= 1: the elements of every operand and result that is not named a single element below.
//   alignment   that of an element.
//   overlap     a result may lie exactly over an operand with elements of the same size (elementwise kernels and softmax); partly never.
//   errors      none. Kernels neither allocate nor throw. Integers wrap around; x / 0 is 0 for them. A float that an integer cannot hold
//               becomes an unspecified one.
// Small floats (f16, bf16) are computed in f32 and rounded to nearest even at each result; u8 in i32.
//
// What there is (names are those of `mxc ops`, find_kernel(name, dtype, scalars)):
//   elementwise      (a [n], ...) -> [n]. dtype: that of the operands. scalars: bit i says that operand i is a single element; never all of
//                    them (then n = 1 and scalars = 0). Every pointwise operation without attributes is there: add sub mul div pow maximum
//                    minimum modulo, neg abs sign floor ceil round square exp log log1p sqrt rsqrt tanh sigmoid relu softplus silu gelu erf sin cos, ...; those of
//                    fractions alone for floats, none but logic and comparison for booleans.
//   comparisons, logic   equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor logical_not:
//                    the result is boolean.
//   where            (condition [n], a [n], b [n]) -> [n]; the condition is boolean, dtype is that of a and b.
//   cast.f32 ...     cast_family(to)->find(from). To boolean: whether it is not 0.
//   pairs, floats    two operations with their two roundings in one pass:
//                    mul_add (a, b, c) = a * b + c    mul_sub (a, b, c) = a * b - c    sub_mul (a, b, c) = a - b * c
//   reductions       reduce_sum reduce_mean reduce_max reduce_min reduce_prod norm: (x [n]) -> one element of dtype.
//   runs             reduce_sum.run ... norm.run (without the mean): (x [n], state) -> one element: see below.
//   argmax argmin    (x [n]) -> one i32, the first of equals; a NaN before all numbers.
//   softmax log_softmax  (x [n]) -> [n], floats.
//   random_uniform random_normal  (key, first) -> [n], f32 and f64: in [0, 1); standard normal. key: the two words of
//                    core::philox_key(seed, step, shard, stream); first: one i64, the number of the element that comes first.
//   random_bernoulli (key, first, p) -> [n] boolean, dtype f32: whether the f32 draw of random_uniform is less than p, one f32.
// What has attributes is made of these with the same bits: clip(x, low, high) = minimum(maximum(x, low), high); leaky_relu =
// where(x > 0, x, slope * x); elu = where(x > 0, x, alpha * (exp(x) - 1)); uniform in [low, high) =
// minimum(mul_add(u, float(high - low), low), the largest number below high);
// normal with mean and deviation = mul_add(z, deviation, mean).
//
// Reductions over axes, so that the bits are those of a compiled graph (x row-major, the reduced axes in ascending order):
//   the last axis is reduced      For each kept element: start(k, state) with a `.run` kernel, then one call for each run along the last
//                                 axis, in row-major order of the other reduced axes. Each call leaves the reduction of all runs so far in
//                                 its result. One run alone: the kernel without `.run` does the same.
//   it is not (or x is [.., 1])   For each kept element, in row-major order of the reduced axes: r = identity, then r = r + x (mul, maximum,
//                                 minimum; norm: r = x * x + r with mul_add, and sqrt at the end), one row after another over whole
//                                 rows of the last axis. f16 and bf16 are cast to f32 before and back once at the end.
//   mean                          sum, then div by the count, cast to dtype (f32 for small floats).
// The rule behind it: element i of a run goes to lane i mod lanes (16; 8 for f64), lanes are joined by halves: i with i + lanes / 2, and
// so on. It depends neither on the processor nor on threads.
//
// Sums in f32 (of f16 and bf16, too; reduce_sum, reduce_mean, norm) are made of blocks: a block is added up in f32, lane by lane or column by column, from 0,
// and the blocks in f64, in their order, which is rounded once at the end, before lanes are joined. A step is 16 elements of a run (the last one may have
// fewer), or a row. A sum of 64 steps or fewer is one block. Else one axis is cut into blocks, from its first element on: the innermost reduced
// axis all of whose elements, with the reduced axes inside, make more than 64 steps (of a run: the last axis itself); to a block belong as many
// elements of it as make 64 steps or fewer, but at least one. The axes outside add blocks. A kernel without `.run` does that by itself, a `.run` kernel does not:
// SumBlocks (sum_blocks.h) says where a state goes over into f64.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/core/plan.h"

namespace mxc::ndarray {

// The bytes are laid out by codegen/imperative/kernel_table.cc.
struct Kernel {
  plan::Kernel run;       // null: there is none
  uint64_t identity;      // `.run`: the bits of an element of the state before the first run
  int32_t tile;           // elements in a cell; 0: there is one cell, whatever n
  plan::DType result;     // of the result
  plan::DType state;      // `.run`: of the state
  uint8_t lanes;          // `.run`: elements of the state; 0 for others
  uint8_t reserved[9];
};
static_assert(sizeof(Kernel) == 32);

inline int64_t cells(const Kernel& k, int64_t n) { return k.tile == 0 ? 1 : (n + k.tile - 1) / k.tile; }

constexpr int kDTypes = 9;         // of plan::DType
constexpr int kScalarMasks = 8;    // of up to three operands

// All kernels of one name.
struct KernelFamily {
  const char* name;
  int64_t operands;
  Kernel kernels[kDTypes][kScalarMasks];

  // Null if there is none.
  const Kernel* find(plan::DType dtype, unsigned scalars = 0) const {
    const Kernel& k = kernels[static_cast<int>(dtype)][scalars % kScalarMasks];
    return k.run != nullptr && scalars < kScalarMasks ? &k : nullptr;
  }
};

// Null if nothing is called so. A search by name: callers keep what they found.
const KernelFamily* find_family(std::string_view name);

// Null if there is no such kernel.
const Kernel* find_kernel(std::string_view name, plan::DType dtype, unsigned scalars = 0);
// The casts to a dtype, by the dtype that they are from.
const KernelFamily* cast_family(plan::DType to);

// Prepares `state` (lanes elements of dtype `state`, at most 128 bytes) for the first run. Requires: a `.run` kernel.
void start(const Kernel& k, void* state);

// The level of processor whose kernels are in use: "x86-64-v3", "x86-64", "native".
std::string_view kernel_level();

}  // namespace mxc::ndarray

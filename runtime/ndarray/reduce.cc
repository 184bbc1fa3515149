// Reductions over axes, composed of kernels over runs as kernels.h says, so that the bits are those of compiled graphs.
#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "runtime/ndarray/array.h"
#include "runtime/ndarray/copy.h"
#include "runtime/ndarray/kernels.h"
#include "runtime/ndarray/odometer.h"
#include "runtime/ndarray/pointwise.h"
#include "runtime/ndarray/share.h"
#include "runtime/ndarray/strided.h"
#include "runtime/ndarray/sum_blocks.h"

namespace mxc {

using namespace ndarray;

namespace {

// What a reduction is made of. Lives as long as the program: queued reductions refer to it.
struct Rule {
  const char* name;
  const char* runs;     // the family over one run and, with ".run", over several
  const char* combine;  // r = combine(r, x); norm: r = mul_add(x, x, r)
  bool mean = false, norm = false, adds = false;
  bool needs_elements = false;  // there is no result of nothing
  const KernelFamily* one_run = find_family(runs);
  const KernelFamily* several_runs = find_family(absl::StrCat(mean ? "reduce_sum" : runs, ".run"));
  const KernelFamily* combination = find_family(combine);
};

struct Kernels {
  const Kernel *one_run, *runs, *combine, *divide, *root;
};

// How results are shared among threads where the last axis stays.
constexpr int64_t kPieces = 16, kFewestColumns = 256, kMostColumns = 4096;

constexpr float kNothing = 0;

// A reduction ready to run.
struct Reduce {
  Kernels kernels;
  const Rule* rule;
  int64_t element_bytes;
  Odometer kept, reduced;  // over the outer axes: offsets of the input in elements
  int64_t length;          // of a run along the last axis, or of a block of kept elements behind the last reduced axis
  bool along_last;
  int64_t outputs;
  uint64_t count_bits;     // mean: the number of elements reduced, as an element
  SumBlocks blocks;        // of sums of f32
  ChunkRef in, out;
  int64_t at;

  absl::Status run() {
    char* to = static_cast<char*>(out->ensure());
    if (to == nullptr) return no_memory(*out);
    if (in->memory == nullptr && count(reduced.extents) > 0 && length > 0) return absl::FailedPreconditionError("the operand was never computed");
    const char* from = static_cast<const char*>(in->memory) + at;
    const int64_t elements = outputs * std::max<int64_t>(1, count(reduced.extents)) * (along_last ? length : 1);
    if (along_last) {
      share(*out, elements, outputs, [&](int64_t begin, int64_t end) { reduce_runs(from, to, begin, end); });
      return absl::OkStatus();
    }
    // Blocks of columns: whole rows where work is not shared, else some for each thread.
    const int64_t columns = elements < kShared ? std::min(length, kMostColumns) : std::min(length, std::clamp<int64_t>(outputs / kPieces, kFewestColumns, kMostColumns));
    const int64_t pieces = (length + columns - 1) / columns;
    share(*out, elements, outputs / length * pieces, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % pieces * columns;
        reduce_rows(from, to, i / pieces, first, std::min(columns, length - first));
      }
    });
    return absl::OkStatus();
  }

  static void call(const Kernel& k, int64_t n, const void* a, const void* b, void* result) {
    void* args[] = {const_cast<void*>(a), b == nullptr ? result : const_cast<void*>(b), result};
    k.run(args, n, 0, cells(k, n));
  }

  // The last axis is reduced: results [begin, end).
  void reduce_runs(const char* from, char* to, int64_t begin, int64_t end) const {
    Odometer kept_at = kept, reduced_at = reduced;
    const bool single = count(reduced.extents) == 1;
    kept_at.go_to(begin);
    for (int64_t i = begin; i < end; ++i, kept_at.advance()) {
      char* result = to + i * element_bytes;
      const char* first = from + kept_at.offset * element_bytes;
      if (single) {
        call(*kernels.one_run, length, first, nullptr, result);
        continue;
      }
      reduced_at.restart();
      blocks.none() ? add_runs(first, &reduced_at, result) : add_blocks(first, &reduced_at, result);
    }
    if (rule->mean && !single) divide(to + begin * element_bytes, end - begin);
  }

  void add_runs(const char* first, Odometer* at, char* result) const {
    alignas(64) char state[128];
    start(*kernels.runs, state);
    do call(*kernels.runs, length, first + at->offset * element_bytes, state, result);
    while (at->advance());
  }

  // Sums of f32, whose state starts at 0.
  void add_blocks(const char* first, Odometer* at, char* result) const {
    alignas(64) float state[kLanes] = {};
    double totals[kLanes] = {};
    const int64_t part = blocks.within ? kBlockSteps * kLanes : length;
    int64_t run = 0;
    do {
      const char* x = first + at->offset * element_bytes;
      for (int64_t done = 0; done < length; done += part) {
        if (blocks.begins_at(run)) flush(kLanes, state, totals);
        call(*kernels.runs, std::min(part, length - done), x + done * element_bytes, state, result);
      }
      ++run;
    } while (at->advance());
    flush(kLanes, state, totals);
    for (int64_t i = 0; i < kLanes; ++i) state[i] = static_cast<float>(totals[i]);
    call(*kernels.runs, 1, &kNothing, state, result);
  }

  // Rows are combined one after another: columns [first, first + columns) of block `block` of results.
  void reduce_rows(const char* from, char* to, int64_t block, int64_t first, int64_t columns) const {
    Odometer kept_at = kept, reduced_at = reduced;
    kept_at.go_to(block);
    char* result = to + (block * length + first) * element_bytes;
    const uint64_t identity = kernels.runs->identity;
    const Dims still{0}, one{1};
    ndarray::copy_strided({columns}, element_bytes, &identity, still, result, one);
    reduced_at.restart();
    if (count(reduced.extents) > 0) {
      const char* column = from + (kept_at.offset + first) * element_bytes;
      blocks.none() ? add_rows(column, &reduced_at, columns, result) : add_blocks_of_rows(column, &reduced_at, columns, result);
    }
    if (rule->norm) call(*kernels.root, columns, result, nullptr, result);
    if (rule->mean) divide(result, columns);
  }

  void add_row(const char* row, int64_t columns, char* result) const {
    if (!rule->norm) return call(*kernels.combine, columns, result, row, result);
    void* args[] = {const_cast<char*>(row), const_cast<char*>(row), result, result};
    kernels.combine->run(args, columns, 0, cells(*kernels.combine, columns));
  }

  void add_rows(const char* first, Odometer* at, int64_t columns, char* result) const {
    do add_row(first + at->offset * element_bytes, columns, result);
    while (at->advance());
  }

  void add_blocks_of_rows(const char* first, Odometer* at, int64_t columns, char* result) const {
    double totals[kMostColumns];
    std::fill_n(totals, columns, 0.0);
    float* sums = reinterpret_cast<float*>(result);
    int64_t row = 0;
    do {
      if (blocks.begins_at(row++)) flush(columns, sums, totals);
      add_row(first + at->offset * element_bytes, columns, result);
    } while (at->advance());
    flush(columns, sums, totals);
    for (int64_t i = 0; i < columns; ++i) sums[i] = static_cast<float>(totals[i]);
  }

  void divide(char* result, int64_t n) const { call(*kernels.divide, n, result, &count_bits, result); }
};

struct Axes {
  unsigned mask = 0;  // bit i: axis i is reduced
  Dims result;
};

Axes axes_of(const char* op, const Array& x, const Reduction& over, Here here) {
  Axes axes;
  for (int64_t given : over.axes) {
    const int axis = checked_axis(op, given, x.shape.size(), here);
    if ((axes.mask >> axis & 1) != 0) fail(op, absl::StrCat("axis ", axis, " is there twice"), here);
    axes.mask |= 1u << axis;
  }
  if (over.axes.empty()) axes.mask = (1u << x.shape.size()) - 1;
  for (int axis = 0; axis < x.shape.size(); ++axis) {
    if ((axes.mask >> axis & 1) == 0) {
      axes.result.push_back(x.shape[axis]);
    } else if (over.keep_dims) {
      axes.result.push_back(1);
    }
  }
  return axes;
}

bool reduces_last(const Dims& shape, unsigned mask) {
  const int last = shape.size() - 1;
  return last >= 0 && (mask >> last & 1) != 0 && shape[last] != 1;
}

// The first of the axes that are the run or the block.
int first_inside(const Dims& shape, unsigned mask) {
  int inside = shape.size();
  if (reduces_last(shape, mask)) return inside - 1;
  while (inside > 0 && (mask >> (inside - 1) & 1) == 0) --inside;
  return inside;
}

// Is each run or block a run of memory? The axes outside may have any strides.
bool has_runs(const Array& x, unsigned mask) {
  Dims shape, strides;
  for (int axis = first_inside(x.shape, mask); axis < x.shape.size(); ++axis) {
    shape.push_back(x.shape[axis]);
    strides.push_back(x.strides[axis]);
  }
  return is_row_major(shape, strides);
}

// Divides the axes of x between the odometers and the run or block.
void lay_out(const Array& x, unsigned mask, Reduce* body) {
  body->along_last = reduces_last(x.shape, mask);
  const int inside = first_inside(x.shape, mask);
  body->length = 1;
  for (int axis = inside; axis < x.shape.size(); ++axis) body->length *= x.shape[axis];
  for (int axis = 0; axis < inside; ++axis) {
    Odometer& odometer = (mask >> axis & 1) != 0 ? body->reduced : body->kept;
    odometer.extents.push_back(x.shape[axis]);
    odometer.strides.push_back(x.strides[axis]);
  }
}

// For so many results.
Kernels find_kernels(const Rule& rule, plan::DType dtype, int64_t outputs, Here here) {
  static const KernelFamily *const div = find_family("div"), *const sqrt = find_family("sqrt");
  const Kernels kernels{rule.one_run->find(dtype), rule.several_runs->find(dtype), rule.combination->find(dtype),
                        div->find(dtype, outputs > 1 ? 2 : 0), sqrt->find(dtype)};
  const bool complete = kernels.one_run && kernels.runs && kernels.combine && (!rule.mean || kernels.divide) && (!rule.norm || kernels.root);
  if (!complete) fail(rule.name, absl::StrCat("is not defined for ", type_name(dtype)), here);
  return kernels;
}

NDArray reduce(const Rule& rule, NDArray x, const Reduction& over, Here here) {
  get(x, rule.name, here);
  const DType dtype = x.dtype();
  if (dtype == f16 || dtype == bf16) return cast_for(rule.name, reduce(rule, cast_for(rule.name, std::move(x), f32, here), over, here), dtype, here);
  NDArray operand = as_plain(x, rule.name, here);
  const Axes axes = axes_of(rule.name, *Access::peek(operand), over, here);
  if (!has_runs(*Access::peek(operand), axes.mask)) operand = as_run(operand, rule.name, here);
  const Array& from = *Access::peek(operand);
  auto body = std::make_unique<Reduce>();
  body->rule = &rule;
  const int64_t outputs = count(axes.result);
  body->kernels = find_kernels(rule, from.dtype, outputs, here);
  body->element_bytes = bytes_of(from.dtype);
  lay_out(from, axes.mask, body.get());
  const int64_t reduced = count(body->reduced.extents) * (body->along_last ? body->length : 1);
  if (reduced == 0 && outputs > 0 && rule.needs_elements) fail(rule.name, absl::StrCat("of no elements: the shape is ", text(from.shape)), here);
  if (reduced == 0) body->along_last = false, body->length = 1, body->reduced.extents = {0}, body->reduced.strides = {0}, body->kept = {};
  body->outputs = outputs;
  if (rule.adds && from.dtype == plan::DType::f32) {
    body->blocks = SumBlocks(body->reduced.extents, body->along_last ? (body->length + kLanes - 1) / kLanes : 1);
  }
  if (rule.mean) body->count_bits = element_bits(rule.name, reduced, from.dtype, here);
  NDArray out = new_result(from, from.dtype, axes.result, here);
  if (outputs == 0) return out;
  body->in = from.chunk;
  body->at = from.offset * body->element_bytes;
  const ChunkRef to = body->out = Access::peek(out)->chunk;
  begin_write(*to);
  to->engine->push({.name = rule.name, .cheap = from.elements <= 1024}, {from.chunk->variable}, {to->variable},
                   [body = std::move(body)] { return body->run(); });
  return out;
}

}  // namespace

namespace {

bool is_whole(DType dtype) { return dtype == boolean || dtype == i8 || dtype == u8 || dtype == i32 || dtype == i64; }

// What sums and products of x are counted in, as in NumPy.
NDArray widened(const char* op, NDArray x, Here here) { return is_whole(from_plan(get(x, op, here).dtype)) ? cast_for(op, std::move(x), i64, here) : x; }

}  // namespace

NDArray sum(NDArray x, const Reduction& over, Here here) {
  static const Rule rule{.name = "sum", .runs = "reduce_sum", .combine = "add", .adds = true};
  return reduce(rule, widened("sum", std::move(x), here), over, here);
}
NDArray mean(NDArray x, const Reduction& over, Here here) {
  static const Rule rule{.name = "mean", .runs = "reduce_mean", .combine = "add", .mean = true, .adds = true};
  if (is_whole(from_plan(get(x, "mean", here).dtype))) x = cast_for("mean", std::move(x), f64, here);
  return reduce(rule, std::move(x), over, here);
}
NDArray reduce_max(NDArray x, const Reduction& over, Here here) {
  static const Rule rule{.name = "reduce_max", .runs = "reduce_max", .combine = "maximum", .needs_elements = true};
  return reduce(rule, std::move(x), over, here);
}
NDArray reduce_min(NDArray x, const Reduction& over, Here here) {
  static const Rule rule{.name = "reduce_min", .runs = "reduce_min", .combine = "minimum", .needs_elements = true};
  return reduce(rule, std::move(x), over, here);
}
NDArray reduce_prod(NDArray x, const Reduction& over, Here here) {
  static const Rule rule{.name = "reduce_prod", .runs = "reduce_prod", .combine = "mul"};
  return reduce(rule, widened("reduce_prod", std::move(x), here), over, here);
}
NDArray norm(NDArray x, const Reduction& over, Here here) {
  static const Rule rule{.name = "norm", .runs = "norm", .combine = "mul_add", .norm = true, .adds = true};
  return reduce(rule, std::move(x), over, here);
}

NDArray all(NDArray x, const Reduction& over, Here here) {
  if (get(x, "all", here).dtype != plan::DType::boolean) fail("all", absl::StrCat("of ", to_string(x.dtype()), ": it is for bool"), here);
  static const Rule rule{.name = "all", .runs = "reduce_prod", .combine = "mul"};
  return cast_for("all", reduce(rule, cast_for("all", std::move(x), i32, here), over, here), boolean, here);
}
NDArray any(NDArray x, const Reduction& over, Here here) {
  if (get(x, "any", here).dtype != plan::DType::boolean) fail("any", absl::StrCat("of ", to_string(x.dtype()), ": it is for bool"), here);
  return logical_not(all(logical_not(std::move(x), here), over, here), here);
}

}  // namespace mxc

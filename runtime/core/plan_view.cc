// Lookups and sizes on a checked Plan.
#include "runtime/core/plan_view.h"

#include <cstring>

#include "runtime/core/plan_check.h"

namespace mxc::core {

namespace {


bool same(const char* a, const char* b) { return std::strcmp(a, b) == 0; }

Status check(const void* blob, uint64_t bytes, uint64_t kernel_count, const PlanView& view) {
  Status status = check_tables(blob, bytes);
  return status.ok() ? check_records(view, kernel_count) : status;
}

}  // namespace

const plan::Header PlanView::kEmpty = {};

Status PlanView::open(const plan::Program& program, PlanView* view) {
  PlanView candidate;
  candidate.header_ = static_cast<const plan::Header*>(program.plan);
  Status status = check(program.plan, program.plan_bytes, program.kernel_count, candidate);
  if (status.ok()) *view = candidate;
  return status;
}

Status PlanView::open(const void* blob, uint64_t bytes, PlanView* view) {
  PlanView candidate;
  candidate.header_ = static_cast<const plan::Header*>(blob);
  Status status = check(blob, bytes, plan::kNone, candidate);
  if (status.ok()) *view = candidate;
  return status;
}

const char* PlanView::find_fact(const char* key) const {
  for (const plan::Fact& fact : facts()) {
    if (same(text(fact.key), key)) return text(fact.value);
  }
  return nullptr;
}

uint32_t PlanView::find_buffer(const char* name) const {
  for (uint32_t i = 0; i < buffers().size(); ++i) {
    if (same(text(buffers()[i].name), name)) return i;
  }
  return plan::kNone;
}

uint32_t PlanView::find_hyper(const char* name) const {
  for (uint32_t i = 0; i < hypers().size(); ++i) {
    if (same(text(hypers()[i].name), name)) return i;
  }
  return plan::kNone;
}

uint32_t PlanView::find_graph(const char* name) const {
  for (uint32_t i = 0; i < graphs().size(); ++i) {
    if (same(text(graphs()[i].name), name)) return i;
  }
  return plan::kNone;
}

uint32_t PlanView::find_graph(plan::GraphKind kind) const {
  for (uint32_t i = 0; i < graphs().size(); ++i) {
    if (graphs()[i].kind == kind) return i;
  }
  return plan::kNone;
}

uint32_t PlanView::find_input(const plan::Graph& graph, const char* name) const {
  std::span<const plan::Binding> all = inputs(graph);
  for (uint32_t i = 0; i < all.size(); ++i) {
    if (same(text(all[i].name), name)) return i;
  }
  return plan::kNone;
}

uint32_t PlanView::find_output(const plan::Graph& graph, const char* name) const {
  std::span<const plan::Binding> all = outputs(graph);
  for (uint32_t i = 0; i < all.size(); ++i) {
    if (same(text(all[i].name), name)) return i;
  }
  return plan::kNone;
}

const char* dtype_name(plan::DType dtype) {
  switch (dtype) {
    case plan::DType::f32: return "f32";
    case plan::DType::f64: return "f64";
    case plan::DType::f16: return "f16";
    case plan::DType::bf16: return "bf16";
    case plan::DType::i8: return "i8";
    case plan::DType::u8: return "u8";
    case plan::DType::i32: return "i32";
    case plan::DType::i64: return "i64";
    case plan::DType::boolean: return "boolean";
  }
  return "?";
}

int64_t dtype_bytes(plan::DType dtype) {
  switch (dtype) {
    case plan::DType::f64:
    case plan::DType::i64: return 8;
    case plan::DType::f32:
    case plan::DType::i32: return 4;
    case plan::DType::f16:
    case plan::DType::bf16: return 2;
    case plan::DType::i8:
    case plan::DType::u8:
    case plan::DType::boolean: return 1;
  }
  return 0;
}

int64_t extent(const plan::Buffer& buffer, int axis, int64_t n) {
  return axis == buffer.batch_axis ? n * buffer.batch_unit : buffer.dims[axis];
}

int64_t elements(const plan::Buffer& buffer, int64_t n) {
  int64_t count = 1;
  for (int axis = 0; axis < buffer.rank; ++axis) count *= extent(buffer, axis, n);
  return count;
}

int64_t elements(const plan::Buffer& buffer) { return elements(buffer, batch_capacity(buffer)); }

int64_t batch_capacity(const plan::Buffer& buffer) {
  return buffer.batch_axis < 0 ? 0 : buffer.dims[buffer.batch_axis] / buffer.batch_unit;
}

uint64_t used_bytes(const plan::Buffer& buffer, int64_t n) {
  bool outermost = buffer.batch_axis >= 0 && buffer.order[0] == buffer.batch_axis;
  if (!outermost || buffer.block_axis == buffer.batch_axis || buffer.bytes == 0) return buffer.bytes;
  return buffer.bytes / static_cast<uint64_t>(batch_capacity(buffer)) * static_cast<uint64_t>(n);
}

int64_t grid(const plan::Step& step, int64_t n) {
  if (step.grid_batch_unit == 0) return step.grid_cells;
  return step.grid_cells * ((n * step.grid_batch_unit + step.grid_batch_tile - 1) / step.grid_batch_tile);
}

}  // namespace mxc::core

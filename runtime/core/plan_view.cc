// Lookups on a checked Plan.
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

bool PlanView::is_of_shards(const plan::Graph& graph) const {
  return graph.kind == plan::GraphKind::update || (graph.kind == plan::GraphKind::user && (same(text(graph.name), "gradients") || same(text(graph.name), "update_whole")));
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

}  // namespace mxc::core

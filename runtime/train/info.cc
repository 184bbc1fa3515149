// See info.h.
#include "runtime/train/info.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "runtime/io/dataset.h"
#include "runtime/io/program_tensors.h"
#include "runtime/train/event_log.h"
#include "runtime/train/model.h"
#include "runtime/train/options.h"

namespace mxc::train {
namespace {

const char* output_kind(plan::OutputKind kind) {
  constexpr const char* kNames[] = {"loss", "metric", "output", "parameter", "state", "gradient"};
  return kNames[static_cast<int>(kind)];
}

std::string type_text(const plan::Buffer& buffer) {
  return absl::StrCat(core::dtype_name(buffer.dtype), " ", io::shape_text(io::shape_of(buffer)));
}

// Steps and blocks' steps of a graph, each counted once.
struct Work {
  int64_t steps = 0, flops = 0;
};

void count_block(const core::PlanView& view, const plan::Block& block, int64_t trips, Work* work) {
  for (const plan::Item& item : view.items(block)) {
    if (item.kind == plan::ItemKind::step) {
      work->steps += 1;
      work->flops += view.step(item.index).flops * trips;
    } else {
      const plan::Block& inner = view.block(item.index);
      const bool fixed = inner.kind == plan::BlockKind::loop && inner.trip_buffer == plan::kNone;
      count_block(view, inner, fixed ? trips * inner.trip_count : trips, work);
    }
  }
}

Work work_of(const core::PlanView& view, const plan::Graph& graph) {
  Work work;
  count_block(view, view.block(graph.block), 1, &work);
  return work;
}

void add_facts(const core::PlanView& view, std::string* out) {
  for (const plan::Fact& fact : view.facts()) absl::StrAppendFormat(out, "%-12s %s\n", view.text(fact.key), view.text(fact.value));
}

void add_graphs(const core::PlanView& view, std::string* out) {
  absl::StrAppend(out, "\ngraphs\n");
  for (const plan::Graph& graph : view.graphs()) {
    const Work work = work_of(view, graph);
    absl::StrAppendFormat(out, "  %s: %s, batch %d, %d steps", view.text(graph.name), graph_kind_name(graph.kind), graph.batch,
                          work.steps);
    if (work.flops > 0) absl::StrAppendFormat(out, ", %.4g MFLOP", static_cast<double>(work.flops) * 1e-6);
    absl::StrAppend(out, ", arena ", bytes_text(graph.arena_bytes), "\n");
    for (const plan::Binding& binding : view.inputs(graph)) {
      absl::StrAppend(out, "    reads ", view.text(binding.name), " ", type_text(view.buffer(binding.buffer)), "\n");
    }
    for (const plan::Binding& binding : view.outputs(graph)) {
      if (binding.kind == plan::OutputKind::parameter || binding.kind == plan::OutputKind::state) continue;
      absl::StrAppend(out, "    gives ", view.text(binding.name), " ", type_text(view.buffer(binding.buffer)), " (",
                      output_kind(binding.kind), ")\n");
    }
  }
}

void add_parameters(const core::PlanView& view, std::string* out) {
  size_t width = 0;
  uint64_t bytes = 0;
  int64_t numbers = 0;
  for (uint32_t index : view.parameters()) {
    const plan::Buffer& buffer = view.buffer(index);
    width = std::max(width, std::string(view.text(buffer.name)).size());
    bytes += buffer.bytes;
    numbers += core::elements(buffer);
  }
  absl::StrAppend(out, "\nparameters: ", view.parameters().size(), " arrays, ", numbers, " numbers, ", bytes_text(bytes), "\n");
  for (uint32_t index : view.parameters()) {
    const plan::Buffer& buffer = view.buffer(index);
    const std::string layout = layout_text(buffer);
    absl::StrAppendFormat(out, "  %-*s %-20s %10s%s\n", static_cast<int>(width), view.text(buffer.name), type_text(buffer),
                          bytes_text(buffer.bytes), layout.empty() ? "" : "  layout " + layout);
  }
}

const char* device_kind(const plan::Device& device) { return device.kind == plan::DeviceKind::cpu ? "cpu" : "cuda"; }

// What a device holds without and with the graphs of several shards.
std::pair<core::AreaBytes, core::AreaBytes> areas_of(const core::PlanView& view, size_t device) {
  const auto index = static_cast<uint16_t>(device);
  return {core::area_bytes(view, index, core::Graphs::alone), core::area_bytes(view, index, core::Graphs::all)};
}

void add_memory(const core::PlanView& view, std::string* out) {
  absl::StrAppend(out, "\nmemory\n");
  for (size_t d = 0; d < view.devices().size(); ++d) {
    const auto [alone, shards] = areas_of(view, d);
    absl::StrAppend(out, "  device ", d, " (", device_kind(view.devices()[d]), "): arena ", bytes_text(alone.arena), ", persistent ",
                    bytes_text(alone.persistent), ", inputs and outputs ", bytes_text(alone.io), "\n");
    if (shards.io > alone.io)
      absl::StrAppend(out, "    with several shards: arena ", bytes_text(shards.arena), ", inputs and outputs ", bytes_text(shards.io), "\n");
  }
}

// Those that are flags.
std::vector<plan::Hyper> settable_hypers(const core::PlanView& view) {
  std::vector<plan::Hyper> hypers;
  for (const plan::Hyper& hyper : view.hypers()) {
    if (!io::is_internal_hyper(view.text(hyper.name))) hypers.push_back(hyper);
  }
  return hypers;
}

void add_hypers(const core::PlanView& view, std::string* out) {
  const std::vector<plan::Hyper> hypers = settable_hypers(view);
  if (hypers.empty()) return;
  absl::StrAppend(out, "\nhyper-parameters\n");
  for (const plan::Hyper& hyper : hypers) absl::StrAppendFormat(out, "  %s %g\n", view.text(hyper.name), hyper.default_value);
}

std::string json_shape(const plan::Buffer& buffer) { return absl::StrCat("[", absl::StrJoin(io::shape_of(buffer), ","), "]"); }

std::string json_tensor(const core::PlanView& view, uint32_t name, const plan::Buffer& buffer) {
  return absl::StrCat("{\"name\":", json_string(view.text(name)), ",\"dtype\":\"", core::dtype_name(buffer.dtype),
                      "\",\"shape\":", json_shape(buffer), ",\"layout\":", json_string(layout_text(buffer)),
                      ",\"bytes\":", buffer.bytes);
}

// "[a,b,c]" of what `one` makes of each record.
template <typename Records, typename One>
std::string json_list(const Records& records, One one) {
  std::string out = "[";
  for (const auto& record : records) absl::StrAppend(&out, out.size() == 1 ? "" : ",", one(record));
  return out + "]";
}

}  // namespace

std::string layout_text(const plan::Buffer& buffer) {
  bool plain = buffer.block_axis < 0;
  std::vector<std::string> axes;
  for (int i = 0; i < buffer.rank; ++i) {
    plain = plain && buffer.order[i] == i;
    axes.push_back(buffer.order[i] == buffer.block_axis ? absl::StrCat(buffer.order[i], "/", buffer.block)
                                                        : absl::StrCat(buffer.order[i]));
  }
  return plain ? "" : absl::StrJoin(axes, ",");
}

std::string bytes_text(uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  int unit = 0;
  for (; value >= 1024 && unit < 4; ++unit) value /= 1024;
  return unit == 0 ? absl::StrCat(bytes, " B") : absl::StrFormat("%.4g %s", value, kUnits[unit]);
}

std::string info_text(const core::PlanView& view) {
  std::string out;
  add_facts(view, &out);
  add_graphs(view, &out);
  add_parameters(view, &out);
  add_memory(view, &out);
  add_hypers(view, &out);
  return out;
}

std::string info_json(const core::PlanView& view) {
  std::string facts;
  for (const plan::Fact& fact : view.facts()) {
    absl::StrAppend(&facts, facts.empty() ? "" : ",", json_string(view.text(fact.key)), ":", json_string(view.text(fact.value)));
  }
  const std::string parameters = json_list(
      view.parameters(), [&](uint32_t index) { return json_tensor(view, view.buffer(index).name, view.buffer(index)) + "}"; });
  const std::string hypers = json_list(settable_hypers(view), [&](const plan::Hyper& hyper) {
    return absl::StrCat("{\"name\":", json_string(view.text(hyper.name)), ",\"default\":", json_number(hyper.default_value), "}");
  });
  const std::string graphs = json_list(view.graphs(), [&](const plan::Graph& graph) {
    const Work work = work_of(view, graph);
    const std::string inputs = json_list(view.inputs(graph), [&](const plan::Binding& binding) {
      return json_tensor(view, binding.name, view.buffer(binding.buffer)) + "}";
    });
    const std::string outputs = json_list(view.outputs(graph), [&](const plan::Binding& binding) {
      return absl::StrCat(json_tensor(view, binding.name, view.buffer(binding.buffer)), ",\"kind\":\"", output_kind(binding.kind),
                          "\"}");
    });
    return absl::StrCat("{\"name\":", json_string(view.text(graph.name)), ",\"kind\":\"", graph_kind_name(graph.kind),
                        "\",\"batch\":", graph.batch, ",\"steps\":", work.steps, ",\"flops\":", work.flops,
                        ",\"arena_bytes\":", graph.arena_bytes, ",\"inputs\":", inputs, ",\"outputs\":", outputs, "}");
  });
  const std::string memory = json_list(view.devices(), [&](const plan::Device& device) {
    const auto [alone, shards] = areas_of(view, static_cast<size_t>(&device - view.devices().data()));
    return absl::StrCat("{\"kind\":\"", device_kind(device), "\",\"arena_bytes\":", alone.arena, ",\"persistent_bytes\":", alone.persistent,
                        ",\"io_bytes\":", alone.io, ",\"shards\":{\"arena_bytes\":", shards.arena, ",\"io_bytes\":", shards.io, "}}");
  });
  return absl::StrCat("{\"facts\":{", facts, "},\"parameters\":", parameters, ",\"hypers\":", hypers, ",\"graphs\":", graphs,
                      ",\"memory\":", memory, "}\n");
}

}  // namespace mxc::train

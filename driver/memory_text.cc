// The memory report for people, for programs and as a picture.
#include <algorithm>

#include "driver/memory_report.h"
#include "driver/plan_text.h"
#include "frontend/dsl/draw.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace mxc::driver {

namespace {

// "1,234,567"
std::string grouped(uint64_t number) {
  std::string text = std::to_string(number);
  for (int place = static_cast<int>(text.size()) - 3; place > 0; place -= 3) text.insert(place, ",");
  return text;
}

// Those alive at the peak, the largest first.
std::vector<const ArenaTensor*> alive(const GraphMemory& graph) {
  std::vector<const ArenaTensor*> tensors;
  for (const ArenaTensor& tensor : graph.tensors)
    if (tensor.first <= graph.peak_step && graph.peak_step <= tensor.last) tensors.push_back(&tensor);
  std::stable_sort(tensors.begin(), tensors.end(), [](auto* a, auto* b) { return a->bytes > b->bytes; });
  return tensors;
}

void row(llvm::raw_ostream& out, llvm::StringRef what, uint64_t bytes, uint64_t padding) {
  out << "  " << llvm::left_justify(what, 24) << llvm::right_justify(grouped(bytes), 18)
      << llvm::format("%12.1f MiB", static_cast<double>(bytes) / (1 << 20));
  if (padding) out << ", of which padding " << grouped(padding);
  out << "\n";
}

void graphText(llvm::raw_ostream& out, const GraphMemory& graph) {
  out << "\ngraph " << graph.name;
  if (graph.batch) out << ", up to " << graph.batch << " samples";
  out << ": arena " << grouped(graph.arena_bytes) << " bytes, peak " << grouped(graph.peak_bytes);
  if (graph.tensors.empty()) {
    out << "\n";
    return;
  }
  out << " at step " << graph.peak_step << " of " << graph.steps.size() << " (" << graph.steps[graph.peak_step] << ")\n";
  out << "  alive there:     bytes  role        steps        tensor\n";
  for (const ArenaTensor* tensor : alive(graph)) {
    std::string steps = std::to_string(tensor->first) + "-" + std::to_string(tensor->last);
    out << llvm::right_justify(grouped(tensor->bytes), 24) << "  " << llvm::left_justify(roleName(tensor->role), 12)
        << llvm::left_justify(steps, 13) << tensor->name;
    if (!tensor->location.empty()) out << "  " << tensor->location;
    out << "\n";
  }
}

void tensorJson(llvm::json::OStream& json, const GraphMemory& graph, const ArenaTensor& tensor) {
  json.object([&] {
    json.attribute("name", tensor.name);
    json.attribute("at", tensor.location);
    json.attribute("role", roleName(tensor.role));
    json.attribute("offset", static_cast<int64_t>(tensor.offset));
    json.attribute("bytes", static_cast<int64_t>(tensor.bytes));
    json.attribute("padding", static_cast<int64_t>(tensor.padding));
    json.attribute("first", static_cast<int64_t>(tensor.first));
    json.attribute("last", static_cast<int64_t>(tensor.last));
    json.attribute("at_peak", tensor.first <= graph.peak_step && graph.peak_step <= tensor.last);
  });
}

void graphJson(llvm::json::OStream& json, const GraphMemory& graph) {
  json.object([&] {
    json.attribute("name", graph.name);
    json.attribute("batch", graph.batch);
    json.attribute("arena_bytes", static_cast<int64_t>(graph.arena_bytes));
    json.attribute("peak_bytes", static_cast<int64_t>(graph.peak_bytes));
    json.attribute("peak_step", static_cast<int64_t>(graph.peak_step));
    json.attributeArray("steps", [&] {
      for (const std::string& step : graph.steps) json.value(step);
    });
    json.attributeArray("tensors", [&] {
      for (const ArenaTensor& tensor : graph.tensors) tensorJson(json, graph, tensor);
    });
  });
}

// ---- The picture ----------------------------------------------------------------------------------------------------------------
constexpr int kWidth = 1000, kHeight = 360, kLeft = 90, kTop = 40, kBottom = 50;

const char* colour(plan::Role role) {
  if (role == plan::Role::gradient) return "#d98c5f";
  if (role == plan::Role::scratch) return "#a0a0a0";
  return "#5f8fd9";
}

// One graph with its upper edge at `top`.
void graphSvg(llvm::raw_ostream& out, const GraphMemory& graph, int top) {
  const double perStep = static_cast<double>(kWidth) / std::max<size_t>(graph.steps.size(), 1);
  const double perByte = static_cast<double>(kHeight) / static_cast<double>(std::max<uint64_t>(graph.arena_bytes, 1));
  const int base = top + kTop + kHeight;
  out << "<text x=\"" << kLeft << "\" y=\"" << top + 24 << "\" font-weight=\"bold\">" << detail::xmlEscaped(graph.name) << ": arena "
      << grouped(graph.arena_bytes) << " bytes, peak " << grouped(graph.peak_bytes) << "</text>\n";
  for (const ArenaTensor& tensor : graph.tensors) {
    double height = static_cast<double>(tensor.bytes) * perByte;
    out << llvm::format("<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"", kLeft + static_cast<double>(tensor.first) * perStep,
                        base - static_cast<double>(tensor.offset) * perByte - height,
                        static_cast<double>(tensor.last - tensor.first + 1) * perStep, height)
        << " fill=\"" << colour(tensor.role) << "\" stroke=\"white\" stroke-width=\"0.5\" fill-opacity=\"0.85\"><title>" << detail::xmlEscaped(tensor.name)
        << " (" << roleName(tensor.role) << ") " << detail::xmlEscaped(tensor.location) << ": " << grouped(tensor.bytes) << " bytes at "
        << grouped(tensor.offset) << ", steps " << tensor.first << "-" << tensor.last << "</title></rect>\n";
  }
  out << llvm::format("<line x1=\"%.2f\" x2=\"%.2f\"", kLeft + (static_cast<double>(graph.peak_step) + 0.5) * perStep,
                      kLeft + (static_cast<double>(graph.peak_step) + 0.5) * perStep)
      << " y1=\"" << top + kTop << "\" y2=\"" << base << "\" stroke=\"#c00000\" stroke-dasharray=\"4 3\"><title>the peak: step "
      << graph.peak_step << "</title></line>\n";
  out << "<path d=\"M" << kLeft << " " << top + kTop << " V" << base << " H" << kLeft + kWidth << "\" fill=\"none\" stroke=\"black\"/>\n";
  out << "<text x=\"" << kLeft - 6 << "\" y=\"" << base << "\" text-anchor=\"end\">0</text>\n";
  out << "<text x=\"" << kLeft - 6 << "\" y=\"" << top + kTop + 10 << "\" text-anchor=\"end\">"
      << llvm::format("%.1f MiB", static_cast<double>(graph.arena_bytes) / (1 << 20)) << "</text>\n";
  out << "<text x=\"" << kLeft + kWidth << "\" y=\"" << base + 16 << "\" text-anchor=\"end\">" << graph.steps.size() << " steps</text>\n";
}

}  // namespace

std::string memoryText(const MemoryReport& report) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << "memory of " << report.model << "\n";
  for (const MemorySum& sum : report.sums)
    if (sum.bytes) row(out, sum.role, sum.bytes, sum.padding);
  row(out, "arena of all graphs", report.arena_bytes, 0);
  row(out, "total", report.total_bytes, 0);
  for (const GraphMemory& graph : report.graphs) graphText(out, graph);
  return text;
}

std::string memoryJson(const MemoryReport& report) {
  std::string text;
  llvm::raw_string_ostream out(text);
  llvm::json::OStream json(out, 1);
  json.object([&] {
    json.attribute("model", report.model);
    json.attributeArray("roles", [&] {
      for (const MemorySum& sum : report.sums)
        json.object([&] {
          json.attribute("role", sum.role);
          json.attribute("bytes", static_cast<int64_t>(sum.bytes));
          json.attribute("padding", static_cast<int64_t>(sum.padding));
        });
    });
    json.attribute("arena_bytes", static_cast<int64_t>(report.arena_bytes));
    json.attribute("total_bytes", static_cast<int64_t>(report.total_bytes));
    json.attributeArray("graphs", [&] {
      for (const GraphMemory& graph : report.graphs) graphJson(json, graph);
    });
  });
  return text + "\n";
}

std::string memorySvg(const MemoryReport& report) {
  std::string text;
  llvm::raw_string_ostream out(text);
  const int row = kTop + kHeight + kBottom;
  std::vector<const GraphMemory*> graphs;
  for (const GraphMemory& graph : report.graphs)
    if (!graph.tensors.empty()) graphs.push_back(&graph);
  out << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << kLeft + kWidth + 20 << "\" height=\"" << row * graphs.size() + 30
      << "\" font-family=\"sans-serif\" font-size=\"12\">\n";
  for (size_t i = 0; i < graphs.size(); ++i) graphSvg(out, *graphs[i], static_cast<int>(i) * row);
  out << "<text x=\"" << kLeft << "\" y=\"" << row * graphs.size() + 14
      << "\">blue: values, orange: gradients; right: steps in order, up: addresses in the arena; dashed: the peak</text>\n</svg>\n";
  return text;
}

}  // namespace mxc::driver

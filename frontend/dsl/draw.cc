// See draw.h. The layout is layered_layout.h's; here are the boxes' texts and colours, and the SVG. No fonts are measured: a letter counts
// as 0.56 of the size, which holds for the usual sans-serif faces.
#include "frontend/dsl/draw.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <set>

#include "frontend/dsl/json.h"
#include "frontend/dsl/layered_layout.h"

namespace mxc::detail {

namespace {

constexpr double kTitle = 13, kText = 10.5, kLine = 15, kPad = 9;

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

// A value as people write it, or nothing if it goes without saying: false, ones, zeros of a list.
struct ShortValue {
  std::string operator()(int64_t value) const { return value == 1 ? "" : std::to_string(value); }
  std::string operator()(double value) const { return jsonNumber(value); }
  std::string operator()(bool value) const { return value ? "yes" : ""; }
  std::string operator()(const std::string& value) const { return value; }
  std::string operator()(DType value) const { return to_string(value); }
  std::string operator()(const std::vector<int64_t>& values) const {
    bool plain = std::all_of(values.begin(), values.end(), [](int64_t v) { return v == 0; }) ||
                 std::all_of(values.begin(), values.end(), [](int64_t v) { return v == 1; });
    std::string text;
    for (int64_t value : values) text += (text.empty() ? "" : "x") + std::to_string(value);
    return plain ? "" : text;
  }
  std::string operator()(const std::vector<double>&) const { return ""; }
};

struct Box {
  std::string title, shape, fill, stroke;
  std::vector<std::string> lines;
};

class Artist {
 public:
  Artist(const Graph& graph, const std::map<std::string, std::string>& shapes) : graph_(graph), shapes_(shapes) {}

  void add(const std::vector<int32_t>& nodes) {
    findOwned(nodes);
    for (int32_t index : nodes) {
      const Node& node = graph_.nodes[index];
      if (owned_.contains(index)) continue;
      box_of_[index] = static_cast<int32_t>(boxes_.size());
      boxes_.push_back(boxOf(node));
      for (const NodeInput& input : node.inputs)
        for (Edge edge : input.edges)
          if (!owned_.contains(edge.node)) drawing_.edges.push_back({box_of_.at(edge.node), box_of_.at(index)});
    }
  }

  void end(const DrawnEnd& end) {
    drawing_.edges.push_back({box_of_.at(end.value.node), static_cast<int32_t>(boxes_.size())});
    boxes_.push_back({end.text, "", "#fff4d6", "#b8860b", {}});
  }

  std::string svg() {
    for (const Box& box : boxes_) drawing_.boxes.push_back(sized(box));
    layOut(drawing_);
    std::string text = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + number(drawing_.width) + "\" height=\"" +
                       number(drawing_.height) + "\" viewBox=\"0 0 " + number(drawing_.width) + " " + number(drawing_.height) +
                       "\" font-family=\"Helvetica, Arial, sans-serif\">\n"
                       "<defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" "
                       "orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"#666\"/></marker></defs>\n"
                       "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
    for (const DrawnEdge& edge : drawing_.edges) text += path(edge);
    for (size_t i = 0; i < boxes_.size(); ++i) text += drawn(boxes_[i], drawing_.boxes[i]);
    return text + "</svg>\n";
  }

 private:
  // Parameters that one operation made for itself, and alone reads.
  void findOwned(const std::vector<int32_t>& nodes) {
    std::map<int32_t, int> uses;
    for (int32_t index : nodes)
      for (const NodeInput& input : graph_.nodes[index].inputs)
        for (Edge edge : input.edges) ++uses[edge.node];
    for (int32_t index : nodes)
      for (const NodeInput& input : graph_.nodes[index].inputs)
        for (Edge edge : input.edges) {
          const Node& source = graph_.nodes[edge.node];
          if (source.op == "parameter" && uses[edge.node] == 1 && source.name == graph_.nodes[index].name + "." + input.operand)
            owned_.insert(edge.node);
        }
  }

  Box boxOf(const Node& node) const {
    Box box{node.op, "", "#e8f0fb", "#4a76b8", {}};
    if (node.op == "input" || node.op == "parameter") {
      box = {node.name, "", node.op == "input" ? "#e6f5e6" : "#f3e8fb", node.op == "input" ? "#4c9a4c" : "#8a56b8", {node.op}};
    } else if (node.op == "constant") {
      box = {std::visit(ShortValue(), node.attributes[0].second), "", "#f2f2f2", "#999", {}};
    } else {
      box.lines.push_back(node.name);
      std::string attributes, owned;
      for (const auto& [name, value] : node.attributes)
        if (std::string text = std::visit(ShortValue(), value); !text.empty())
          attributes += (attributes.empty() ? "" : ", ") + name + " " + text;
      for (const NodeInput& input : node.inputs)
        for (Edge edge : input.edges)
          if (owned_.contains(edge.node)) owned += (owned.empty() ? "+ " : ", ") + input.operand;
      if (!attributes.empty()) box.lines.push_back(attributes);
      if (!owned.empty()) box.lines.push_back(owned);
    }
    if (auto shape = shapes_.find(node.name); shape != shapes_.end()) box.shape = shape->second;
    else
      for (const auto& [name, value] : node.attributes)
        if (name == "shape" && box.lines.size() == 1) box.shape = std::visit(ShortValue(), value);
    if (node.op == "constant") box.shape.clear();
    return box;
  }

  static DrawnBox sized(const Box& box) {
    double width = static_cast<double>(box.title.size()) * kTitle * 0.6;
    for (const std::string& line : box.lines) width = std::max(width, static_cast<double>(line.size()) * kText * 0.56);
    return {.width = std::max(width + 2 * kPad, 48.0), .height = kLine * static_cast<double>(1 + box.lines.size()) + kPad};
  }

  static std::string path(const DrawnEdge& edge) {
    auto [x, y] = edge.points[0];
    std::string d = "M" + number(x) + " " + number(y);
    for (size_t i = 1; i < edge.points.size(); ++i) {
      auto [to_x, to_y] = edge.points[i];
      double half = (y + to_y) / 2;
      d += "C" + number(x) + " " + number(half) + " " + number(to_x) + " " + number(half) + " " + number(to_x) + " " + number(to_y);
      x = to_x;
      y = to_y;
    }
    return "<path d=\"" + d + "\" fill=\"none\" stroke=\"#666\" stroke-width=\"1.2\" marker-end=\"url(#arrow)\"/>\n";
  }

  static std::string line(double x, double y, double size, const char* style, const std::string& text) {
    return "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" font-size=\"" + number(size) + "\" " + style + ">" +
           xmlEscaped(text) + "</text>\n";
  }

  static std::string drawn(const Box& box, const DrawnBox& at) {
    std::string text = "<rect x=\"" + number(at.x) + "\" y=\"" + number(at.y) + "\" width=\"" + number(at.width) + "\" height=\"" +
                       number(at.height) + "\" rx=\"6\" fill=\"" + box.fill + "\" stroke=\"" + box.stroke + "\"/>\n";
    double middle = at.x + at.width / 2, y = at.y + kLine;
    text += line(middle, y, kTitle, "font-weight=\"bold\" text-anchor=\"middle\"", box.title);
    for (const std::string& each : box.lines) text += line(middle, y += kLine, kText, "fill=\"#444\" text-anchor=\"middle\"", each);
    if (!box.shape.empty()) text += line(middle + 6, at.y + at.height + 12, kText, "fill=\"#888\"", box.shape);
    return text;
  }

  const Graph& graph_;
  const std::map<std::string, std::string>& shapes_;
  std::set<int32_t> owned_;
  std::map<int32_t, int32_t> box_of_;  // by node
  std::vector<Box> boxes_;
  Drawing drawing_;
};

}  // namespace

std::string xmlEscaped(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c == '&') out += "&amp;";
    else if (c == '<') out += "&lt;";
    else if (c == '>') out += "&gt;";
    else if (c == '"') out += "&quot;";
    else out += c;
  }
  return out;
}

std::string drawNodes(const Graph& graph, const std::vector<int32_t>& nodes, const std::vector<DrawnEnd>& ends,
                      const std::map<std::string, std::string>& shapes) {
  Artist artist(graph, shapes);
  artist.add(nodes);
  for (const DrawnEnd& end : ends) artist.end(end);
  return artist.svg();
}

std::string drawModel(const std::string& json, const std::map<std::string, std::string>& shapes, std::string& error) {
  Session session;
  try {
    readModel(session, json);
  } catch (const ModelError& wrong) {
    error = wrong.what();
    return "";
  }
  std::vector<int32_t> nodes;
  for (size_t i = 0; i < session.graph->nodes.size(); ++i) nodes.push_back(static_cast<int32_t>(i));
  std::vector<DrawnEnd> ends;
  for (const Terminal& loss : session.minimize) ends.push_back({loss.value, "minimize"});
  for (const Terminal& report : session.reports) ends.push_back({report.value, "report " + report.name});
  for (const Terminal& output : session.outputs) ends.push_back({output.value, "output " + output.name});
  return drawNodes(*session.graph, nodes, ends, shapes);
}

}  // namespace mxc::detail

namespace mxc {

std::string to_svg(const Group& group) {
  std::vector<int32_t> nodes;
  std::vector<detail::DrawnEnd> ends;
  for (const Symbol& symbol : internals(group))
    if (nodes.empty() || nodes.back() != symbol.node()) nodes.push_back(symbol.node());
  for (const Symbol& symbol : group) ends.push_back({{symbol.node(), symbol.result()}, "group"});
  if (group.size() < 2) ends.clear();
  static const detail::Graph none;
  return detail::drawNodes(group.empty() ? none : *group[0].graph(), nodes, ends, {});
}

void draw(const std::string& path, const Group& group, Here where) {
  detail::checkGroup(group, "draw", where);
  std::ofstream file(path, std::ios::binary);
  file << to_svg(group);
  if (!file.flush()) throw ModelError("cannot write '" + path + "'", where);
}

}  // namespace mxc

// Writing symbol JSON: one line a node, so that two versions of a model can be compared with diff.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <map>

#include "frontend/dsl/json.h"

namespace mxc::detail {

namespace {

// The length of the well-formed UTF-8 sequence at `i`, 0 if there is none.
int sequenceLength(const std::string& text, size_t i) {
  unsigned char lead = text[i];
  int length = lead < 0x80 ? 1 : lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
  for (int k = 1; k < length; ++k)
    if (i + k >= text.size() || (static_cast<unsigned char>(text[i + k]) & 0xC0) != 0x80) return 0;
  return length;
}

template <class List, class Format>
std::string joined(const List& list, Format format, const char* separator = ", ") {
  std::string text;
  for (const auto& item : list) text += (text.empty() ? "" : separator) + format(item);
  return text;
}

struct WriteValue {
  std::string operator()(int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return jsonNumber(value); }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(const std::string& value) const { return jsonString(value); }
  std::string operator()(DType value) const { return jsonString(to_string(value)); }
  std::string operator()(const std::vector<int64_t>& values) const {
    return "[" + joined(values, [](int64_t v) { return std::to_string(v); }) + "]";
  }
  std::string operator()(const std::vector<double>& values) const { return "[" + joined(values, jsonNumber) + "]"; }
};

std::string writeEdge(Edge edge) { return "[" + std::to_string(edge.node) + ", " + std::to_string(edge.result) + "]"; }

std::string writeInput(const NodeInput& input) {
  if (input.variadic) return "[" + joined(input.edges, writeEdge) + "]";
  return input.edges.empty() ? "null" : writeEdge(input.edges[0]);
}

std::string writePlace(const Place& place, std::vector<std::string>& files) {
  auto found = std::find(files.begin(), files.end(), place.file);
  if (found == files.end()) found = files.insert(files.end(), place.file);
  return "[" + std::to_string(found - files.begin()) + ", " + std::to_string(place.line) + ", " + std::to_string(place.column) +
         "]";
}

std::string writeNode(const Node& node, std::vector<std::string>& files) {
  std::string text = "{\"op\": " + jsonString(node.op) + ", \"name\": " + jsonString(node.name);
  text += ", \"attributes\": {" +
          joined(node.attributes,
                 [](const auto& attribute) {
                   return jsonString(attribute.first) + ": " + std::visit(WriteValue(), attribute.second);
                 }) +
          "}";
  text += ", \"inputs\": {" +
          joined(node.inputs, [](const NodeInput& input) { return jsonString(input.operand) + ": " + writeInput(input); }) + "}";
  if (node.recompute) text += ", \"recompute\": " + std::to_string(*node.recompute);
  if (node.results != 1) text += ", \"results\": " + std::to_string(node.results);
  text += ", \"at\": " + writePlace(node.place, files);
  if (!node.callers.empty())
    text += ", \"frames\": [" + joined(node.callers, [](uintptr_t address) { return std::to_string(address); }) + "]";
  return text + "}";
}

std::string writeNodes(const std::vector<Node>& nodes, std::vector<std::string>& files) {
  return "[\n    " +
         joined(
             nodes, [&](const Node& node) { return writeNode(node, files); }, ",\n    ") +
         "\n  ]";
}

std::string writeTerminals(const std::vector<Terminal>& list, std::vector<std::string>& files) {
  return "[" +
         joined(list,
                [&](const Terminal& terminal) {
                  std::string name = terminal.name.empty() ? "" : "\"name\": " + jsonString(terminal.name) + ", ";
                  return "{" + name + "\"value\": " + writeEdge(terminal.value) + ", \"at\": " + writePlace(terminal.place, files) +
                         "}";
                }) +
         "]";
}

std::string writeOptimizer(const Optimizer& optimizer, std::vector<std::string>& files) {
  return "{\"kind\": " + jsonString(optimizer.kind) + ", \"defaults\": {" +
         joined(optimizer.defaults, [](const auto& d) { return jsonString(d.first) + ": " + jsonNumber(d.second); }) +
         "}, \"at\": " + writePlace(optimizer.place, files) + "}";
}

// The nodes of the group alone, renumbered.
std::vector<Node> nodesOf(const Group& group, std::map<int32_t, int32_t>& renumbered) {
  std::vector<Node> nodes;
  for (const Symbol& symbol : internals(group)) {
    if (!renumbered.emplace(symbol.node(), static_cast<int32_t>(nodes.size())).second) continue;
    Node node = symbol.graph()->nodes[symbol.node()];
    for (NodeInput& input : node.inputs)
      for (Edge& edge : input.edges) edge.node = renumbered.at(edge.node);
    node.callers.clear();
    nodes.push_back(std::move(node));
  }
  return nodes;
}

}  // namespace

std::string jsonString(const std::string& text) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out = "\"";
  for (size_t i = 0; i < text.size();) {
    unsigned char c = text[i];
    int length = sequenceLength(text, i);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c < 0x20) {
      out += std::string("\\u00") + kHex[c >> 4] + kHex[c & 15];
    } else if (length == 0) {
      out += "\\ufffd";
    } else {
      out.append(text, i, length);
    }
    i += std::max(length, 1);
  }
  return out + "\"";
}

std::string jsonNumber(double number) {
  if (std::isnan(number)) return "\"nan\"";
  if (std::isinf(number)) return number > 0 ? "\"inf\"" : "\"-inf\"";
  char buffer[40];
  auto end = std::to_chars(buffer, buffer + sizeof buffer, number).ptr;
  return {buffer, end};
}

std::string writeModel(const Session& session) {
  std::vector<std::string> files = {session.place.file};
  std::string nodes = writeNodes(session.graph->nodes, files);
  std::string minimize = writeTerminals(session.minimize, files), reports = writeTerminals(session.reports, files),
              outputs = writeTerminals(session.outputs, files);
  std::string text = "{\n  \"format\": \"mxc-symbol\",\n  \"version\": 1,\n  \"model\": " + jsonString(session.model);
  text += ",\n  \"at\": " + writePlace(session.place, files) + ",\n  \"nodes\": " + nodes;
  text += ",\n  \"minimize\": " + minimize + ",\n  \"reports\": " + reports + ",\n  \"outputs\": " + outputs;
  if (session.optimizer) text += ",\n  \"optimizer\": " + writeOptimizer(*session.optimizer, files);
  return text + ",\n  \"files\": [" + joined(files, jsonString) + "]\n}\n";
}

void checkGroup(const Group& group, const char* verb, Here where) {
  for (const Symbol& symbol : group)
    if (!symbol || symbol.graph() != group[0].graph())
      throw ModelError(std::string(verb) + " is given an empty symbol or one of another model", where);
}

std::string writeGroup(const Group& group) {
  std::vector<std::string> files;
  std::map<int32_t, int32_t> renumbered;
  std::string nodes = writeNodes(nodesOf(group, renumbered), files);
  std::string members = joined(group, [&](const Symbol& s) { return writeEdge({renumbered.at(s.node()), s.result()}); });
  return "{\n  \"format\": \"mxc-symbol\",\n  \"version\": 1,\n  \"nodes\": " + nodes + ",\n  \"group\": [" + members +
         "],\n  \"files\": [" + joined(files, jsonString) + "]\n}\n";
}

}  // namespace mxc::detail

namespace mxc {

std::string to_string(const Group& group) {
  std::string text;
  int32_t last = -1;
  for (const Symbol& symbol : internals(group)) {
    if (symbol.node() == last) continue;
    last = symbol.node();
    const detail::Node& node = symbol.graph()->nodes[last];
    auto operandName = [&](detail::Edge edge) {
      const detail::Node& source = symbol.graph()->nodes[edge.node];
      return source.name + (source.results > 1 ? "#" + std::to_string(edge.result) : "");
    };
    std::string operands, attributes;
    for (const detail::NodeInput& input : node.inputs)
      for (detail::Edge edge : input.edges) operands += (operands.empty() ? "" : ", ") + operandName(edge);
    for (const auto& [name, value] : node.attributes)
      attributes += (attributes.empty() ? " {" : ", ") + name + " = " + std::visit(detail::WriteValue(), value);
    text += node.name + " = " + node.op + "(" + operands + ")" + attributes + (attributes.empty() ? "\n" : "}\n");
  }
  return text;
}

std::ostream& operator<<(std::ostream& out, const Group& group) { return out << to_string(group); }

void save(const std::string& path, const Group& group, Here where) {
  detail::checkGroup(group, "save", where);
  std::ofstream file(path, std::ios::binary);
  file << detail::writeGroup(group);
  if (!file.flush()) throw ModelError("cannot write '" + path + "'", where);
}

}  // namespace mxc

// Graphs of symbols as SVG: operations and inputs as boxes in layers, what an operation owns (its parameters) written into its box.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "frontend/dsl/graph.h"

namespace mxc::detail {

// `text` as it stands between tags or quotes.
std::string xmlEscaped(const std::string& text);

// What becomes of a result: "output y", below the node that computes it.
struct DrawnEnd {
  Edge value;
  std::string text;
};

// `nodes` in the order of the graph, operands included. `shapes`: "64x10" by the name of a node, for those that are known.
std::string drawNodes(const Graph& graph, const std::vector<int32_t>& nodes, const std::vector<DrawnEnd>& ends,
                      const std::map<std::string, std::string>& shapes);

// A model as symbol JSON. `error` says what is wrong with it, and the result is empty.
std::string drawModel(const std::string& json, const std::map<std::string, std::string>& shapes, std::string& error);

}  // namespace mxc::detail

// A drawing of a directed acyclic graph in layers, edges pointing down: after Sugiyama, Tagawa and Toda (1981).
//
// Nodes get the layer of their longest path from a source; an edge over several layers bends around the nodes between through points
// of its own. Within a layer the order is that of the neighbours' middles, by sweeps that keep the best found; the places are those
// nearest to the neighbours' that keep the order and the distances. The same graph gives the same drawing.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace mxc::detail {

struct DrawnBox {
  double width = 0, height = 0;
  double x = 0, y = 0;  // of the upper left corner; the layout's
};

struct DrawnEdge {
  int32_t from = 0, to = 0;                            // boxes; Requires: from < to
  std::vector<std::pair<double, double>> points = {};  // from the lower side of `from` to the upper side of `to`; the layout's
};

struct Drawing {
  std::vector<DrawnBox> boxes;
  std::vector<DrawnEdge> edges;
  double width = 0, height = 0;
};

// Fills the places of boxes and edges. Boxes do not overlap, and all lies within [0, width] x [0, height].
void layOut(Drawing& drawing);

}  // namespace mxc::detail

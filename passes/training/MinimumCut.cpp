//===- MinimumCut.cpp - the cheapest vertices that part a graph -----------===//

#include "passes/training/MinimumCut.h"

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/edmonds_karp_max_flow.hpp>

using namespace baton::training;

using Traits =
    boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
using Network = boost::adjacency_list<
    boost::vecS, boost::vecS, boost::directedS, boost::no_property,
    boost::property<boost::edge_capacity_t, int64_t,
                    boost::property<boost::edge_residual_capacity_t, int64_t,
                                    boost::property<boost::edge_reverse_t,
                                                    Traits::edge_descriptor>>>>;

static void addArc(Network &network, size_t from, size_t to, int64_t capacity) {
  auto arc = boost::add_edge(from, to, network).first;
  auto back = boost::add_edge(to, from, network).first;
  boost::put(boost::edge_capacity, network, arc, capacity);
  boost::put(boost::edge_capacity, network, back, 0);
  boost::put(boost::edge_reverse, network, arc, back);
  boost::put(boost::edge_reverse, network, back, arc);
}

CutGraph::Vertex CutGraph::addVertex(int64_t cost) {
  costs.push_back(cost);
  return costs.size() - 1;
}

std::optional<std::vector<CutGraph::Vertex>> CutGraph::minimumCut() const {
  // A vertex is an arc between two; flow goes from the sink to the source, so
  // that what is reached last is the cut nearest to the sink.
  auto nearSink = [](Vertex vertex) { return 2 * size_t(vertex); };
  auto nearSource = [](Vertex vertex) { return 2 * size_t(vertex) + 1; };
  Network network(2 * costs.size());
  for (Vertex vertex = 0; vertex < costs.size(); ++vertex)
    addArc(network, nearSink(vertex), nearSource(vertex), costs[vertex]);
  for (auto [from, to] : edges)
    addArc(network, nearSource(to), nearSink(from), kNever);
  std::vector<boost::default_color_type> color(2 * costs.size());
  std::vector<Traits::edge_descriptor> path(2 * costs.size());
  int64_t flow = boost::edmonds_karp_max_flow(
      network, nearSink(kSink), nearSource(kSource),
      boost::get(boost::edge_capacity, network),
      boost::get(boost::edge_residual_capacity, network),
      boost::get(boost::edge_reverse, network), color.data(), path.data());
  if (flow >= kNever)
    return std::nullopt;
  // The last search for a path has coloured what it still reached.
  auto isReached = [&](size_t end) { return color[end] != boost::white_color; };
  std::vector<Vertex> cut;
  for (Vertex vertex = kSink + 1; vertex < costs.size(); ++vertex)
    if (isReached(nearSink(vertex)) && !isReached(nearSource(vertex)))
      cut.push_back(vertex);
  return cut;
}

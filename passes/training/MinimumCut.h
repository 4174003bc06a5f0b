//===- MinimumCut.h - the cheapest vertices that part a graph -------------===//

#ifndef BATON_PASSES_TRAINING_MINIMUMCUT_H
#define BATON_PASSES_TRAINING_MINIMUMCUT_H

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace baton::training {

/// A directed graph whose vertices have costs, a source and a sink that have
/// none. A cut is a set of vertices that every path from source to sink meets.
class CutGraph {
public:
  using Vertex = unsigned;
  static constexpr Vertex kSource = 0, kSink = 1;

  /// The cost of a vertex that no cut may have; more than any cut's.
  static constexpr int64_t kNever = int64_t(1) << 48;

  /// Costs are at least 1.
  Vertex addVertex(int64_t cost);
  void addEdge(Vertex from, Vertex to) { edges.push_back({from, to}); }

  /// The cheapest cut, in ascending order; of several the one nearest to the
  /// sink, which is unique. Nothing if there is none without forbidden
  /// vertices.
  std::optional<std::vector<Vertex>> minimumCut() const;

private:
  std::vector<int64_t> costs = {kNever, kNever};
  std::vector<std::pair<Vertex, Vertex>> edges;
};

} // namespace baton::training

#endif // BATON_PASSES_TRAINING_MINIMUMCUT_H

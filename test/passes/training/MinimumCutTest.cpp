//===- MinimumCutTest.cpp - cuts are cheapest, and nearest to the sink ----===//

#include "passes/training/MinimumCut.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

using namespace baton::training;
using Vertex = CutGraph::Vertex;
using Cut = std::vector<Vertex>;

TEST(MinimumCut, OfAChainIsItsCheapestVertex) {
  CutGraph graph;
  Vertex a = graph.addVertex(3), b = graph.addVertex(2), c = graph.addVertex(4);
  graph.addEdge(CutGraph::kSource, a);
  graph.addEdge(a, b);
  graph.addEdge(b, c);
  graph.addEdge(c, CutGraph::kSink);
  EXPECT_EQ(graph.minimumCut(), Cut{b});
}

TEST(MinimumCut, OfEqualOnesIsTheNearestToTheSink) {
  CutGraph graph;
  Vertex a = graph.addVertex(2), b = graph.addVertex(2), c = graph.addVertex(2);
  graph.addEdge(CutGraph::kSource, a);
  graph.addEdge(a, b);
  graph.addEdge(b, c);
  graph.addEdge(c, CutGraph::kSink);
  EXPECT_EQ(graph.minimumCut(), Cut{c});
}

TEST(MinimumCut, PrefersOneSharedVertexToTwoThatCostMore) {
  CutGraph graph;
  Vertex shared = graph.addVertex(5), left = graph.addVertex(3),
         right = graph.addVertex(3);
  graph.addEdge(CutGraph::kSource, shared);
  for (Vertex vertex : {left, right}) {
    graph.addEdge(shared, vertex);
    graph.addEdge(vertex, CutGraph::kSink);
  }
  EXPECT_EQ(graph.minimumCut(), Cut{shared});
}

TEST(MinimumCut, LeavesForbiddenVerticesAlone) {
  CutGraph graph;
  Vertex a = graph.addVertex(7), b = graph.addVertex(CutGraph::kNever);
  graph.addEdge(CutGraph::kSource, a);
  graph.addEdge(a, b);
  graph.addEdge(b, CutGraph::kSink);
  EXPECT_EQ(graph.minimumCut(), Cut{a});
  graph.addEdge(CutGraph::kSource, b);
  EXPECT_EQ(graph.minimumCut(), std::nullopt);
}

TEST(MinimumCut, IsEmptyWhereNoPathIs) {
  CutGraph graph;
  Vertex a = graph.addVertex(1);
  graph.addEdge(a, CutGraph::kSink);
  EXPECT_EQ(graph.minimumCut(), Cut{});
}

TEST(MinimumCut, IsAsCheapAsTheBestOfAllSubsets) {
  std::mt19937 random(7);
  constexpr unsigned kVertices = 8;
  for (int round = 0; round < 200; ++round) {
    CutGraph graph;
    std::vector<int64_t> costs = {0, 0};
    for (unsigned i = 0; i < kVertices; ++i) {
      costs.push_back(1 + random() % 6);
      graph.addVertex(costs.back());
    }
    std::vector<std::pair<Vertex, Vertex>> edges;
    for (unsigned from = 0; from < kVertices; ++from)
      for (unsigned to = from + 1; to < kVertices; ++to)
        if (random() % 3 == 0)
          edges.push_back({from + 2, to + 2});
    for (unsigned i = 0; i < 3; ++i) {
      edges.push_back({CutGraph::kSource, 2 + random() % kVertices});
      edges.push_back({2 + random() % kVertices, CutGraph::kSink});
    }
    for (auto [from, to] : edges)
      graph.addEdge(from, to);
    auto parts = [&](unsigned removed) {
      // Whether the sink cannot be reached without these vertices.
      std::vector<bool> reached(kVertices + 2);
      reached[CutGraph::kSource] = true;
      for (unsigned i = 0; i < kVertices + 2; ++i)
        for (auto [from, to] : edges)
          if (reached[from] && (to < 2 || !(removed >> (to - 2) & 1)))
            reached[to] = true;
      return !reached[CutGraph::kSink];
    };
    int64_t best = std::numeric_limits<int64_t>::max();
    for (unsigned removed = 0; removed < 1u << kVertices; ++removed) {
      int64_t cost = 0;
      for (unsigned i = 0; i < kVertices; ++i)
        if (removed >> i & 1)
          cost += costs[i + 2];
      if (cost < best && parts(removed))
        best = cost;
    }
    auto cut = graph.minimumCut();
    ASSERT_TRUE(cut.has_value());
    unsigned removed = 0;
    int64_t cost = 0;
    for (Vertex vertex : *cut) {
      removed |= 1u << (vertex - 2);
      cost += costs[vertex];
    }
    EXPECT_TRUE(parts(removed)) << "round " << round;
    EXPECT_EQ(cost, best) << "round " << round;
  }
}

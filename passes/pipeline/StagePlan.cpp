//===- StagePlan.cpp - layers on groups of devices ------------------------===//

#include "passes/pipeline/StagePlan.h"

#include <algorithm>
#include <limits>
#include <map>
#include <stdexcept>

using namespace baton::pipeline;

static constexpr double kNever = std::numeric_limits<double>::infinity();

std::vector<Submesh>
baton::pipeline::submeshesOf(const std::vector<DeviceKind> &kinds) {
  std::vector<Submesh> list;
  for (size_t kind = 0; kind < kinds.size(); ++kind) {
    const DeviceKind &own = kinds[kind];
    if (own.perNode < 1 || (own.perNode & (own.perNode - 1)) || own.nodes < 1)
      throw std::invalid_argument("devices of a node are a power of two");
    for (int devices = 1; devices < own.perNode; devices *= 2)
      list.push_back({int(kind), devices});
    for (int nodes = 1; nodes <= own.nodes; ++nodes)
      list.push_back({int(kind), nodes * own.perNode});
  }
  return list;
}

double baton::pipeline::secondsOf(const std::vector<PlannedStage> &stages,
                                  int microbatches) {
  double sum = 0, longest = 0;
  for (const PlannedStage &stage : stages) {
    sum += stage.cost.seconds;
    longest = std::max(longest, stage.cost.seconds);
  }
  return sum + (microbatches - 1) * longest;
}

/// Of the s-th stage from the end.
static bool fitsAt(const StageCost &cost, double memory, int fromEnd,
                   int microbatches) {
  return cost.bytes + std::min(fromEnd, microbatches) * cost.microbatchBytes <=
         memory;
}

bool baton::pipeline::fits(const std::vector<PlannedStage> &stages,
                           const std::vector<DeviceKind> &kinds,
                           int microbatches) {
  for (size_t i = 0; i < stages.size(); ++i)
    if (!fitsAt(stages[i].cost, kinds[stages[i].submesh.kind].memory,
                int(stages.size() - i), microbatches))
      return false;
  return true;
}

namespace {

/// One search. The layers from one on, in so many stages, with so many devices
/// of each kind left.
class Search {
public:
  Search(const StageRequest &request, const StageCosts &costs,
         std::vector<Submesh> submeshes)
      : request(request), submeshes(std::move(submeshes)) {
    for (int begin = 0; begin < request.layers; ++begin)
      for (int end = begin + 1; end <= request.layers; ++end)
        for (const Submesh &submesh : this->submeshes)
          known.push_back(costs(begin, end, submesh));
    // Devices left, as one number.
    for (const DeviceKind &kind : request.kinds) {
      strides.push_back(states);
      states *= kind.devices() + 1;
    }
  }

  std::vector<double> bounds() const {
    std::vector<double> all;
    for (const StageCost &cost : known)
      if (cost.seconds < kNever)
        all.push_back(cost.seconds);
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }

  /// The least sum of stages that take no longer than `bound` each.
  std::optional<StagePlan> plan(double bound);

private:
  const StageCost &costOf(int begin, int end, size_t submesh) const {
    // Pairs that begin earlier come first.
    int before = begin * request.layers - begin * (begin - 1) / 2;
    return known[(before + end - begin - 1) * submeshes.size() + submesh];
  }
  int leftOf(int state, size_t kind) const {
    return state / strides[kind] % (request.kinds[kind].devices() + 1);
  }
  struct Cell {
    double sum = kNever;
    int end = 0;
    size_t submesh = 0;
  };
  Cell &at(int stages, int begin, int state) {
    return cells[(size_t(stages) * (request.layers + 1) + begin) * states +
                 state];
  }
  void fill(int stages, int begin, int state, double bound);

  const StageRequest &request;
  std::vector<Submesh> submeshes;
  std::vector<StageCost> known;
  std::vector<int> strides;
  int states = 1;
  std::vector<Cell> cells;
};

} // namespace

void Search::fill(int stages, int begin, int state, double bound) {
  Cell &cell = at(stages, begin, state);
  for (size_t i = 0; i < submeshes.size(); ++i) {
    const Submesh &submesh = submeshes[i];
    if (leftOf(state, submesh.kind) < submesh.devices)
      continue;
    const int left = state - submesh.devices * strides[submesh.kind];
    for (int end = begin + 1; end <= request.layers - (stages - 1); ++end) {
      const StageCost &cost = costOf(begin, end, i);
      if (cost.seconds > bound ||
          !fitsAt(cost, request.kinds[submesh.kind].memory, stages,
                  request.microbatches))
        continue;
      double sum = cost.seconds + at(stages - 1, end, left).sum;
      if (sum < cell.sum)
        cell = {sum, end, i};
    }
  }
}

std::optional<StagePlan> Search::plan(double bound) {
  cells.assign(size_t(request.layers + 1) * (request.layers + 1) * states, {});
  for (int state = 0; state < states; ++state)
    at(0, request.layers, state).sum = 0;
  std::optional<StagePlan> best;
  for (int stages = 1; stages <= request.layers; ++stages) {
    for (int begin = request.layers - stages; begin >= 0; --begin)
      for (int state = 0; state < states; ++state)
        fill(stages, begin, state, bound);
    if (at(stages, 0, states - 1).sum == kNever)
      continue;
    StagePlan plan;
    for (int left = stages, begin = 0, state = states - 1; left > 0; --left) {
      const Cell &cell = at(left, begin, state);
      const Submesh &submesh = submeshes[cell.submesh];
      plan.stages.push_back(
          {begin, cell.end, submesh, costOf(begin, cell.end, cell.submesh)});
      state -= submesh.devices * strides[submesh.kind];
      begin = cell.end;
    }
    plan.seconds = secondsOf(plan.stages, request.microbatches);
    if (!best || plan.seconds < best->seconds)
      best = plan;
  }
  return best;
}

std::optional<StagePlan> baton::pipeline::planStages(
    const StageRequest &request, const StageCosts &costs,
    const std::function<bool(const std::optional<StagePlan> &)> &goesOn) {
  std::vector<Submesh> all = submeshesOf(request.kinds);
  // Groups of submeshes that a plan's stages are all from.
  std::map<int, std::vector<Submesh>> groups;
  for (const Submesh &submesh : all)
    groups[request.alike ? submesh.devices : 0].push_back(submesh);
  std::optional<StagePlan> best;
  for (const auto &[key, submeshes] : groups) {
    (void)key;
    Search search(request, costs, submeshes);
    for (double bound : search.bounds()) {
      if (best && (request.microbatches - 1) * bound >= best->seconds)
        break;
      if (!goesOn(best))
        return best;
      std::optional<StagePlan> plan = search.plan(bound);
      if (plan && (!best || plan->seconds < best->seconds))
        best = plan;
    }
  }
  return best;
}

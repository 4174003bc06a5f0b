//===- StagePlan.h - layers on groups of devices --------------------------===//
//
// The inter-operator problem of Alpa (Zheng et al. 2022, arXiv 2201.12023,
// section 5), with devices of several kinds. Layers become stages, one after
// the other, each on devices of one kind.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_PASSES_PIPELINE_STAGEPLAN_H
#define BATON_PASSES_PIPELINE_STAGEPLAN_H

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace baton::pipeline {

/// `nodes` nodes of `perNode` devices, a power of two.
struct DeviceKind {
  std::string name;
  int nodes = 1, perNode = 1;
  /// Bytes of each device.
  double memory = 0;

  int devices() const { return nodes * perNode; }
};

/// Devices of one kind for a stage: 1, 2, 4, ... of a node, or whole nodes.
struct Submesh {
  int kind = 0, devices = 1;

  bool operator==(const Submesh &) const = default;
};

/// Some of any of these, of as many devices as there are, can always be placed:
/// the largest first, each fills nodes up to a multiple of its own size.
std::vector<Submesh> submeshesOf(const std::vector<DeviceKind> &kinds);

/// What a stage takes: seconds of a microbatch, forward and backward, and bytes
/// on each device, that stay and that each microbatch on its way adds.
struct StageCost {
  double seconds = 0, bytes = 0, microbatchBytes = 0;
};

/// Of layers `begin` to `end` - 1.
using StageCosts =
    std::function<StageCost(int begin, int end, const Submesh &submesh)>;

struct PlannedStage {
  int begin = 0, end = 0;
  Submesh submesh;
  StageCost cost;
};

struct StagePlan {
  std::vector<PlannedStage> stages;
  /// Of a step.
  double seconds = 0;
};

/// sum t + (microbatches - 1) max t, of stages' seconds t: 1F1B, where messages
/// take no time.
double secondsOf(const std::vector<PlannedStage> &stages, int microbatches);

/// Whether the devices have memory for each stage, of which the s-th from the
/// end holds s microbatches, or all there are.
bool fits(const std::vector<PlannedStage> &stages,
          const std::vector<DeviceKind> &kinds, int microbatches);

struct StageRequest {
  int layers = 1, microbatches = 1;
  std::vector<DeviceKind> kinds;
  /// All stages have as many devices, of one kind or of any.
  bool alike = false;
};

/// The plan that takes least time of those that fit; nothing if none does.
/// Devices may be left over. For each bound of a stage's time, the least first,
/// dynamic programming over layers, stages and devices left finds the least
/// sum; it ends where a bound alone takes longer than the best. `goesOn` is
/// asked before each bound, with the best so far, and may end the search.
std::optional<StagePlan> planStages(
    const StageRequest &request, const StageCosts &costs,
    const std::function<bool(const std::optional<StagePlan> &)> &goesOn =
        [](const std::optional<StagePlan> &) { return true; });

} // namespace baton::pipeline

#endif // BATON_PASSES_PIPELINE_STAGEPLAN_H

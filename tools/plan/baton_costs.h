//===- baton_costs.h - what a step of a program of batonc's takes ---------===//
//
// From what an executable says of itself (batonc --emit=description), which is
// made without its code: operations, bytes and exchanges of each program, the
// pipeline's tables, and memory to the byte.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_TOOLS_PLAN_BATON_COSTS_H
#define BATON_TOOLS_PLAN_BATON_COSTS_H

#include "runtime/execute/metadata.h"
#include "runtime/main/training_forecast.h"
#include "tools/plan/baton_split.h"
#include "tools/plan/device.h"

#include <string>

namespace baton::plan {

/// Seconds.
struct BatonTime {
  double total = 0;
  /// Microbatches, until the last one's backward, and what stages idle of it on
  /// average.
  double pipeline = 0, bubble = 0;
  /// What computations take of that on the stage that computes most, and what
  /// its ranks exchange.
  double computation = 0, exchanges = 0;
  /// Behind the last microbatch: gradients, or weights, to other ranks; and the
  /// norm and the optimizer.
  double gradients = 0, update = 0;
  /// Operations of all products and of attention, a second and device.
  double rate = 0;
};

struct BatonForecast {
  BatonTime time;
  /// The rank that takes most memory.
  RankForecast rank;
  /// The pipeline's, if it was wanted and there is one: SVG.
  std::string picture;
};

/// `workers`: threads of each rank, on CPUs. `draws`: whether the picture is
/// wanted. Throws Error where the description is damaged.
BatonForecast forecast(const Metadata &metadata, const BatonSplit &split,
                       const Device &device, unsigned workers,
                       bool draws = false);

/// What no description of a split is below.
struct BatonBound {
  double seconds = 0, bytes = 0;
};

/// Its products, and what ranks exchange of rows, gradients and weights at
/// least; parameters, gradients and, of `states` bytes a parameter, the
/// optimizer's states.
BatonBound bound(const Decoder &decoder, const BatonSplit &split,
                 const Device &device, double states);
/// A bound above that, which takes longer: with the pipeline's schedule, its
/// idle times and what its stages keep of microbatches in flight, too.
BatonBound scheduled_bound(const Decoder &decoder, const BatonSplit &split,
                           const Device &device, double states);

} // namespace baton::plan

#endif // BATON_TOOLS_PLAN_BATON_COSTS_H

//===- Simulator.h - when each step of a schedule runs --------------------===//

#ifndef BATON_PASSES_PIPELINE_SIMULATOR_H
#define BATON_PASSES_PIPELINE_SIMULATOR_H

#include "dialects/Dist/Schedule.h"

namespace baton::pipeline {

/// What one microbatch costs at one position of the model. Any unit of time,
/// and any of memory.
struct PositionCosts {
  double forward = 0, input = 0, weight = 0;
  /// What is kept from the begin of forward to the end of input, and from then
  /// on to the end of weight.
  double activations = 1, weightActivations = 1;
};

struct PipelineCosts {
  /// Of each position.
  std::vector<PositionCosts> positions;
  /// How long a message is under way, in either direction. Stages compute
  /// meanwhile, and links are never full.
  double transfer = 0;

  double timeOf(const Schedule &schedule, int stage, const Step &step) const;
};

struct Timeline {
  struct Entry {
    Step step;
    double start, end;
  };
  /// As the tables.
  std::vector<std::vector<Entry>> stages;
  /// From the first start to the last end of all.
  double total = 0;
  /// The longest time from a stage's first start to its last end: what a step
  /// costs where nothing but the pipeline itself joins stages, since the next
  /// step of a stage may begin before others have ended.
  double longest = 0;
  /// The part of `longest` in which a stage idles, on average.
  double bubble = 0;
  /// Of each stage, the most that its microbatches in flight keep.
  std::vector<double> peakActivations;
};

/// Every step begins as soon as its stage is free and what it reads is there.
/// The schedule has no fault (`findFault`).
Timeline simulate(const Schedule &schedule, const PipelineCosts &costs);

} // namespace baton::pipeline

#endif // BATON_PASSES_PIPELINE_SIMULATOR_H

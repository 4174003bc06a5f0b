//===- training_step.h - how long a training step takes, and its memory ---===//

#ifndef BATON_TOOLS_PLAN_TRAINING_STEP_H
#define BATON_TOOLS_PLAN_TRAINING_STEP_H

#include "passes/pipeline/Simulator.h"
#include "tools/plan/decoder.h"
#include "tools/plan/device.h"
#include "tools/plan/framework.h"

#include <string>

namespace baton::plan {

/// By how much a machine is slower than its files say; measured
/// (calibration.h), or 1.
struct Slowness {
  double device = 1, host = 1, network = 1;
};

/// Seconds.
struct StepTime {
  double total = 0;
  /// From the first microbatch's forward to the last one's backward, and what
  /// a stage idles of it on average.
  double pipeline = 0, bubble = 0;
  /// Of one microbatch on a stage that has no ends: forward and backward.
  double forward = 0, backward = 0;
  /// What collectives of tensor parallel ranks take of both.
  double collectives = 0;
  /// Of both, the part in which the device waits for its host.
  double host_bound = 0;
  /// Gradients to other ranks, as far as nothing else runs meanwhile, and
  /// weights from them where states are cut.
  double gradients = 0;
  /// The embedding's gradients between the first stage and the last.
  double embedding = 0;
  double update = 0;
  /// Operations of the model (none that are made again), a second and device.
  double rate = 0;
};

/// Bytes of the rank that takes most.
struct StepMemory {
  double total = 0;
  double weights = 0, gradients = 0, states = 0, activations = 0, logits = 0;
  /// What a framework keeps for autograd in the place of gradients.
  double placeholders = 0;
  double reserved = 0;
};

StepTime step_time(const Decoder &decoder, const Framework &framework,
                   const Device &device, const Split &split,
                   const Slowness &slowness = {});

/// From the first start of a step's phases to the last end. Once a pipeline is
/// full, each round of as many microbatches as there are stages takes as long
/// as the one before: only a few are played out.
double pipeline_seconds(const Split &split,
                        const pipeline::PipelineCosts &costs);

/// Seconds that no schedule of the split's stages is faster than: the busiest
/// stage's phases and one way through those before it, and what is outside of
/// the pipeline. It plays nothing out.
double step_time_bound(const Decoder &decoder, const Framework &framework,
                       const Device &device, const Split &split,
                       const Slowness &slowness = {});

struct StepPicture {
  /// Empty where there is one stage.
  std::string svg;
  /// Those that it shows.
  int64_t microbatches = 0;
};

/// A split's pipeline, of about so many microbatches at most.
StepPicture step_picture(const Decoder &decoder, const Framework &framework,
                         const Device &device, const Split &split,
                         const Slowness &slowness, int64_t most_microbatches);

/// Activations by the formulas of Korthikanti et al., "Reducing activation
/// recomputation in large transformer models" (2022), section 4, told apart by
/// what each matrix keeps; as many microbatches as 1F1B has in flight.
StepMemory step_memory(const Decoder &decoder, const Framework &framework,
                       const Split &split);

/// Operations of a step: six for each weight of a matrix and token, and
/// attention's products of scores that are not masked.
double step_operations(const Decoder &decoder, const Split &split);

} // namespace baton::plan

#endif // BATON_TOOLS_PLAN_TRAINING_STEP_H

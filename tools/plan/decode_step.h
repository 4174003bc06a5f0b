//===- decode_step.h - how long a step of a decoder takes -----------------===//

#ifndef BATON_TOOLS_PLAN_DECODE_STEP_H
#define BATON_TOOLS_PLAN_DECODE_STEP_H

#include "tools/plan/decoder.h"
#include "tools/plan/device.h"

#include <string>
#include <vector>

namespace baton::plan {

/// A step of one sequence, or of several that have a row each.
struct DecodeStep {
  /// New tokens, all sequences' together.
  int64_t rows = 1;
  /// Keys and values that the last row of a sequence sees, its own included.
  int64_t positions = 1;
  /// Rows that have logits.
  int64_t outputs = 1;
  /// Each row is of a sequence of its own: attention is once for each.
  bool batched = false;
  /// Of linears' weights; those of a config.json are in batonc's --dtype.
  std::string type = "f32";
};

/// Ops that a step runs so many times.
struct StepPart {
  std::string name;
  double times = 1;
  /// Of one.
  double seconds = 0;
  /// Its sizes are within what was measured.
  bool inside = false;
};

/// The ops of a step as batonc fuses them, by what a device was measured to
/// take (measured_ops.h); their sum is the step's time. Throws Error that names
/// the table which the device does not have.
std::vector<StepPart> decode_step(const Decoder &decoder, const Device &device,
                                  const DecodeStep &step);

double seconds(const std::vector<StepPart> &parts);

} // namespace baton::plan

#endif // BATON_TOOLS_PLAN_DECODE_STEP_H

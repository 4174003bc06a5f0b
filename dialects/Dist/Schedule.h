//===- Schedule.h - which stage does what, in which order -----------------===//
//
// A pipeline schedule is a relation: which step must happen before which one.
// A step is a phase of one microbatch in one chunk of one stage. Half of the
// relation follows from the model (a stage reads what its neighbour makes), the
// other half is each stage's table, which is what a stage executes.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_DIALECTS_DIST_SCHEDULE_H
#define BATON_DIALECTS_DIST_SCHEDULE_H

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace baton::pipeline {

/// The backward step is two: what the stage before waits for, and the gradients
/// of parameters, which nobody waits for.
enum class Phase { forward, input, weight };

struct Step {
  Phase phase;
  int microbatch;
  int chunk = 0;

  bool operator==(const Step &) const = default;
};

using Table = std::vector<Step>;

/// Each stage has `chunks` parts of the model. Part `chunk * stages + stage` of
/// all `stages * chunks`, its position, reads what the position before it
/// makes.
struct Schedule {
  std::string name;
  int stages = 0, microbatches = 0, chunks = 1;
  /// Both halves of a backward step are one: gradients leave after `weight`.
  bool fused = false;
  /// What each stage does, in order.
  std::vector<Table> tables;
  /// Of each stage, how many forward steps may wait for the end of their
  /// backward one: a stage keeps the activations of so many.
  std::vector<int> inFlight;

  int countPositions() const { return stages * chunks; }
  int positionOf(int stage, int chunk) const { return chunk * stages + stage; }
  int stageOf(int position) const { return position % stages; }
  int chunkOf(int position) const { return position / stages; }
};

/// A step that has to end before another one begins.
struct Dependence {
  int stage;
  Step step;
};

/// What a step of a stage reads of other stages, or of an earlier phase.
std::vector<Dependence> dependencesOf(const Schedule &schedule, int stage,
                                      const Step &step);

/// What each stage's table reaches; see `inFlight`.
std::vector<int> countInFlight(const Schedule &schedule);

/// "F3", "B0", "W12.1": phase, microbatch, and chunk if that is not 0.
std::string toText(const Step &step);
std::string toText(const Table &table);
/// Nothing if the text is no step. Microbatch and chunk may be any.
std::optional<Step> parseStep(std::string_view text);

} // namespace baton::pipeline

#endif // BATON_DIALECTS_DIST_SCHEDULE_H

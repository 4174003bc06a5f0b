//===- Explanation.h - a plan, its predicted and its measured times -------===//

#ifndef BATON_COMPILER_EXPLAIN_EXPLANATION_H
#define BATON_COMPILER_EXPLAIN_EXPLANATION_H

#include "compiler/CublasLtChoice.h"
#include "compiler/Plan.h"
#include "compiler/explain/Memory.h"
#include "compiler/explain/Reasons.h"
#include "compiler/explain/Timeline.h"
#include "compiler/explain/Trace.h"

#include <optional>
#include <string>
#include <vector>

namespace baton::explain {

/// What does not depend on a step.
struct PhaseExplanation {
  event::PhaseOp op;
  std::string name, segment;
  int64_t repeat;
  std::vector<std::string> calls;
  Sentences fusion, order, events;
  /// Of a linear on a GPU, whether cuBLASLt computes it, and why.
  std::optional<compiler::ProductChoice> product;
};

/// Times are microseconds, of all iterations together.
struct PhaseAtStep {
  /// Of one iteration.
  Cost cost;
  Balance balance;
  Sentences tile;
  std::string eventWords;

  /// At least so long, whatever the number of workers.
  double memory = 0, compute = 0;
  /// What uneven shares of the workers add to the greater of the two.
  double imbalance = 0;
  double events = 0;
  /// What it takes to have cuBLASLt compute the product, where it does.
  double boundary = 0;
  /// "memory", "compute" or "synchronisation": the greatest part.
  std::string bound;
  std::optional<PhaseTime> measured;

  double predicted() const {
    return std::max(memory, compute) + imbalance + events + boundary;
  }
};

struct StepExplanation {
  std::string name;
  Step step;
  std::vector<PhaseAtStep> phases;
  /// Tasks in rank order on the machine's workers, phases overlapping.
  Timeline simulated;
  std::optional<Timeline> measured;
  std::vector<Lifetime> lifetimes;
  /// What a reader has to know of this step, such as that it is not the one
  /// asked for.
  Sentences notes;

  double predicted() const;
};

struct Explanation {
  std::string model;
  event::ProgramOp program;
  Machine machine;
  std::vector<PhaseExplanation> phases;
  std::vector<StepExplanation> steps;
  MemoryUse memory;
  /// Remarks of passes about what is no phase now.
  std::vector<compiler::Remark> remarks;
  /// Where measured times come from; empty without any.
  std::string measuredFrom;
};

struct NamedStep {
  std::string name;
  Step step;
};

/// Whether a program trains.
bool trains(event::ProgramOp program);

/// What is chosen of a program's linears on a GPU, by these figures.
struct Products {
  std::vector<compiler::ProductChoice> choices;
  compiler::TargetDescription figures;
};

/// Explains a plan at some steps. `target` is null when the plan was given as
/// it is; `traced` may be empty.
Explanation explainPlan(const compiler::Plan &plan, const std::string &model,
                        llvm::ArrayRef<NamedStep> steps,
                        llvm::ArrayRef<TracedStep> traced,
                        const Machine &machine,
                        const compiler::TargetDescription *target,
                        const Products &products);

/// Tables and sentences of at most 120 columns.
std::string explanationText(const Explanation &explanation);

/// One JSON object; docs/explain.md lists its members.
std::string explanationJson(const Explanation &explanation);

/// One HTML page that needs nothing else.
std::string explanationPage(const Explanation &explanation);

} // namespace baton::explain

#endif // BATON_COMPILER_EXPLAIN_EXPLANATION_H

//===- Costs.h - what tasks compute and move ------------------------------===//
//
// Floating-point operations follow from the operands of a task's calls, by the
// formula that its body declares (codegen/bodies). Bytes follow from the
// accesses that a phase states, and from what a body reads of its weights. Both
// are those of the plan; caches and instructions are not looked at.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_COMPILER_EXPLAIN_COSTS_H
#define BATON_COMPILER_EXPLAIN_COSTS_H

#include "dialects/Event/Event.h"

#include "llvm/ADT/StringExtras.h"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace baton::explain {

/// Values of a step's symbols.
struct Step {
  int64_t rows, past, outputs;

  std::array<int64_t, event::kStepSymbols> symbols() const {
    return {rows, past, outputs};
  }
};

struct Cost {
  double flops = 0;
  /// The part of `flops` that is products with BF16 weights, or of sides that
  /// training rounds to 16 bits.
  double bf16Flops = 0;
  /// False when some body's formula is not known; `flops` lacks its part.
  bool flopsKnown = true;
  double weightBytes = 0;
  double readBytes = 0, writtenBytes = 0;
  double stateReadBytes = 0, stateWrittenBytes = 0;

  double bytes() const {
    return weightBytes + readBytes + writtenBytes + stateReadBytes +
           stateWrittenBytes;
  }
};

/// The costs of a phase in one iteration of its segment.
struct PhaseCost {
  /// Each byte once, however many tasks read it, and calls that a worker need
  /// not repeat once for each first coordinate.
  Cost once;
  /// Of each task, row-major. Calls marked invariant are left out: they are
  /// `invariant` operations for each task that has to run them.
  std::vector<Cost> tasks;
  double invariantFlops = 0;
  /// How often the average byte of the weights is read.
  double weightReads = 0;
};

/// Of a program whose steps have rows of many sequences.
struct BatchLimits {
  int64_t sequences, longest;
};
std::optional<BatchLimits> batchOf(event::ProgramOp program);

/// Whether a buffer's description says that it is an "input", for example.
bool hasRole(event::BufferOp buffer, llvm::StringRef role);

/// Whether a buffer is a parameter of a program that trains.
bool isTrained(event::BufferOp buffer);

PhaseCost phaseCost(event::PhaseOp phase, const Step &step);

/// All coordinates of a phase's grid at a step, row-major.
std::vector<llvm::SmallVector<int64_t, 3>> tasksOf(event::PhaseOp phase,
                                                   const Step &step);

/// Weights of linear layers, and the products with them, for one token; and
/// what fused attention adds for each position.
struct LinearCosts {
  double bytes = 0, flops = 0;
  /// The part of `flops` that only rows with logits need.
  double flopsPerOutput = 0;
  /// What attention of a row to one position costs, by how many of the last
  /// positions it sees; 0 is all.
  std::map<int64_t, double> attentionFlops;
  /// The part of `bytes` that are a row's experts', by how many of how many
  /// experts these are.
  std::map<std::pair<int64_t, int64_t>, double> expertBytes;
  /// How they are stored; of several types each.
  std::set<std::string> dtypes;
  /// What inputs of some are rounded to: "int8", "bf16", "bf16-amx".
  std::set<std::string> inputs;
  std::string dtype() const {
    return dtypes.empty() ? "f32" : llvm::join(dtypes, ", ");
  }

  /// Of two programs, one behind the other.
  LinearCosts &operator+=(const LinearCosts &other);
};

LinearCosts linearCosts(event::ProgramOp program);

/// Operations of products with weights, and of their adjoints, that a step
/// takes for a row more. What a step takes once, as some updates do, is none of
/// it.
double productFlopsOfRow(event::ProgramOp program);

/// What a training step costs, by the kinds of its phases: "products" with
/// weights and their adjoints, "attention", "updates", which only a step has
/// that ends with one, and "rest".
struct TrainingCosts {
  struct Amount {
    double flops = 0, bytes = 0;
  };
  struct Kind {
    /// For a step of any number of rows, and for each of them. Of attention
    /// `flops` are left out.
    Amount step, row;
  };
  std::map<std::string, Kind> kinds;
  /// Attention, forward and backward, of a row to one that it sees, by how many
  /// of the last rows it sees; 0 is all.
  std::map<int64_t, double> attentionFlops;
};

TrainingCosts trainingCosts(event::ProgramOp program);

} // namespace baton::explain

#endif // BATON_COMPILER_EXPLAIN_COSTS_H

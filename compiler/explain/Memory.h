//===- Memory.h - what memory holds while a step runs ---------------------===//

#ifndef BATON_COMPILER_EXPLAIN_MEMORY_H
#define BATON_COMPILER_EXPLAIN_MEMORY_H

#include "compiler/explain/Costs.h"

#include <string>
#include <vector>

namespace baton::explain {

/// Bytes that a program has for as long as it runs.
struct MemoryUse {
  double weights = 0, states = 0, transients = 0;
  /// Of a program that trains: weights, gradients, the optimizer's states.
  double kept = 0;
  /// Of one that decodes on several ranks: what exchanges keep. `states` of one
  /// that decodes many sequences are of a page.
  double exchanges = 0;
  /// Of one worker.
  double scratch = 0;
};

MemoryUse memoryUse(event::ProgramOp program);

/// A transient buffer, and the phases during which its values are needed or
/// made: from the first write to the last read, around the loop too.
struct Lifetime {
  std::string buffer, storage;
  /// At the step, not at full capacity.
  double bytes;
  std::vector<bool> live;
};

std::vector<Lifetime> lifetimes(event::ProgramOp program, const Step &step);

} // namespace baton::explain

#endif // BATON_COMPILER_EXPLAIN_MEMORY_H

//===- batch_check.h - whether a step's arrays may be used ---------------===//
//
// A batch program's proof takes for granted what its tables hold: that they are
// in their ranges, that rows write different slots, and that nobody reads as
// past what another sequence writes. Whoever fills in the arrays has every step
// checked before a task indexes by them.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_EXECUTE_BATCH_CHECK_H
#define BATON_RUNTIME_EXECUTE_BATCH_CHECK_H

#include "runtime/execute/batch_inputs.h"
#include "runtime/program.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace baton {

/// Keeps its scratch memory: checking allocates nothing but a fault's text.
class BatchCheck {
public:
  explicit BatchCheck(const BatchCapacities &shape);

  /// What is wrong with a step that has rows, or nothing:
  /// - it has no past, and rows and outputs as the program takes them;
  /// - tokens, positions, sequences and slots of its rows are in their ranges,
  ///   and so are entries of `pages` up to its rows' positions;
  /// - positions of one sequence ascend;
  /// - a row's slot is where `pages` has its position, and nobody else's;
  /// - a page that is written is at one entry of one sequence, of all entries
  ///   that its rows may read;
  /// - what is wanted of rows with logits names a line of changes, and no more
  ///   changes, and likely tokens, than there are, and a token that is given is
  ///   one;
  /// - of a row that is masked it says who makes the mask;
  /// - tokens that are listed for a row are tokens, as many as may be;
  /// - where panels of logits are left out, no row reads one of them;
  /// - a row's adapter has whole panels of ranks, of those that there are.
  /// O(rows + those entries + panels of logits).
  std::optional<std::string> find_fault(const BatonStep &step,
                                        const BatchInputs &inputs);

private:
  std::optional<std::string> find_row_fault(uint32_t row,
                                            const BatchInputs &inputs);
  std::optional<std::string>
  find_adapter_fault(uint32_t row, const BatchInputs &inputs) const;
  std::optional<std::string> find_page_fault(int32_t sequence,
                                             const BatchInputs &inputs) const;
  std::optional<std::string>
  find_sampling_fault(uint32_t output, const BatchInputs &inputs) const;
  std::optional<std::string> find_listed_fault(uint32_t output,
                                               const BatchInputs &inputs) const;
  std::optional<std::string> find_panels_fault(uint32_t outputs,
                                               const BatchInputs &inputs) const;

  struct Writer {
    /// In which step; others say nothing.
    uint64_t step = 0;
    /// The line and entry of whoever writes the page.
    int32_t sequence = 0;
    int32_t entry = 0;
    /// Bit i: slot i of the page.
    uint64_t slots = 0;
  };
  struct Reader {
    uint64_t step = 0;
    /// The last row so far, and its position.
    uint32_t row = 0;
    int32_t position = 0;
  };

  const BatchCapacities shape;
  uint64_t steps = 0;
  /// Of each page.
  std::vector<Writer> writers;
  /// Of each sequence.
  std::vector<Reader> readers;
  /// Sequences that the step has.
  std::vector<int32_t> present;
};

} // namespace baton

#endif // BATON_RUNTIME_EXECUTE_BATCH_CHECK_H

//===- input_moments.h - how inputs of linears go together ----------------===//
//
// The second moments of a linear's inputs X, the matrix X^T X, say what any
// change of its weights does to its outputs over a text: the squared error is
// tr(D X^T X D^T), if the weights change by D. What inputs can stand in for
// others follows from them.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_EXECUTE_INPUT_MOMENTS_H
#define BATON_RUNTIME_EXECUTE_INPUT_MOMENTS_H

#include "runtime/execute/metadata.h"
#include "runtime/execute/phase_observer.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace baton {

class InputMoments : public PhaseObserver {
public:
  /// A parameter and one of its layers, as its copies are counted.
  using Linear = std::pair<std::string, uint32_t>;

  /// Of these linears only. Throws Error, naming the phase, for one whose
  /// inputs a task computes by itself. `metadata` outlives this. `threads`: 0
  /// for as many as the machine has cores; sums are the same for any.
  InputMoments(const Metadata &metadata, std::set<Linear> wanted,
               unsigned threads = 0);

  void record(const BatonStep &step, uint32_t phase, uint32_t iteration,
              void *const *storages) override;

  struct Sum {
    uint64_t width = 0, rows = 0;
    /// [width, width], row-major; of a symmetric matrix the lower triangle.
    std::vector<double> products;
  };
  const std::map<Linear, Sum> &sums() const { return all; }

private:
  const Metadata &metadata;
  const std::set<Linear> wanted;
  const unsigned threads;
  std::map<Linear, Sum> all;
};

} // namespace baton

#endif // BATON_RUNTIME_EXECUTE_INPUT_MOMENTS_H

//===- input_squares.h - how large the inputs of linears are --------------===//
//
// Of a linear, an input's mean square says how much an error of the weights
// that it is multiplied by counts: if errors of weights have nothing to do with
// one another, that of an output has the mean square
// sum over inputs of (error of the weight)^2 * (mean square of the input).
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_EXECUTE_INPUT_SQUARES_H
#define BATON_RUNTIME_EXECUTE_INPUT_SQUARES_H

#include "runtime/execute/metadata.h"
#include "runtime/execute/phase_observer.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace baton {

class InputSquares : public PhaseObserver {
public:
  /// Throws Error, naming the phase, for a program whose linears compute some
  /// of their inputs by themselves. `metadata` outlives this.
  explicit InputSquares(const Metadata &metadata);

  void record(const BatonStep &step, uint32_t phase, uint32_t iteration,
              void *const *storages) override;

  struct Sum {
    /// Of each input, over all rows.
    std::vector<double> squares;
    uint64_t rows = 0;

    std::vector<float> means() const;
  };
  /// By parameter and layer.
  const std::map<std::pair<std::string, uint32_t>, Sum> &sums() const {
    return all;
  }

private:
  const Metadata &metadata;
  std::map<std::pair<std::string, uint32_t>, Sum> all;
};

} // namespace baton

#endif // BATON_RUNTIME_EXECUTE_INPUT_SQUARES_H

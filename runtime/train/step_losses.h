//===- step_losses.h - what a step's summaries say of its loss ------------===//

#ifndef BATON_RUNTIME_TRAIN_STEP_LOSSES_H
#define BATON_RUNTIME_TRAIN_STEP_LOSSES_H

#include "runtime/weights/data_type.h"

#include <nlohmann/json.hpp>

#include <string>
#include <utility>
#include <vector>

namespace baton {

/// Sums of the losses of a step's microbatches. A program has one loss, or says
/// by which names it has several ("training", "losses"): what it minimises
/// first, then the model's own, and what else there is.
class StepLosses {
public:
  /// `type`: of the numbers of a summary.
  StepLosses(const nlohmann::json &description, DataType type);

  void restart();
  /// A microbatch's, of several ranks together: [the first, the gradients'
  /// norm, the factor that clips them, whether all is finite, the others].
  void add(const void *summary);

  /// What is minimised.
  double all() const { return sums.front(); }
  /// The model's own: of a mixture of experts without what its routers add.
  double own() const;
  /// All but the first, by name.
  std::vector<std::pair<std::string, double>> parts() const;

private:
  DataType type;
  std::vector<std::string> names = {"loss"};
  std::vector<double> sums;
};

} // namespace baton

#endif // BATON_RUNTIME_TRAIN_STEP_LOSSES_H

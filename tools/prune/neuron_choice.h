//===- neuron_choice.h - which neurons of an MLP stay ---------------------===//
//
// An MLP's output is W a, a the activations of its n neurons. Without some of
// them it is W' a', and what is lost over a text is tr(D G D^T), where D is the
// change of W, zeros in place of what is gone included, and G the second
// moments of a.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_TOOLS_PRUNE_NEURON_CHOICE_H
#define BATON_TOOLS_PRUNE_NEURON_CHOICE_H

#include <cstdint>
#include <span>
#include <vector>

namespace baton {

/// The `keep` largest of these, ascending by their place; of equal ones those
/// that come first.
std::vector<uint32_t> largest(std::span<const double> sizes, uint64_t keep);

struct LeastSquaresChoice {
  /// Ascending.
  std::vector<uint32_t> kept;
  /// [outputs, kept], row-major.
  std::vector<float> weights;
  /// What is lost, as a part of tr(W G W^T).
  double loss = 0;
  /// How many neurons came back for another one.
  uint64_t exchanges = 0;
};

/// Removes neurons one by one, each time the one without which least is lost if
/// all others' weights may change (backward elimination, as OSSCAR has it: Meng
/// et al., 2024; the closed form is that of the optimal brain surgeon), and
/// solves for the weights of those that stay. Before that, up to `exchanges`
/// times, a neuron comes back for another one (neuron_exchange.h), if less is
/// lost so. `weights` is [outputs, neurons],
/// row-major, and `moments` [neurons, neurons]; `damping` of the moments' mean
/// diagonal is added to their diagonal, for neurons that are sums of others, or
/// that no text has reached. Throws Error where that does not make them
/// positive definite.
LeastSquaresChoice choose_by_least_squares(std::span<const float> weights,
                                           std::span<const double> moments,
                                           uint64_t neurons, uint64_t keep,
                                           double damping, uint64_t exchanges);

} // namespace baton

#endif // BATON_TOOLS_PRUNE_NEURON_CHOICE_H

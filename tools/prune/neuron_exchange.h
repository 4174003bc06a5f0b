//===- neuron_exchange.h - neurons that change places ---------------------===//
//
// A neuron that stays and one that is gone change places where less is lost
// then, as in the local search of OSSCAR (Meng et al., "OSSCAR: One-Shot
// Structured Pruning in Vision and Language Models with Combinatorial
// Optimization", 2024).
//
//===----------------------------------------------------------------------===//

#ifndef BATON_TOOLS_PRUNE_NEURON_EXCHANGE_H
#define BATON_TOOLS_PRUNE_NEURON_EXCHANGE_H

#include <Eigen/Core>

#include <cstdint>
#include <vector>

namespace baton {

/// Each time the exchange of all by which most is won, if all weights that stay
/// are solved for, `most` times or until none wins more than a ten-thousandth
/// of what is lost. `moments` [neurons, neurons] are positive definite, and
/// `weights` [outputs, neurons]. Returns how many it has made; `is_gone` are
/// the neurons that are gone, before and afterwards.
uint64_t exchange_neurons(const Eigen::MatrixXd &moments,
                          const Eigen::MatrixXd &weights, uint64_t most,
                          std::vector<bool> &is_gone);

} // namespace baton

#endif // BATON_TOOLS_PRUNE_NEURON_EXCHANGE_H

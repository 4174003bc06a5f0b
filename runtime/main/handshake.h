//===- handshake.h - ranks of one run run the same ------------------------===//

#ifndef BATON_RUNTIME_MAIN_HANDSHAKE_H
#define BATON_RUNTIME_MAIN_HANDSHAKE_H

#include "runtime/comm/communicator.h"
#include "runtime/main/training_run.h"
#include "runtime/train/training_tensors.h"

#include <nlohmann/json.hpp>

namespace baton {

/// What ranks have to agree on, by the name that an error has for it: the
/// executable, the mesh, the weights, the data, and every flag that decides
/// about numbers. Executable, weights and, in samples, data by a hash.
nlohmann::ordered_json identity(const TrainingRun &run,
                                const TrainingTensors &tensors);

/// The same of ranks that decode, which do what the one with the logits says.
/// The weights are those of the checkpoint, by a hash of samples.
nlohmann::ordered_json identity(const Metadata &metadata,
                                const RunOptions &run);

/// That ranks which made the same steps have the same weights, or the same part
/// of them; where ranks have other layers, those in one place of `axis`. Throws
/// AgreedError, naming one that differs.
void compare_weights(Communicator &communicator, const TrainingTensors &tensors,
                     const std::string &axis = "");

/// Compares what all ranks have. Throws AgreedError, naming a rank that differs
/// from rank 0, or in weights from one that has the same layers, and in what.
void shake_hands(Communicator &communicator,
                 const nlohmann::ordered_json &identity,
                 const std::string &axis = "");

} // namespace baton

#endif // BATON_RUNTIME_MAIN_HANDSHAKE_H

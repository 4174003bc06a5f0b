//===- references.h - what a model says of pairs before it is trained -----===//
//
// A loss of pairs of answers compares with a reference: the model as the run
// begins, with its adapter if it has one. The logarithms of the probabilities
// that it gives both answers of each pair are computed once and lie in the
// run's folder, as references.safetensors: "logps", [pairs, 2], of the chosen
// answer and of the other one, as numbers of the program's type.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_TRAIN_REFERENCES_H
#define BATON_RUNTIME_TRAIN_REFERENCES_H

#include "runtime/weights/data_type.h"

#include <array>
#include <cstdint>
#include <filesystem>
#include <vector>

namespace baton {

/// By the numbers of pairs: of the chosen answer, and of the other one.
using References = std::vector<std::array<double, 2>>;

/// What the loss of pairs is made of, besides what the model says.
struct Preferences {
  /// How much a model may differ from the reference: less, the larger.
  double beta = 0.1;
  References references;
};

/// A name in the run's folder.
inline constexpr const char *references_name = "references.safetensors";

/// `type`: F32 or F64. `data`: a hash of the pairs. Throws Error that names
/// the file.
void write_references(const References &references, DataType type,
                      uint64_t data, const std::filesystem::path &folder);

/// Throws Error that names the file, when it is not there, or of other pairs.
References read_references(const std::filesystem::path &folder, uint64_t count,
                           uint64_t data);

} // namespace baton

#endif // BATON_RUNTIME_TRAIN_REFERENCES_H

//===- decoding_stages.h - who runs which part of a model -----------------===//
//
// What the description of a program that decodes on the stages of a pipeline
// says of them: each is a program of its own, the last one first.
//
//   "stages": {"axis": "pp", "messages": [...]},
//   "programs": [{"name": "llama.stage1", "stage": 1, "part": "decode",
//                 "storages": [{"storage": 0, "bytes": 4096, ...}], ...}, ...],
//   "parameters": [{"name": "embedding", "stages": [0], ...}, ...]
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_DECODE_DECODING_STAGES_H
#define BATON_RUNTIME_DECODE_DECODING_STAGES_H

#include "runtime/comm/mesh.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>

namespace baton {

struct DecodingStages {
  std::string axis;

  /// Nothing for a program of one stage. Throws Error when it is damaged.
  static std::optional<DecodingStages> parse(const nlohmann::json &description);

  /// The stage that a rank is.
  uint32_t stage_of(const Mesh &mesh, uint32_t rank) const {
    return mesh.place(rank, {axis}).index;
  }
};

/// The rank that has the logits of each step, of the lowest number; 0 in a
/// program of one stage.
uint32_t rank_with_logits(const nlohmann::json &description, const Mesh &mesh);

} // namespace baton

#endif // BATON_RUNTIME_DECODE_DECODING_STAGES_H

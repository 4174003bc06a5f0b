//===- training_state.h - where a run stands, in numbers -----------------===//
//
// state.json of a checkpoint:
//
//   {"version": 1, "step": 1200, "seed": 42, "sequence": 38400, "extra": {...}}
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_TRAIN_TRAINING_STATE_H
#define BATON_RUNTIME_TRAIN_TRAINING_STATE_H

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace baton {

struct TrainingState {
  /// Steps that are finished, and so the number of the one that comes next.
  uint64_t step = 0;
  /// Of the order of sequences, and how many have been read: see batches.h.
  uint64_t seed = 0;
  uint64_t sequence = 0;
  /// Whatever else its writer wants to find again: an object.
  nlohmann::json extra = nlohmann::json::object();
};

/// The text of state.json. Throws Error when `extra` is no object.
std::string state_text(const TrainingState &state);

/// Reads it. Throws Error, naming the file and the key, when it is not what
/// state_text() writes, or of another version.
TrainingState parse_state(std::string_view text, const std::string &file);

/// Parses JSON from outside. Throws Error, naming the file, when it is
/// malformed, nests absurdly, or is not an object.
nlohmann::json parse_object(std::string_view text, const std::string &file);

} // namespace baton

#endif // BATON_RUNTIME_TRAIN_TRAINING_STATE_H

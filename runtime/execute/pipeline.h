//===- pipeline.h - what a stage of a pipeline runs -----------------------===//
//
// A program that is compiled for stages (batonc --mesh=pp=N) has several
// programs, which each rank runs one after the other:
//
//   "pipeline": {"schedule": "1f1b", "axis": "pp", "microbatches": 4,
//                "chunks": 1, "fused": true, "in_flight": [2, 1],
//                "tables": ["F0 F1 B0 W0 ...", ...], "bubble": 0.2,
//                "stages": [{"positions": [0], "offsets": [0]}, ...],
//                "messages": [as in comm/mesh.h]}
//   "programs": [{"part": "forward", "stage": 0, ...
//                 "storages": [{"storage": 7, "bytes": 64, "scope": "stage",
//                               "slot": "flight"}, ...]}, ...]
//
// Position `chunk * N + place` of the model is on the rank at a place of the
// axis. What the parts are, and what slots, says passes/stages/StagePrograms.h.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_EXECUTE_PIPELINE_H
#define BATON_RUNTIME_EXECUTE_PIPELINE_H

#include "runtime/comm/mesh.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace baton {

/// A program that a rank runs in a step.
struct StageCall {
  enum class Kind { Forward, Backward, End, Update };

  Kind kind = Kind::Forward;
  /// Index into the description's programs.
  uint32_t program = 0;
  uint32_t chunk = 0;
  /// None at the step's end, when all microbatches are through.
  std::optional<uint32_t> microbatch;
  /// The place of what is kept for the microbatch.
  uint32_t slot = 0;
};

/// A storage as one of several programs uses it.
struct StorageUse {
  enum class Scope { Transient, Rank, Stage };

  uint32_t storage = 0;
  uint64_t bytes = 0;
  Scope scope = Scope::Transient;
  /// "", "flight", "microbatch" or "chunk"
  std::string slot;
};

struct Pipeline {
  struct Stage {
    std::vector<uint32_t> positions;
    /// How much greater numbers of layers are there.
    std::vector<uint64_t> offsets;
  };

  std::string schedule, axis;
  uint32_t places = 1, microbatches = 1, chunks = 1;
  bool fused = false;
  std::vector<uint32_t> in_flight;
  std::vector<std::string> tables;
  /// The part of a step that stages are planned to idle.
  double bubble = 0;
  std::vector<Stage> stages;
  /// Of each program: how it uses storages.
  std::vector<std::vector<StorageUse>> uses;

  /// Of a program's description; nothing for one without stages. Throws Error
  /// when it is damaged.
  static std::optional<Pipeline> parse(const nlohmann::json &description);

  uint32_t place_of(const Mesh &mesh, uint32_t rank) const {
    return mesh.place(rank, {axis}).index;
  }
  /// Which stage a place runs as a chunk, and by how much its layers' numbers
  /// are greater there.
  struct Part {
    uint32_t stage;
    uint64_t offset;
  };
  Part part(uint32_t place, uint32_t chunk) const;
  /// What the rank at a place runs in a step, in order.
  std::vector<StageCall> calls(uint32_t place) const;

private:
  uint32_t program(uint32_t stage, const std::string &part) const;

  /// Stage and part of each program; stage -1 for what all ranks run.
  std::vector<std::pair<int64_t, std::string>> programs;
};

/// Where a place's programs have their storages, in bytes.
struct StageLayout {
  /// A storage in memory that several programs share.
  struct Region {
    uint32_t storage, chunk;
    uint64_t begin, bytes;
  };
  /// All of the rank's; those of a stage's parameters, gradients and the
  /// optimizer's states; what is kept of one microbatch, so many times.
  std::vector<Region> shared, stage, flight;
  /// Of programs by their index, those that the place runs: where transient
  /// storages begin.
  std::vector<std::vector<uint64_t>> transient;
  uint64_t shared_bytes = 0, stage_bytes = 0, flight_bytes = 0,
           transient_bytes = 0;
  uint32_t slots = 0;

  StageLayout(const Pipeline &pipeline, uint32_t place);

  uint64_t bytes() const {
    return shared_bytes + stage_bytes + flight_bytes * slots + transient_bytes;
  }
  /// Throws std::logic_error when there is none.
  static const Region &find(const std::vector<Region> &regions,
                            uint32_t storage, uint32_t chunk);
};

} // namespace baton

#endif // BATON_RUNTIME_EXECUTE_PIPELINE_H

//===- value_dump.h - every value of a run as files ----------------------===//
//
// One .npy file per (phase, iteration, buffer that the phase writes), numbered
// in program order, and an index.json that lists them in that order:
//
//   {"format": 1, "model": {...}, "values": [
//     {"file": "003_layers.self_attn.q_proj.layer2.npy",
//      "phase": "layers.self_attn.q_proj", "segment": "layers", "iteration": 2,
//      "buffer": "q", "dtype": "float32", "shape": [128, 64]}, ...]}
//
// A value with rows per token or output holds those of all steps, joined along
// that dimension. Otherwise it is as the last step left it (keys and values of
// all positions). Where other dimensions grow with the positions (attention
// scores), earlier steps' rows are filled up with zeros. BF16 and F16 are
// widened to F32, which changes no value. Buffers whose extents only the
// program can evaluate are left out.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_EXECUTE_VALUE_DUMP_H
#define BATON_RUNTIME_EXECUTE_VALUE_DUMP_H

#include "runtime/execute/metadata.h"
#include "runtime/execute/npy.h"
#include "runtime/execute/phase_observer.h"
#include "runtime/execute/written_values.h"
#include "runtime/files/temporary.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <utility>
#include <vector>

namespace baton {

class ValueDump : public PhaseObserver {
public:
  /// Creates the folder and one file per value in it; without publish(),
  /// nothing of that is left. Throws Error when it is refused. `metadata`
  /// outlives this.
  ValueDump(const Metadata &metadata, const std::filesystem::path &folder);
  ValueDump(const ValueDump &) = delete;

  /// Copies what the phase has just written. All steps are of one text.
  void record(const BatonStep &step, uint32_t phase, uint32_t iteration,
              void *const *storages) override;

  /// Puts all files into their places, the index last.
  void publish();

private:
  struct Value {
    uint32_t phase;
    uint32_t iteration;
    const WrittenBuffer *buffer;
    NpyType type;
    NpyWriter writer;
    /// What each step added, of values that cannot be appended to a file as
    /// they come.
    std::vector<WrittenValues> pieces;
  };
  void add_program(const ProgramDescription &program, size_t digits);
  static void join(Value &value);

  const Metadata &metadata;
  std::filesystem::path folder;
  TemporaryFolder own_folder;
  /// In program order.
  std::vector<Value> values;
  /// What a (phase, iteration) adds to a value, and where it writes that.
  struct Addition {
    size_t value;
    const WrittenBuffer *buffer;
  };
  std::map<std::pair<uint32_t, uint32_t>, std::vector<Addition>> additions;
};

} // namespace baton

#endif // BATON_RUNTIME_EXECUTE_VALUE_DUMP_H

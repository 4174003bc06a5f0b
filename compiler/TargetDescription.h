//===- TargetDescription.h - what a target is, as data -------------------===//

#ifndef BATON_COMPILER_TARGETDESCRIPTION_H
#define BATON_COMPILER_TARGETDESCRIPTION_H

#include "llvm/Support/Error.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace baton::compiler {

/// Limits of a step and sizes of tiles, in rows and columns. See
/// compiler/targets/cpu.json.
struct TargetDescription {
  enum class ProgramKind { Sequence, Batch, Training };

  int64_t maxRows, maxOutputs;
  int64_t linearRows, linearColumns, attentionRows, plainRows;
  /// What CPUs take in the place of linearRows where sums are AMX's
  /// (--activations=bf16-amx): enough rows to make tiles of weights for.
  /// Optional in the file: 0 where they are as others.
  int64_t amxLinearRows = 0;
  /// Positions of an attention task where a step's rows are those of one tile,
  /// a multiple of 64; 0 for all. Optional in the file.
  int64_t attentionSplit = 0;
  /// Most memory for logits of a training step, which are made for so many rows
  /// at a time, as far as it takes at most 8 parts that divide max_rows, of
  /// which one is halved. Unit: bytes. Optional in the file.
  int64_t logitsBytes = int64_t(128) << 20;
  /// Gradients that several ranks exchange at a time, at least, as far as one
  /// iteration of a stack of layers has them. Unit: bytes.
  int64_t bucketBytes = int64_t(25) << 20;
  /// Whether a norm is computed again by each linear that reads it, instead of
  /// by tasks of its own. Optional in the file.
  int64_t recomputeNorms = 1;
  /// Phases of at most so many tasks have far fewer than there are workers.
  /// Optional in the file: 0 where workers may be few.
  int64_t fewTasks = 0;
  /// Of a block on a device: its threads, the bytes of shared memory that it
  /// may have, and the stages of the ring of weights. Optional in the file.
  int64_t threads = 256, sharedBytes = 1, ringStages = 1;
  /// Ten times the compute capability of a device whose instructions tuned
  /// bodies may use, as BATON_ARCHITECTURE in codegen/cuda/library/device.h.
  int64_t instructions = 80;

  /// Figures of a machine of this kind, which explain's predictions take when
  /// it is given no others. Optional in the file; of a target that runs on the
  /// host, what the file leaves out is measured.
  std::optional<double> workers, readBandwidthGigabytes, workerGigaflops,
      eventMicroseconds;
  /// Of a machine with tensor cores, for products with BF16 weights.
  std::optional<double> workerTensorGigaflops;
  /// Of such a GPU, for the choice between its own bodies of many rows and
  /// cuBLASLt: the shares of that peak that they reach, and what a launch at a
  /// boundary of all workers takes. Optional in the file.
  std::optional<double> ownBodyReaches, cublasLtReaches, launchMicroseconds;

  /// Reads the descriptions of all programs that an executable has: the file's,
  /// and, where it has "few_rows", one that takes the entries of that instead,
  /// for steps of no more than its max_rows rows; those of many sequences take
  /// "few_rows_of_batches" for it, so that a row alone in its step has the bits
  /// that it has beside others. A device's architecture is
  /// one of the file's "architectures", or of those at `usualPath` where it
  /// has none, with entries of its own; hosts have none. A program that trains
  /// takes the entries of "training" instead. Errors name the file and the
  /// entry.
  static llvm::Expected<std::vector<TargetDescription>>
  read(const std::string &path, std::optional<llvm::StringRef> architecture,
       const std::string &usualPath, ProgramKind kind);
};

} // namespace baton::compiler

#endif // BATON_COMPILER_TARGETDESCRIPTION_H

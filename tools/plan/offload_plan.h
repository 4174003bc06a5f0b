//===- offload_plan.h - decoding in less memory than a model takes --------===//
//
// FlexGen's question (Sheng et al. 2023) for programs of batonc --offload: of
// weights, keys and values, which parts stay in memory, and how many sequences
// share a step? A step is a block in zig-zag order: layer by layer, for all
// sequences of it, so that weights come once for all. While a layer computes,
// the next one comes.
//
// Activations of a step are rows of one layer, used again by the next one: they
// stay in memory, as they do in the program.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_TOOLS_PLAN_OFFLOAD_PLAN_H
#define BATON_TOOLS_PLAN_OFFLOAD_PLAN_H

#include "runtime/execute/metadata.h"
#include "runtime/main/offload_memory.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace baton::plan {

/// What a machine does in a second.
struct OffloadMachine {
  /// Bytes from the disk to memory, past the system's cache, and back.
  double disk_rate = 0;
  /// Bytes of memory that a step's tasks read, and operations of their
  /// products, as far as tasks reach these.
  double memory_rate = 0, operation_rate = 0;
};

/// A step of a program, in seconds and bytes.
struct OffloadStep {
  double layers = 0;
  /// What one layer computes, and what follows the last one.
  double layer_seconds = 0, tail_seconds = 0;
  /// Bytes of one layer's weights that may move.
  double layer_weights = 0;
  /// Bytes of one layer's keys and values that a step reads of pages that do
  /// not stay, if none stays, and that it writes.
  double layer_read = 0, layer_written = 0;
};

/// What sequences of so many positions take, each with a row in the step.
OffloadStep offload_step(const Metadata &metadata, const OffloadNeeds &needs,
                         const OffloadMachine &machine, uint64_t sequences,
                         double positions);

/// Parts that stay in memory, 0 to 1.
struct OffloadShares {
  double weights = 0, pages = 0;
  /// Of a layer: what it waits for, or computes.
  double layer_seconds = 0;
};

/// The least seconds of a layer within `limit` bytes, by a linear program.
/// Nothing if not even the least fits.
std::optional<OffloadShares> best_shares(const OffloadStep &step,
                                         const OffloadNeeds &needs,
                                         const OffloadMachine &machine,
                                         double limit);

/// The same with these shares; and the bytes that they take.
double layer_seconds(const OffloadStep &step, const OffloadMachine &machine,
                     double weights, double pages);
double shares_memory(const OffloadStep &step, const OffloadNeeds &needs,
                     double weights, double pages);

/// What the program then does, with whole pages and whole tensors.
struct OffloadForecast {
  OffloadShares shares;
  OffloadPlan plan;
  /// A step in which each sequence gets a token.
  double step_seconds = 0;
  /// Bytes from the disk, and to it, in such a step.
  double weights_read = 0, pages_read = 0, pages_written = 0;
};

OffloadForecast forecast(const OffloadStep &step, const OffloadNeeds &needs,
                         const OffloadMachine &machine, uint64_t limit,
                         const OffloadShares &shares, const std::string &flag);

/// Bytes that movers of a program read in a second from a file in `folder`,
/// past the system's cache; the median of some windows.
double measure_disk_rate(const std::string &folder);

} // namespace baton::plan

#endif // BATON_TOOLS_PLAN_OFFLOAD_PLAN_H

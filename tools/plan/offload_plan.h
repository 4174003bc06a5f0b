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
  /// Bytes from the disk to memory, past the system's cache, and back: while
  /// nothing computes, and while all workers do.
  double disk_rate = 0, busy_disk_rate = 0;
  /// Of what workers compute in a second, the part that they do while the disk
  /// is read.
  double share_beside_disk = 1;
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

/// Seconds in which a layer computes for so long, were it alone, and so many
/// bytes come or go: some while it computes, the others then.
double overlapped_seconds(const OffloadMachine &machine, double computes,
                          double bytes);

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
  /// Of each layer: seconds in which it computes; in which what has to be there
  /// for the next one would come, if nothing computed; and what it takes.
  struct Layer {
    double computes = 0, weights = 0, pages_in = 0, pages_out = 0, seconds = 0;
  };
  std::vector<Layer> of_layers;
  /// Until the first layer's keys and values are there.
  double first_pages = 0;
  /// Bytes from the disk, and to it, in such a step.
  double weights_read = 0, pages_read = 0, pages_written = 0;
};

/// Seconds of a step with this placement, and what it moves.
OffloadForecast forecast(const OffloadStep &step, const OffloadNeeds &needs,
                         const OffloadMachine &machine, OffloadPlan plan);

OffloadForecast forecast(const OffloadStep &step, const OffloadNeeds &needs,
                         const OffloadMachine &machine, uint64_t limit,
                         const OffloadShares &shares, const std::string &flag);

/// Rates of the disk of `folder`, as movers of a program read it past the
/// system's cache, and of so many workers beside them. The median of some
/// windows.
void measure_disk(const std::string &folder, unsigned workers,
                  OffloadMachine &machine);

} // namespace baton::plan

#endif // BATON_TOOLS_PLAN_OFFLOAD_PLAN_H

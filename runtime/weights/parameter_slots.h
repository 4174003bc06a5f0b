//===- parameter_slots.h - the packed region, layer by layer --------------===//

#ifndef BATON_RUNTIME_WEIGHTS_PARAMETER_SLOTS_H
#define BATON_RUNTIME_WEIGHTS_PARAMETER_SLOTS_H

#include "runtime/weights/checkpoint.h"
#include "runtime/weights/description.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace baton {

/// A part's tensor of one layer. Throws Error when it is missing, of another
/// shape than the program was compiled for, or of a type that is no weight's.
StoredTensor find_stored(const ParameterPart &part, uint64_t layer,
                         const Checkpoint &checkpoint);

/// One layer of one parameter.
struct ParameterSlot {
  const ParameterDescription *parameter;
  /// As tensors' names count it.
  uint64_t layer = 0;
  /// Its tensors, one per part; empty for constants and random weights.
  std::vector<StoredTensor> tensors;
  /// The program reads the checkpoint's own bytes.
  bool in_place = false;
  /// Nobody reads it on this rank.
  bool elsewhere = false;

  bool in_region() const { return !in_place && !elsewhere; }
  /// The layer's own form, where layers differ.
  std::shared_ptr<const WeightForm> own_form = {};
  const WeightForm &form() const {
    return own_form ? *own_form : *parameter->form;
  }
  uint64_t bytes() const { return form().layer_bytes(); }
  /// In the region, unless in place.
  uint64_t offset = 0;
};

/// A slot of so many bytes begins on a page.
inline constexpr uint64_t slot_bytes_on_page = 64 * 1024;

/// A line between slots that belongs to none, so that the address sanitizer
/// sees a task run from one into the next.
inline constexpr uint64_t slot_gap = 64;

/// All slots, in the order of the program's pointer table; with a checkpoint,
/// each with its tensors. Throws Error as find_stored does.
std::vector<ParameterSlot>
make_slots(const std::vector<ParameterDescription> &parameters,
           const Checkpoint *checkpoint);

/// Places the slots in the region; returns its size.
uint64_t assign_offsets(std::vector<ParameterSlot> &slots);

/// A piece of a slot: its form's units first ..= last - 1.
struct PackingJob {
  size_t slot;
  uint64_t first;
  uint64_t last;
};

/// Cuts the slots that live in the region into pieces of about a megabyte. The
/// cut depends on nothing else: random values are seeded by piece.
std::vector<PackingJob> make_jobs(const std::vector<ParameterSlot> &slots);

/// Makes a piece of a slot whose memory, zeros, begins at `layer`: of its
/// tensors, or of random numbers with this seed.
void make_piece(const ParameterSlot &slot, const PackingJob &job,
                std::optional<uint64_t> seed, std::byte *layer);

} // namespace baton

#endif // BATON_RUNTIME_WEIGHTS_PARAMETER_SLOTS_H

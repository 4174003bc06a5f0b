//===- tiered_layers.h - layers of which only some are in memory ----------===//
//
// A program that obeys a cap has tasks that fetch what a layer touches, its
// chunk, before the layer computes, and release it behind
// (dialects/Event/Tiers.h). Here is which bytes these chunks are, which layers'
// chunks always stay in memory, and how much memory that takes: the same
// numbers for a run, for its forecast, and for who plans one.
//
// Chunks lie in one PagedRegion. The optimizer's states do, too: updates touch
// them, and the weights and gradients of all layers, piece by piece.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_EXECUTE_TIERED_LAYERS_H
#define BATON_RUNTIME_EXECUTE_TIERED_LAYERS_H

#include "runtime/execute/metadata.h"
#include "runtime/execute/paged_region.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace baton {

/// What of the layers stays in memory. Layers count in the order in which the
/// forward step computes them, over all stacks.
struct Residence {
  /// The first layers, of which weights, gradients and states stay.
  uint32_t persistent = 0;
  /// The first layers, of which saved values go to the file between the forward
  /// and the backward step; those of all others stay.
  uint32_t swapped = 0;
  bool operator==(const Residence &) const = default;
};

class TieredLayers {
public:
  /// Bytes that come and go at once.
  static constexpr uint64_t chunk_bytes = uint64_t(64) << 10;

  /// Of steps of `step.rows` rows. Nothing of a program that has no such tasks.
  static std::optional<TieredLayers> parse(const Metadata &metadata,
                                           const BatonStep &step);

  uint32_t layers() const { return static_cast<uint32_t>(blocks.size()); }
  /// Layers whose chunks may be in memory at once beside what stays: as many as
  /// the plan has slots, or, for who looks for a plan, another number.
  uint32_t slots() const { return slot_count; }
  void set_slots(uint32_t slots) { slot_count = slots; }

  /// Storages that lie in the region, in ascending order, where each begins,
  /// and the region's bytes.
  const std::vector<size_t> &storages() const { return tiered; }
  uint64_t begin(size_t storage) const { return begins.at(storage); }
  uint64_t bytes() const { return region_bytes; }
  /// All bytes of the region that a run ever touches, whole chunks.
  uint64_t used_bytes() const;

  /// Bytes of the region that are in memory at most, and at some moment are.
  /// `workers` tasks of an update need some for themselves.
  uint64_t peak(const Residence &residence, unsigned workers) const;
  /// Bytes that come into memory in a step of one microbatch.
  struct Moved {
    /// Before each layer computes, forward and backward, by the forward order.
    std::vector<uint64_t> forward, backward;
    /// As updates touch them.
    uint64_t update = 0;
    uint64_t all_forward() const;
    uint64_t all_backward() const;
    uint64_t all() const { return all_forward() + all_backward() + update; }
  };
  Moved moved(const Residence &residence, unsigned workers) const;

  /// That with the fewest moved bytes whose peak is at most `most`; the fewest
  /// swapped layers among equals. Nothing if none is.
  std::optional<Residence> choose(uint64_t most, unsigned workers) const;

  PagedRegion::Layout layout(const Residence &residence) const;

  /// Does what the task of a phase is for: with a layer of its segment.
  void move(PagedRegion &region, uint32_t phase, uint32_t layer) const;

private:
  /// Bytes of one layer of one tensor.
  struct Tensor {
    PagedRegion::Part first;
    uint64_t stride;
    /// Whether the backward step reads what the forward one saves.
    bool saved;
    PagedRegion::Part part(uint32_t layer) const {
      return {first.begin + layer * stride, first.bytes};
    }
  };
  struct Tier {
    uint32_t phase;
    bool fetches, reverse;
    uint32_t layers;
    std::vector<Tensor> tensors;
  };
  /// A layer, and how many of the region's chunks it has.
  struct Block {
    /// Weights that the forward step reads; with gradients; with states.
    uint64_t forward = 0, backward = 0, states = 0;
    uint64_t saved = 0;
    std::vector<PagedRegion::Part> state_parts, saved_parts;
  };

  /// Says which storages lie in the region, and where. Returns those of the
  /// optimizer's states by the tensor that they are of.
  std::map<std::string, std::vector<size_t>>
  place_storages(const Metadata &metadata);
  /// Of all blocks, whose own are counted: those of several together.
  void count_chunks();
  /// Chunks of parts that may share some.
  static uint64_t count(std::vector<PagedRegion::Part> parts);
  uint64_t staying(const Residence &residence) const;

  std::vector<Tier> tiers;
  std::vector<Block> blocks;
  std::vector<size_t> tiered;
  std::vector<uint64_t> begins;
  std::vector<PagedRegion::Part> used;
  /// By how many first layers have weights that stay, and by how many have
  /// swapped values.
  std::vector<uint64_t> staying_states, staying_saved;
  uint64_t region_bytes = 0, used_chunks = 0;
  /// Chunks that updates touch, and those of them that the norm of gradients
  /// reads before.
  uint64_t update_chunks = 0, gradient_chunks = 0;
  uint32_t slot_count = 1;
};

/// How a run keeps layers: what lies where, and what stays.
struct TieredRun {
  TieredLayers layers;
  Residence residence;
};

} // namespace baton

#endif // BATON_RUNTIME_EXECUTE_TIERED_LAYERS_H

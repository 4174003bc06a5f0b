//===- parameters.h - the weights of a compiled program in memory --------===//

#ifndef BATON_RUNTIME_WEIGHTS_PARAMETERS_H
#define BATON_RUNTIME_WEIGHTS_PARAMETERS_H

#include "runtime/files/direct_file.h"
#include "runtime/weights/checkpoint.h"
#include "runtime/weights/memory.h"
#include "runtime/weights/offloading.h"
#include "runtime/weights/parameter_slots.h"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace baton {

/// A part of a layer's weights that comes from a file.
struct LayerTransfer {
  /// In the file, and so many bytes of it: whole pages.
  uint64_t offset, bytes;
  std::byte *to;
};

/// What moves in place of staying in memory: see offloading.h.
struct OffloadedLayers {
  std::shared_ptr<const DirectFile> file;
  /// Of each layer, in the order in which a step comes to them.
  std::vector<std::vector<LayerTransfer>> layers;
  /// Bytes of weights that a step moves, without what pads them.
  uint64_t moved_bytes = 0;
};

/// What a program's weights take where layers may move: what has to stay in
/// memory in any case, and what need not.
struct WeightNeeds {
  uint64_t fixed = 0;
  std::vector<LayerPiece> pieces;
  /// Of each piece, its place in the program's pointer table.
  std::vector<size_t> slots;
};

/// Tables count as memory as a whole, also where they lie in a checkpoint's
/// file, as rows of it may all be read.
WeightNeeds weight_needs(const nlohmann::json &description,
                         const OffloadingDescription &offloading);

/// How layers are loaded of which some move.
struct LayerLoading {
  LayerPlacement placement;
  /// Where a file goes if the checkpoint's cache is none.
  std::filesystem::path folder = ".";
};

struct LoadOptions {
  /// Of the program's ranks, the one whose parts are read.
  uint32_t rank = 0;
  /// Read packed weights from the checkpoint's .baton folder, or write them
  /// there when they are not (see cache.h).
  bool use_cache = true;
  /// 0: as many as the machine has cores.
  unsigned threads = 0;
  /// No warnings on standard error.
  bool quiet = false;
  /// Called as bytes of packed weights get ready, never twice at a time but
  /// from any thread; `done` only grows and ends at `total`. An exception ends
  /// the load.
  std::function<void(uint64_t done, uint64_t total)> progress;
  /// Of a program that was compiled with --offload.
  std::optional<LayerLoading> layers = {};
};

/// Owns what a program's parameter pointers point to: one region of huge pages
/// with everything that was packed, converted or generated, and the checkpoint
/// files whose tables the program reads in place.
///
/// Forms, by kind (see description.h):
///   panels    [ceil(n/16)][k][16], see packing.h
///   vector    n floats, zeros up to a multiple of 16; when interleaved, 16 of
///             one part and 16 of the other in turn
///   table     [rows, columns] row-major; in place, at the file's alignment,
///             when it is stored in the wanted type and aligned to its element
///   constant  n floats, zeros up to a multiple of 16
/// In the region each starts on 64 bytes, large ones on a page, with at
/// least 64 unused bytes between one and the next.
class Parameters {
public:
  /// Reads a program's parameters from a checkpoint. Throws Error for a
  /// malformed description and for a tensor that is missing, of another shape,
  /// or of a type that is no weight's. Trouble with the cache is a warning.
  static Parameters load(const nlohmann::json &description,
                         const Checkpoint &checkpoint,
                         const LoadOptions &options = {});

  /// Random weights for timing without a checkpoint: linear layers with the
  /// standard deviation 1/sqrt(k), tables 1/sqrt(columns), vectors near one, or
  /// near zero for sources named "...bias". The same seed gives the same bytes,
  /// whatever the number of threads. Of ranks that are stages, one has what it
  /// reads.
  static Parameters random(const nlohmann::json &description, uint64_t seed,
                           unsigned threads = 0, uint32_t rank = 0,
                           const std::optional<LayerLoading> &layers = {});

  /// One pointer per (parameter, layer), in the description's order: the
  /// `parameters` of BatonContext (runtime/program.h).
  const void *const *table() const { return pointers.data(); }
  size_t table_size() const { return pointers.size(); }
  /// All memory that the pointers point into: the region, and each table that
  /// is read in place.
  const std::vector<std::span<const std::byte>> &pieces() const {
    return all_pieces;
  }
  /// Bytes that the program's weights occupy, tables read in place included.
  uint64_t resident_bytes() const { return resident; }
  /// The region: all but the tables that are read in place.
  std::span<const std::byte> packed() const {
    return {region.data(), static_cast<size_t>(region.size())};
  }
  /// What moves while steps run; null where all weights stay in memory.
  const OffloadedLayers *offloaded() const { return moving.get(); }
  /// True when nothing had to be packed.
  bool from_cache() const { return cached; }

private:
  void point_to(const std::vector<ParameterSlot> &slots,
                const std::function<std::byte *(size_t)> &memory_of);

  std::vector<const void *> pointers;
  HugeRegion region, ring;
  std::unique_ptr<OffloadedLayers> moving;
  std::vector<std::span<const std::byte>> all_pieces;
  std::vector<std::shared_ptr<const WeightFile>> files;
  uint64_t resident = 0;
  bool cached = false;
};

} // namespace baton

#endif // BATON_RUNTIME_WEIGHTS_PARAMETERS_H

//===- parameters.h - the weights of a compiled program in memory --------===//

#ifndef BATON_RUNTIME_WEIGHTS_PARAMETERS_H
#define BATON_RUNTIME_WEIGHTS_PARAMETERS_H

#include "runtime/weights/checkpoint.h"
#include "runtime/weights/memory.h"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace baton {

struct ParameterPart;

/// A part's tensor of one layer. Throws Error when it is missing, of another
/// shape than the program was compiled for, or of a type that is no weight's.
StoredTensor find_stored(const ParameterPart &part, uint64_t layer,
                         const Checkpoint &checkpoint);

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
                           unsigned threads = 0, uint32_t rank = 0);

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
  /// True when nothing had to be packed.
  bool from_cache() const { return cached; }

private:
  std::vector<const void *> pointers;
  HugeRegion region;
  std::vector<std::span<const std::byte>> all_pieces;
  std::vector<std::shared_ptr<const WeightFile>> files;
  uint64_t resident = 0;
  bool cached = false;
};

} // namespace baton

#endif // BATON_RUNTIME_WEIGHTS_PARAMETERS_H

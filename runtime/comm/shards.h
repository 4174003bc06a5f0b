//===- shards.h - which part of a tensor a rank has -----------------------===//
//
// Of a tensor that is cut into parts a program's description says
//
//   "shards": [{"dimension": 0, "extent": 131, "axes": ["tp"],
//               "granularity": 1, "units": [66, 65]}, ...]
//
// Each shard cuts a dimension of what those before it have left: `extent`
// indices, among the ranks that differ on its axes, of which the first is the
// outermost. Without units all parts are equal; with them, indices come in
// blocks of `granularity`, of which each rank has the next so many, and the
// last one may be shorter. Memory for a part has room for the largest; what a
// rank has less is zero there.
//
// With "flat", a shape, what is cut are all elements of such a tensor, which is
// what shards before have left, numbered row-major; then it is the last shard,
// and memory for a part has one dimension, of whole blocks.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_COMM_SHARDS_H
#define BATON_RUNTIME_COMM_SHARDS_H

#include "runtime/comm/mesh.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace baton {

/// Indices [begin, begin + count) of a dimension.
struct IndexRange {
  uint64_t begin = 0;
  uint64_t count = 0;

  bool operator==(const IndexRange &) const = default;
};

struct Shard {
  size_t dimension = 0;
  uint64_t extent = 0;
  std::vector<std::string> axes;
  uint64_t granularity = 1;
  /// Of each rank of the axes; empty where all parts are equal.
  std::vector<uint64_t> units;
  /// The shape of what is cut without regard to it; empty for a dimension.
  std::vector<uint64_t> flat;

  /// Ranks that have different parts.
  uint64_t parts(const Mesh &mesh) const;
  /// Which of these parts a rank has.
  uint64_t place(const Mesh &mesh, uint32_t rank) const;
  IndexRange part(uint64_t place, uint64_t parts) const;
};

/// Which indices a rank has of a dimension that one shard cuts. Throws Error,
/// naming the tensor, where the shard is damaged or does not fit the mesh.
IndexRange part_of(const std::string &name, const nlohmann::json &shard,
                   const Mesh &mesh, uint32_t rank);

/// A tensor that ranks may have parts of, row-major.
class ShardedTensor {
public:
  /// `shape` is that of the memory for a part. Throws Error, naming the tensor,
  /// where the shards are damaged or do not leave this shape. `json` may be
  /// null: all ranks have all of it.
  ShardedTensor(const std::string &name, std::vector<uint64_t> shape,
                const nlohmann::json &json, const Mesh &mesh);

  /// The same by the shape of all parts together.
  static ShardedTensor of_whole(const std::string &name,
                                const std::vector<uint64_t> &shape,
                                const nlohmann::json &json, const Mesh &mesh);

  bool is_cut() const { return !shards.empty(); }
  /// Whether parts are runs of elements, whatever the shape.
  bool is_flat() const { return is_cut() && !shards.back().flat.empty(); }
  const std::vector<uint64_t> &part_shape() const { return shape; }
  /// Of all parts together.
  const std::vector<uint64_t> &whole_shape() const { return whole; }
  /// Axes over which ranks have different parts, ascending.
  const std::vector<std::string> &axes() const { return all_axes; }
  /// What a rank has of each dimension of the whole tensor; where parts are
  /// flat, of all elements together that are left to be cut so.
  std::vector<IndexRange> ranges(uint32_t rank) const;
  /// The first of the ranks that have the same part as this one.
  uint32_t owner(uint32_t rank) const;

  /// Calls `run` for all runs of a rank's elements that lie behind one another
  /// both in the whole tensor and in its memory, in ascending order, with where
  /// they begin and how many they are.
  using Run =
      std::function<void(uint64_t whole, uint64_t part, uint64_t count)>;
  void for_each_run(uint32_t rank, const Run &run) const;

private:
  IndexRange part(const Shard &shard, uint32_t rank) const;
  std::vector<IndexRange> cut_dimensions(uint32_t rank) const;
  void for_each_dense_run(uint32_t rank, const Run &run) const;

  Mesh mesh;
  std::vector<Shard> shards;
  /// `dense` is what shards of dimensions leave, the memory but where parts are
  /// flat.
  std::vector<uint64_t> shape, dense, whole;
  std::vector<std::string> all_axes;
};

/// What a program's tasks read of a rank's place from a storage.
struct PlaceNumbers {
  size_t storage;
  std::vector<int32_t> numbers;
};

/// What a program's "places" name: of dimensions that are cut, each by one
/// shard, where the rank's part begins and how many indices it has.
///
///   "places": [{"storage": 3, "shards": [{"extent": 131, ...}, ...]}, ...]
///
/// Throws Error where it is damaged.
std::vector<PlaceNumbers> numbers_of(const nlohmann::json &places,
                                     const Mesh &mesh, uint32_t rank);

/// Writes them to the program's storages.
void write_places(const nlohmann::json &places, const Mesh &mesh, uint32_t rank,
                  void *const *storages);

} // namespace baton

#endif // BATON_RUNTIME_COMM_SHARDS_H

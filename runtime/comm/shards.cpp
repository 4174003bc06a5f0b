//===- shards.cpp - which part of a tensor a rank has ---------------------===//

#include "runtime/comm/shards.h"

#include "runtime/error.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace baton {

namespace {

[[noreturn]] void damaged(const std::string &name, const std::string &what) {
  throw Error("this program's description is damaged: the shards of " + name +
              " " + what);
}

Shard parse_shard(const nlohmann::json &json) {
  Shard shard;
  shard.dimension = json.at("dimension").get<size_t>();
  shard.extent = json.at("extent").get<uint64_t>();
  shard.axes = json.at("axes").get<std::vector<std::string>>();
  shard.granularity = json.value("granularity", uint64_t(1));
  shard.units = json.value("units", std::vector<uint64_t>());
  shard.flat = json.value("flat", std::vector<uint64_t>());
  return shard;
}

uint64_t blocks_of(const Shard &shard) {
  return shard.extent / shard.granularity +
         (shard.extent % shard.granularity ? 1 : 0);
}

/// Indices of the largest part; 0 for a shard that no mesh fits.
uint64_t largest_part(const Shard &shard, uint64_t parts) {
  constexpr uint64_t most = uint64_t(1) << 48;
  if (parts == 0 || shard.extent == 0 || shard.extent > most ||
      shard.granularity == 0 || shard.granularity > most)
    return 0;
  if (shard.units.empty())
    return shard.extent % parts ? 0 : shard.extent / parts;
  uint64_t blocks = 0;
  for (uint64_t units : shard.units) {
    if (units > most)
      return 0;
    blocks += units;
  }
  if (shard.units.size() != parts || blocks != blocks_of(shard))
    return 0;
  uint64_t room = *std::max_element(shard.units.begin(), shard.units.end()) *
                  shard.granularity;
  return shard.flat.empty() ? std::min(shard.extent, room) : room;
}

} // namespace

uint64_t Shard::parts(const Mesh &mesh) const {
  uint64_t count = 1;
  for (const std::string &name : axes) {
    auto axis = std::find_if(
        mesh.axes.begin(), mesh.axes.end(),
        [&](const Mesh::Axis &known) { return known.name == name; });
    if (axis == mesh.axes.end())
      return 0;
    count *= axis->size;
  }
  return count;
}

uint64_t Shard::place(const Mesh &mesh, uint32_t rank) const {
  uint64_t place = 0;
  for (const std::string &name : axes) {
    Place along = mesh.place(rank, {name});
    place = place * along.count + along.index;
  }
  return place;
}

IndexRange Shard::part(uint64_t place, uint64_t parts) const {
  if (units.empty())
    return {extent / parts * place, extent / parts};
  auto first = units.begin(), own = first + static_cast<ptrdiff_t>(place);
  uint64_t begin =
      std::min(extent, std::accumulate(first, own, uint64_t(0)) * granularity);
  return {begin, std::min(extent - begin, *own * granularity)};
}

IndexRange part_of(const std::string &name, const nlohmann::json &json,
                   const Mesh &mesh, uint32_t rank) {
  try {
    const Shard shard = parse_shard(json);
    const uint64_t parts = shard.parts(mesh);
    if (largest_part(shard, parts) == 0)
      damaged(name, "do not fit the mesh");
    return shard.part(shard.place(mesh, rank), parts);
  } catch (const nlohmann::json::exception &failure) {
    damaged(name, std::string("cannot be read: ") + failure.what());
  }
}

ShardedTensor::ShardedTensor(const std::string &name,
                             std::vector<uint64_t> part_shape,
                             const nlohmann::json &json, const Mesh &mesh)
    : mesh(mesh), shape(std::move(part_shape)), dense(shape), whole(shape) {
  if (json.is_null())
    return;
  try {
    for (const nlohmann::json &entry : json)
      shards.push_back(parse_shard(entry));
  } catch (const nlohmann::json::exception &failure) {
    damaged(name, std::string("cannot be read: ") + failure.what());
  }
  for (const Shard &shard : shards)
    if (!shard.flat.empty() &&
        (&shard != &shards.back() || shape.size() != 1 ||
         std::accumulate(shard.flat.begin(), shard.flat.end(), uint64_t(1),
                         std::multiplies<>()) != shard.extent))
      damaged(name, "are flat, but not the last one, of all elements");
  // From what is left back to all of it.
  for (auto shard = shards.rbegin(); shard != shards.rend(); ++shard) {
    if (shard->dimension >= whole.size())
      damaged(name, "cut a dimension that it does not have");
    uint64_t part = largest_part(*shard, shard->parts(mesh));
    if (part == 0 || part != whole[shard->dimension])
      damaged(name, "do not fit its part or the mesh");
    if (shard->flat.empty())
      whole[shard->dimension] = shard->extent;
    else
      whole = dense = shard->flat;
    all_axes.insert(all_axes.end(), shard->axes.begin(), shard->axes.end());
  }
  std::sort(all_axes.begin(), all_axes.end());
  if (std::adjacent_find(all_axes.begin(), all_axes.end()) != all_axes.end())
    damaged(name, "are twice over one axis");
}

ShardedTensor ShardedTensor::of_whole(const std::string &name,
                                      const std::vector<uint64_t> &shape,
                                      const nlohmann::json &json,
                                      const Mesh &mesh) {
  std::vector<uint64_t> part = shape;
  if (!json.is_null())
    try {
      for (const nlohmann::json &entry : json) {
        Shard shard = parse_shard(entry);
        if (shard.dimension < part.size())
          part[shard.dimension] = largest_part(shard, shard.parts(mesh));
      }
    } catch (const nlohmann::json::exception &failure) {
      damaged(name, std::string("cannot be read: ") + failure.what());
    }
  ShardedTensor result(name, std::move(part), json, mesh);
  if (result.whole_shape() != shape)
    damaged(name, "are of another tensor");
  return result;
}

IndexRange ShardedTensor::part(const Shard &shard, uint32_t rank) const {
  return shard.part(shard.place(mesh, rank), shard.parts(mesh));
}

std::vector<IndexRange> ShardedTensor::cut_dimensions(uint32_t rank) const {
  std::vector<IndexRange> result;
  for (uint64_t extent : whole)
    result.push_back({0, extent});
  for (const Shard &shard : shards) {
    if (!shard.flat.empty())
      break;
    IndexRange &range = result[shard.dimension];
    IndexRange own = part(shard, rank);
    // A part that was shorter than others is cut like them.
    uint64_t begin = std::min(own.begin, range.count);
    range = {range.begin + begin, std::min(own.count, range.count - begin)};
  }
  return result;
}

std::vector<IndexRange> ShardedTensor::ranges(uint32_t rank) const {
  if (is_flat())
    return {part(shards.back(), rank)};
  return cut_dimensions(rank);
}

uint32_t ShardedTensor::owner(uint32_t rank) const {
  return mesh.first_like(rank, all_axes);
}

void ShardedTensor::for_each_run(uint32_t rank, const Run &run) const {
  if (!is_flat())
    return for_each_dense_run(rank, run);
  const IndexRange own = part(shards.back(), rank);
  for_each_dense_run(
      rank, [&](uint64_t in_whole, uint64_t in_part, uint64_t count) {
        uint64_t begin = std::max(in_part, own.begin),
                 end = std::min(in_part + count, own.begin + own.count);
        if (begin < end)
          run(in_whole + (begin - in_part), begin - own.begin, end - begin);
      });
}

/// The same of what shards of dimensions leave.
void ShardedTensor::for_each_dense_run(uint32_t rank, const Run &run) const {
  const std::vector<IndexRange> own = cut_dimensions(rank);
  for (const IndexRange &range : own)
    if (range.count == 0)
      return;
  // Dimensions from `split` on are whole, and one run together with a range of
  // the one before.
  size_t split = dense.size();
  uint64_t row = 1;
  while (split > 0 && own[split - 1].count == whole[split - 1] &&
         dense[split - 1] == whole[split - 1])
    row *= dense[--split];
  if (split == 0)
    return run(0, 0, row);
  const IndexRange &last = own[split - 1];
  std::vector<uint64_t> index(split - 1, 0);
  while (true) {
    uint64_t in_whole = 0, in_part = 0;
    for (size_t i = 0; i + 1 < split; ++i) {
      in_whole = in_whole * whole[i] + own[i].begin + index[i];
      in_part = in_part * dense[i] + index[i];
    }
    in_whole = in_whole * whole[split - 1] + last.begin;
    in_part = in_part * dense[split - 1];
    run(in_whole * row, in_part * row, last.count * row);
    size_t d = split - 1;
    while (d > 0 && ++index[d - 1] == own[d - 1].count)
      index[--d] = 0;
    if (d == 0)
      return;
  }
}

std::vector<PlaceNumbers> numbers_of(const nlohmann::json &places,
                                     const Mesh &mesh, uint32_t rank) {
  std::vector<PlaceNumbers> result;
  try {
    for (const nlohmann::json &entry : places) {
      PlaceNumbers &own = result.emplace_back(
          PlaceNumbers{entry.at("storage").get<size_t>(), {}});
      for (const nlohmann::json &one : entry.at("shards")) {
        IndexRange part = part_of("its places", one, mesh, rank);
        own.numbers.push_back(static_cast<int32_t>(part.begin));
        own.numbers.push_back(static_cast<int32_t>(part.count));
      }
    }
  } catch (const nlohmann::json::exception &failure) {
    damaged("its places", std::string("cannot be read: ") + failure.what());
  }
  return result;
}

void write_places(const nlohmann::json &places, const Mesh &mesh, uint32_t rank,
                  void *const *storages) {
  for (const PlaceNumbers &own : numbers_of(places, mesh, rank))
    std::copy(own.numbers.begin(), own.numbers.end(),
              static_cast<int32_t *>(storages[own.storage]));
}

} // namespace baton

//===- parameters.cpp - the weights of a compiled program in memory ------===//

#include "runtime/weights/parameters.h"

#include "runtime/error.h"
#include "runtime/weights/cache.h"
#include "runtime/weights/description.h"
#include "runtime/weights/message.h"
#include "runtime/weights/packed_file.h"
#include "runtime/weights/parallel.h"
#include "runtime/weights/parameter_slots.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>

namespace baton {

namespace {

void forbid_gaps(const std::vector<ParameterSlot> &slots, HugeRegion &region) {
  uint64_t end = 0;
  for (const ParameterSlot &slot : slots) {
    if (!slot.in_region())
      continue;
    region.forbid(end, slot.offset - end);
    end = slot.offset + slot.bytes();
  }
}

/// Packs every slot; source pages are dropped as soon as a slot is done.
void pack_all(const std::vector<ParameterSlot> &slots, std::byte *base,
              unsigned threads, const BytesDone &done) {
  std::vector<PackingJob> jobs = make_jobs(slots);
  std::vector<std::atomic<uint64_t>> left(slots.size());
  for (const PackingJob &job : jobs)
    left[job.slot].fetch_add(1, std::memory_order_relaxed);
  parallel_for(jobs.size(), threads, [&](size_t i) {
    const PackingJob &job = jobs[i];
    const ParameterSlot &slot = slots[job.slot];
    if (job.first == 0)
      for (const StoredTensor &source : slot.tensors)
        source.file->prefetch(*source.tensor);
    make_piece(slot, job, {}, base + slot.offset);
    if (left[job.slot].fetch_sub(1, std::memory_order_acq_rel) == 1) {
      for (const StoredTensor &source : slot.tensors)
        source.file->release(*source.tensor);
      done(slot.bytes());
    }
  });
}

/// Turns pieces that finish in any order into one growing sum.
class Progress {
public:
  Progress(const LoadOptions &options, uint64_t total)
      : options(options), total(total) {}

  void add(uint64_t bytes) {
    if (!options.progress)
      return;
    std::lock_guard lock(mutex);
    done = std::min(total, done + bytes);
    report();
  }
  /// Alignment gaps belong to no piece, and a damaged cache counts nothing.
  void finish() {
    if (!options.progress)
      return;
    std::lock_guard lock(mutex);
    done = total;
    report();
  }

private:
  void report() {
    if (done != reported)
      options.progress(done, total);
    reported = done;
  }

  const LoadOptions &options;
  std::mutex mutex;
  uint64_t total;
  uint64_t done = 0;
  uint64_t reported = 0;
};

void warn(const LoadOptions &options, const std::string &message) {
  if (!options.quiet)
    std::fprintf(stderr, "warning: %s\n", message.c_str());
}

/// Where the slots of a region lie in memory, of which only some stay there.
class LayeredRegion {
public:
  LayeredRegion(std::vector<ParameterSlot> &slots, uint64_t bytes,
                const nlohmann::json &description, const LayerLoading &loading,
                HugeRegion &region, HugeRegion &ring);

  /// Of a slot of the region.
  std::byte *memory_of(size_t slot) const { return places[slot]; }
  /// Takes what stays from a part of the region.
  void take(uint64_t offset, std::span<const std::byte> block);
  std::unique_ptr<OffloadedLayers> moving;

private:
  struct Staying {
    uint64_t offset, bytes;
    std::byte *to;
  };
  std::vector<std::byte *> places;
  /// In ascending order.
  std::vector<Staying> staying;
};

LayeredRegion::LayeredRegion(std::vector<ParameterSlot> &slots, uint64_t bytes,
                             const nlohmann::json &description,
                             const LayerLoading &loading, HugeRegion &region,
                             HugeRegion &ring)
    : moving(std::make_unique<OffloadedLayers>()), places(slots.size()) {
  const std::optional<OffloadingDescription> offloading =
      OffloadingDescription::parse(description);
  const WeightNeeds needs = weight_needs(description, *offloading);
  const LayerPlacement &placement = loading.placement;
  const uint64_t layers = offloading->layers();

  std::vector<uint64_t> begins;
  uint64_t ring_bytes = 0;
  for (uint64_t place : placement.places) {
    begins.push_back(ring_bytes);
    ring_bytes += place;
  }
  ring = HugeRegion(ring_bytes);
  moving->layers.resize(layers);
  moving->moved_bytes = placement.moved_bytes;
  std::vector<uint64_t> ends(layers);
  for (size_t i = 0; i < needs.pieces.size(); ++i) {
    if (placement.stays[i])
      continue;
    const auto &[layer, parameter, piece_bytes] = needs.pieces[i];
    const ParameterSlot &slot = slots[needs.slots[i]];
    std::byte *const to =
        ring.data() + begins[place_of(layer, layers)] + ends[layer];
    places[needs.slots[i]] = to;
    const uint64_t whole = round_up(piece_bytes, page_bytes);
    ends[layer] += whole;
    moving->layers[layer].push_back(
        {packed_data_offset + slot.offset, whole, to});
  }

  // What stays, in the same order and with the same alignment.
  std::vector<ParameterSlot> kept = slots;
  for (size_t i = 0; i < kept.size(); ++i)
    if (places[i])
      kept[i].elsewhere = true;
  region = HugeRegion(assign_offsets(kept));
  forbid_gaps(kept, region);
  for (size_t i = 0; i < kept.size(); ++i)
    if (kept[i].in_region()) {
      places[i] = region.data() + kept[i].offset;
      staying.push_back({slots[i].offset, slots[i].bytes(), places[i]});
    }
}

void LayeredRegion::take(uint64_t offset, std::span<const std::byte> block) {
  const uint64_t end = offset + block.size();
  auto part = std::partition_point(
      staying.begin(), staying.end(),
      [&](const Staying &slot) { return slot.offset + slot.bytes <= offset; });
  for (; part != staying.end() && part->offset < end; ++part) {
    const uint64_t from = std::max(offset, part->offset);
    const uint64_t to = std::min(end, part->offset + part->bytes);
    std::memcpy(part->to + (from - part->offset),
                block.data() + (from - offset), to - from);
  }
}

/// The cache's key, and where its file lies.
std::pair<CacheKey, std::filesystem::path>
cache_of(const nlohmann::json &description, const Checkpoint &checkpoint,
         uint32_t rank) {
  std::string text = description.at("parameters").dump();
  // Of several ranks each has parts of its own.
  if (Mesh mesh = Mesh::parse(description); mesh.ranks() > 1)
    text += " rank " + std::to_string(rank) + " of " + mesh.text();
  const CacheKey key = packing_key(checkpoint, text);
  return {key, cache_path(checkpoint, key)};
}

} // namespace

WeightNeeds weight_needs(const nlohmann::json &description,
                         const OffloadingDescription &offloading) {
  const std::vector<ParameterDescription> parameters =
      parse_parameters(description);
  struct Use {
    uint64_t first_layer = 0;
    size_t number = 0;
  };
  std::map<std::string, Use> moves;
  uint64_t first_layer = 0;
  for (const OffloadingDescription::Stack &stack : offloading.stacks) {
    for (const std::string &name : stack.parameters)
      moves.emplace(name, Use{first_layer, moves.size()});
    first_layer += stack.layers;
  }
  WeightNeeds needs;
  size_t slot = 0;
  for (const ParameterDescription &parameter : parameters) {
    auto use = moves.find(parameter.name);
    for (uint64_t layer = 0; layer < parameter.layers; ++layer, ++slot) {
      const auto own = parameter.form->of_layer(layer);
      const uint64_t bytes =
          own ? own->layer_bytes() : parameter.form->layer_bytes();
      const bool can_move = use != moves.end() && bytes >= slot_bytes_on_page;
      if (!can_move) {
        needs.fixed += bytes < slot_bytes_on_page
                           ? bytes + 2 * slot_gap
                           : round_up(bytes + slot_gap, page_bytes);
        continue;
      }
      needs.pieces.push_back(
          {use->second.first_layer + layer, use->second.number, bytes});
      needs.slots.push_back(slot);
    }
  }
  return needs;
}

Parameters Parameters::load(const nlohmann::json &description,
                            const Checkpoint &checkpoint,
                            const LoadOptions &options) {
  std::vector<ParameterDescription> parameters =
      parse_parameters(description, options.rank);
  std::vector<ParameterSlot> slots = make_slots(parameters, &checkpoint);
  Parameters result;
  const uint64_t bytes = assign_offsets(slots);
  // Tables that are all read in place leave nothing to keep.
  const bool use_cache = options.use_cache && bytes != 0;
  CacheKey key = {};
  std::filesystem::path path;
  if (use_cache)
    std::tie(key, path) = cache_of(description, checkpoint, options.rank);
  Progress progress(options, bytes);
  auto done = [&](uint64_t bytes) { progress.add(bytes); };
  auto warn_of_damage = [&](const std::filesystem::path &file) {
    warn(options, file.string() + ": is damaged, packing the weights again");
  };
  std::optional<LayeredRegion> layered;
  if (options.layers) {
    layered.emplace(slots, bytes, description, *options.layers, result.region,
                    result.ring);
    auto take = [&](uint64_t offset, std::span<const std::byte> block) {
      layered->take(offset, block);
      done(block.size());
    };
    layered->moving->file =
        use_cache ? open_packed_file(path, key, slots, bytes, options.threads,
                                     take, warn_of_damage)
                  : make_packed_file(options.layers->folder, slots, bytes, {},
                                     options.threads, take);
    progress.finish();
    result.moving = std::move(layered->moving);
    result.point_to(slots,
                    [&](size_t slot) { return layered->memory_of(slot); });
    return result;
  }
  result.region = HugeRegion(bytes);
  std::byte *base = result.region.data();
  CacheState state = CacheState::Absent;
  if (use_cache)
    state = read_cache(path, key, result.region, options.threads, done);
  if (state == CacheState::Damaged) {
    warn_of_damage(path);
    result.region.clear();
  }
  if (state != CacheState::Read) {
    pack_all(slots, base, options.threads, done);
    if (use_cache) {
      try {
        write_cache(path, key, result.region, options.threads);
      } catch (const std::exception &error) {
        warn(options, std::string("packed weights are not kept for the next "
                                  "start: ") +
                          error.what());
      }
    }
  }
  progress.finish();
  forbid_gaps(slots, result.region);
  result.cached = state == CacheState::Read;
  result.point_to(slots,
                  [&](size_t slot) { return base + slots[slot].offset; });
  return result;
}

void Parameters::point_to(const std::vector<ParameterSlot> &slots,
                          const std::function<std::byte *(size_t)> &memory_of) {
  resident = region.size() + ring.size();
  all_pieces.push_back(packed());
  if (ring.size())
    all_pieces.push_back({ring.data(), static_cast<size_t>(ring.size())});
  for (size_t i = 0; i < slots.size(); ++i) {
    const ParameterSlot &slot = slots[i];
    if (!slot.in_place) {
      pointers.push_back(slot.elsewhere ? nullptr : memory_of(i));
      continue;
    }
    std::span<const std::byte> own =
        slot.parameter->form->bytes_in_place(slot.tensors);
    pointers.push_back(own.data());
    resident += own.size();
    all_pieces.push_back(own);
    for (const StoredTensor &source : slot.tensors)
      if (std::find(files.begin(), files.end(), source.file) == files.end())
        files.push_back(source.file);
  }
}

Parameters Parameters::random(const nlohmann::json &description, uint64_t seed,
                              unsigned threads, uint32_t rank,
                              const std::optional<LayerLoading> &layers) {
  std::vector<ParameterDescription> parameters =
      parse_parameters(description, rank);
  std::vector<ParameterSlot> slots = make_slots(parameters, nullptr);
  Parameters result;
  const uint64_t bytes = assign_offsets(slots);
  if (layers) {
    LayeredRegion layered(slots, bytes, description, *layers, result.region,
                          result.ring);
    layered.moving->file = make_packed_file(
        layers->folder, slots, bytes, seed, threads,
        [&](uint64_t offset, std::span<const std::byte> block) {
          layered.take(offset, block);
        });
    result.moving = std::move(layered.moving);
    result.point_to(slots,
                    [&](size_t slot) { return layered.memory_of(slot); });
    return result;
  }
  result.region = HugeRegion(bytes);
  std::byte *base = result.region.data();
  std::vector<PackingJob> jobs = make_jobs(slots);
  parallel_for(jobs.size(), threads, [&](size_t i) {
    const ParameterSlot &slot = slots[jobs[i].slot];
    make_piece(slot, jobs[i], seed, base + slot.offset);
  });
  forbid_gaps(slots, result.region);
  result.point_to(slots,
                  [&](size_t slot) { return base + slots[slot].offset; });
  return result;
}

} // namespace baton

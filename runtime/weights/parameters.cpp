//===- parameters.cpp - the weights of a compiled program in memory ------===//

#include "runtime/weights/parameters.h"

#include "runtime/error.h"
#include "runtime/weights/cache.h"
#include "runtime/weights/convert.h"
#include "runtime/weights/description.h"
#include "runtime/weights/hash.h"
#include "runtime/weights/message.h"
#include "runtime/weights/parallel.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <mutex>

namespace baton {

namespace {

/// One layer of one parameter.
struct Slot {
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
  /// In the region, unless in place.
  uint64_t offset = 0;
};

/// A piece of a slot: its form's units first ..= last - 1.
struct Job {
  size_t slot;
  uint64_t first;
  uint64_t last;
};

/// All slots, in the order of the program's pointer table; with a checkpoint,
/// each with its tensors.
std::vector<Slot>
make_slots(const std::vector<ParameterDescription> &parameters,
           const Checkpoint *checkpoint) {
  std::vector<Slot> slots;
  for (const ParameterDescription &parameter : parameters)
    for (uint64_t layer = 0; layer < parameter.layers; ++layer) {
      Slot slot{
          &parameter, parameter.first_layer + layer * parameter.layer_step, {}};
      slot.elsewhere = parameter.is_elsewhere;
      if (slot.elsewhere) {
        slots.push_back(std::move(slot));
        continue;
      }
      if (checkpoint)
        for (const ParameterPart &part : parameter.parts)
          slot.tensors.push_back(find_stored(part, slot.layer, *checkpoint));
      slot.in_place =
          checkpoint && parameter.form->reads_in_place(slot.tensors);
      slots.push_back(std::move(slot));
    }
  return slots;
}

/// A line between slots that belongs to none, so that the address sanitizer
/// sees a task run from one into the next.
constexpr uint64_t slot_gap = 64;

/// Places the slots in the region; returns its size.
uint64_t assign_offsets(std::vector<Slot> &slots) {
  constexpr uint64_t line = 64, page = 4096, large = 64 * 1024;
  uint64_t end = 0;
  for (Slot &slot : slots) {
    if (!slot.in_region())
      continue;
    uint64_t bytes = slot.parameter->form->layer_bytes();
    uint64_t alignment = bytes >= large ? page : line;
    uint64_t start = end ? end + slot_gap : 0;
    slot.offset = (start + alignment - 1) / alignment * alignment;
    // Each parameter is below 2^48; the sum is checked all the same.
    if (__builtin_add_overflow(slot.offset, bytes, &end) || end >> 56)
      throw Error("the compiled program's parameters have an impossible size");
  }
  return end;
}

void forbid_gaps(const std::vector<Slot> &slots, HugeRegion &region) {
  uint64_t end = 0;
  for (const Slot &slot : slots) {
    if (!slot.in_region())
      continue;
    region.forbid(end, slot.offset - end);
    end = slot.offset + slot.parameter->form->layer_bytes();
  }
}

/// Cuts the slots that live in the region into pieces of about a megabyte. The
/// cut depends on nothing else: random values are seeded by piece.
std::vector<Job> make_jobs(const std::vector<Slot> &slots) {
  constexpr uint64_t job_bytes = uint64_t(1) << 20;
  std::vector<Job> jobs;
  for (size_t i = 0; i < slots.size(); ++i) {
    if (!slots[i].in_region())
      continue;
    const WeightForm &form = *slots[i].parameter->form;
    uint64_t units = form.units();
    uint64_t step =
        std::max<uint64_t>(1, job_bytes / (form.layer_bytes() / units));
    for (uint64_t first = 0; first < units; first += step)
      jobs.push_back({i, first, std::min(units, first + step)});
  }
  return jobs;
}

/// Packs every slot; source pages are dropped as soon as a slot is done.
void pack_all(const std::vector<Slot> &slots, std::byte *base, unsigned threads,
              const BytesDone &done) {
  std::vector<Job> jobs = make_jobs(slots);
  std::vector<std::atomic<uint64_t>> left(slots.size());
  for (const Job &job : jobs)
    left[job.slot].fetch_add(1, std::memory_order_relaxed);
  parallel_for(jobs.size(), threads, [&](size_t i) {
    const Job &job = jobs[i];
    const Slot &slot = slots[job.slot];
    if (job.first == 0)
      for (const StoredTensor &source : slot.tensors)
        source.file->prefetch(*source.tensor);
    slot.parameter->form->pack(slot.tensors, job.first, job.last,
                               base + slot.offset);
    if (left[job.slot].fetch_sub(1, std::memory_order_acq_rel) == 1) {
      for (const StoredTensor &source : slot.tensors)
        source.file->release(*source.tensor);
      done(slot.parameter->form->layer_bytes());
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

} // namespace

StoredTensor find_stored(const ParameterPart &part, uint64_t layer,
                         const Checkpoint &checkpoint) {
  StoredTensor found = checkpoint.find(part.names(layer));
  std::string where =
      found.file->path().string() + ": tensor " + quote_name(found.name);
  if (found.tensor->shape != part.shape)
    throw Error(where + " has the shape " + shape_text(found.tensor->shape) +
                ", but the program was compiled for " + shape_text(part.shape));
  if (!is_quantised(found.tensor->type) &&
      !conversion(found.tensor->type, DataType::F32))
    throw Error(where + " has the dtype " +
                std::string(stored_type_name(found.tensor->type)) +
                "; weights must be F32, F16, BF16, F64 or quantised as GGUF "
                "files or config.json's quantization_config say");
  return found;
}

Parameters Parameters::load(const nlohmann::json &description,
                            const Checkpoint &checkpoint,
                            const LoadOptions &options) {
  std::vector<ParameterDescription> parameters =
      parse_parameters(description, options.rank);
  std::vector<Slot> slots = make_slots(parameters, &checkpoint);
  Parameters result;
  result.region = HugeRegion(assign_offsets(slots));
  result.resident = result.region.size();
  std::byte *base = result.region.data();

  Progress progress(options, result.region.size());
  auto done = [&](uint64_t bytes) { progress.add(bytes); };
  CacheState state = CacheState::Absent;
  CacheKey key = {};
  std::filesystem::path path;
  // Tables that are all read in place leave nothing to keep.
  bool use_cache = options.use_cache && result.region.size() != 0;
  if (use_cache) {
    std::string text = description.at("parameters").dump();
    // Of several ranks each has parts of its own.
    if (Mesh mesh = Mesh::parse(description); mesh.ranks() > 1)
      text += " rank " + std::to_string(options.rank) + " of " + mesh.text();
    key = packing_key(checkpoint, text);
    path = cache_path(checkpoint, key);
    state = read_cache(path, key, result.region, options.threads, done);
  }
  if (state == CacheState::Damaged) {
    warn(options, path.string() + ": is damaged, packing the weights again");
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
  result.all_pieces.push_back(result.packed());

  for (const Slot &slot : slots) {
    if (!slot.in_place) {
      result.pointers.push_back(slot.elsewhere ? nullptr : base + slot.offset);
      continue;
    }
    std::span<const std::byte> own =
        slot.parameter->form->bytes_in_place(slot.tensors);
    result.pointers.push_back(own.data());
    result.resident += own.size();
    result.all_pieces.push_back(own);
    for (const StoredTensor &source : slot.tensors)
      if (std::find(result.files.begin(), result.files.end(), source.file) ==
          result.files.end())
        result.files.push_back(source.file);
  }
  return result;
}

/// By its parts' names: what else the program has does not matter.
static std::vector<uint64_t> random_seeds(const Slot &slot, uint64_t seed) {
  std::vector<uint64_t> seeds;
  for (const ParameterPart &part : slot.parameter->parts) {
    const std::string name = part.names(slot.layer).front();
    seeds.push_back(hash_bytes(name.data(), name.size(), seed));
  }
  return seeds;
}

Parameters Parameters::random(const nlohmann::json &description, uint64_t seed,
                              unsigned threads, uint32_t rank) {
  std::vector<ParameterDescription> parameters =
      parse_parameters(description, rank);
  std::vector<Slot> slots = make_slots(parameters, nullptr);
  Parameters result;
  result.region = HugeRegion(assign_offsets(slots));
  result.resident = result.region.size();
  std::byte *base = result.region.data();
  std::vector<Job> jobs = make_jobs(slots);
  parallel_for(jobs.size(), threads, [&](size_t i) {
    const Slot &slot = slots[jobs[i].slot];
    slot.parameter->form->fill_randomly(jobs[i].first, jobs[i].last,
                                        random_seeds(slot, seed),
                                        base + slot.offset);
  });
  forbid_gaps(slots, result.region);
  result.all_pieces.push_back(result.packed());
  for (const Slot &slot : slots)
    result.pointers.push_back(slot.elsewhere ? nullptr : base + slot.offset);
  return result;
}

} // namespace baton

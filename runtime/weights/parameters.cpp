//===- parameters.cpp - the weights of a compiled program in memory ------===//

#include "runtime/weights/parameters.h"

#include "runtime/error.h"
#include "runtime/weights/cache.h"
#include "runtime/weights/convert.h"
#include "runtime/weights/description.h"
#include "runtime/weights/hash.h"
#include "runtime/weights/message.h"
#include "runtime/weights/packing.h"
#include "runtime/weights/parallel.h"
#include "runtime/weights/random.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <mutex>

namespace baton {

namespace {

/// One layer of one parameter.
struct Slot {
  const ParameterDescription *parameter;
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

/// A piece of a slot: panels or rows first ..= last - 1.
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
      Slot slot{&parameter, {}};
      slot.elsewhere = parameter.is_elsewhere;
      if (slot.elsewhere) {
        slots.push_back(std::move(slot));
        continue;
      }
      if (checkpoint)
        for (const ParameterPart &part : parameter.parts)
          slot.tensors.push_back(find_stored(
              part, parameter.first_layer + layer * parameter.layer_step,
              *checkpoint));
      if (parameter.kind == ParameterKind::Table && checkpoint) {
        const Tensor &tensor = *slot.tensors[0].tensor;
        // Rows that only other ranks have nobody reads.
        slot.in_place = tensor.type == parameter.type &&
                        parameter.parts[0].own_inputs.count ==
                            parameter.parts[0].shape[1] &&
                        reinterpret_cast<uintptr_t>(tensor.data) %
                                bytes_of(parameter.type) ==
                            0;
      }
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
    uint64_t bytes = slot.parameter->layer_bytes();
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
    end = slot.offset + slot.parameter->layer_bytes();
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
    const ParameterDescription &parameter = *slots[i].parameter;
    uint64_t units = parameter.kind == ParameterKind::Table ? parameter.rows
                     : parameter.kind == ParameterKind::Panels
                         ? panel_count(parameter.n, parameter.interleave)
                         : 1;
    uint64_t step =
        std::max<uint64_t>(1, job_bytes / (parameter.layer_bytes() / units));
    for (uint64_t first = 0; first < units; first += step)
      jobs.push_back({i, first, std::min(units, first + step)});
  }
  return jobs;
}

void fill_constant(const ParameterDescription &parameter, std::byte *base) {
  conversion(DataType::F32, parameter.type)(parameter.values.data(), base,
                                            parameter.values.size());
}

void pack_job(const Slot &slot, const Job &job, std::byte *base) {
  const ParameterDescription &parameter = *slot.parameter;
  switch (parameter.kind) {
  case ParameterKind::Panels: {
    PanelLayout layout{{}, parameter.k, parameter.interleave, parameter.type};
    for (size_t i = 0; i < slot.tensors.size(); ++i) {
      const ParameterPart &part = parameter.parts[i];
      layout.parts.push_back(
          {slot.tensors[i].tensor->data, slot.tensors[i].tensor->type,
           part.outputs(), part.stored_outputs(), part.transposed, part.blocks,
           part.plus,
           PanelCut{part.own_outputs.begin, part.own_outputs.count,
                    part.own_inputs.begin, part.own_inputs.count,
                    part.all_inputs()}});
    }
    pack_panels(layout, job.first, job.last, base);
    return;
  }
  case ParameterKind::Table: {
    const Tensor &tensor = *slot.tensors[0].tensor;
    const ParameterPart &part = parameter.parts[0];
    Conversion convert = conversion(tensor.type, parameter.type);
    for (uint64_t row = job.first;
         row < std::min(job.last, part.own_outputs.count); ++row)
      convert(tensor.data + ((part.own_outputs.begin + row) * part.shape[1] +
                             part.own_inputs.begin) *
                                bytes_of(tensor.type),
              base + row * parameter.columns * bytes_of(parameter.type),
              part.own_inputs.count);
    return;
  }
  case ParameterKind::Constant:
    fill_constant(parameter, base);
    return;
  }
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
    pack_job(slot, job, base + slot.offset);
    if (left[job.slot].fetch_sub(1, std::memory_order_acq_rel) == 1) {
      for (const StoredTensor &source : slot.tensors)
        source.file->release(*source.tensor);
      done(slot.parameter->layer_bytes());
    }
  });
}

/// Zeroes the lanes of a panel that belong to no output.
void clear_padding(const ParameterDescription &parameter, uint64_t panel,
                   std::byte *panel_base) {
  std::vector<uint64_t> outputs;
  for (const ParameterPart &part : parameter.parts)
    outputs.push_back(part.outputs());
  uint64_t used = 0;
  for (const PanelSegment &segment :
       panel_segments(outputs, parameter.interleave, panel))
    used += segment.count;
  uint64_t bytes = bytes_of(parameter.type);
  if (used < panel_lanes)
    for (uint64_t k = 0; k < parameter.k; ++k)
      std::memset(panel_base + (k * panel_lanes + used) * bytes, 0,
                  (panel_lanes - used) * bytes);
}

bool is_bias(const ParameterDescription &parameter) {
  return std::any_of(parameter.parts.begin(), parameter.parts.end(),
                     [](const ParameterPart &part) {
                       return part.sources[0].ends_with("bias");
                     });
}

void random_job(const Slot &slot, const Job &job, uint64_t seed,
                std::byte *base) {
  const ParameterDescription &parameter = *slot.parameter;
  uint64_t bytes = bytes_of(parameter.type);
  switch (parameter.kind) {
  case ParameterKind::Panels: {
    bool vector = parameter.parts[0].shape.size() == 1;
    float mean = vector && !is_bias(parameter) ? 1.0f : 0.0f;
    float deviation =
        vector ? 0.02f : 1.0f / std::sqrt(static_cast<float>(parameter.k));
    uint64_t panel_elements = panel_lanes * parameter.k;
    for (uint64_t panel = job.first; panel < job.last; ++panel) {
      std::byte *panel_base = base + panel * panel_elements * bytes;
      fill_random(parameter.type, panel_base, panel_elements, mean, deviation,
                  mix(seed + panel));
      clear_padding(parameter, panel, panel_base);
    }
    return;
  }
  case ParameterKind::Table:
    fill_random(parameter.type, base + job.first * parameter.columns * bytes,
                (job.last - job.first) * parameter.columns, 0.0f,
                1.0f / std::sqrt(static_cast<float>(parameter.columns)),
                mix(seed + job.first));
    return;
  case ParameterKind::Constant:
    fill_constant(parameter, base);
    return;
  }
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
  if (!conversion(found.tensor->type, DataType::F32))
    throw Error(where + " has the dtype " +
                std::string(stored_type_name(found.tensor->type)) +
                "; weights must be F32, F16, BF16 or F64");
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
    const StoredTensor &source = slot.tensors[0];
    const ParameterPart &part = slot.parameter->parts[0];
    const uint64_t row = part.shape[1] * bytes_of(source.tensor->type);
    std::span<const std::byte> own = {
        source.tensor->data + part.own_outputs.begin * row,
        static_cast<size_t>(part.own_outputs.count * row)};
    result.pointers.push_back(own.data());
    result.resident += own.size();
    result.all_pieces.push_back(own);
    if (std::find(result.files.begin(), result.files.end(), source.file) ==
        result.files.end())
      result.files.push_back(source.file);
  }
  return result;
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
    random_job(slot, jobs[i], mix(seed + mix(jobs[i].slot + 1)),
               base + slot.offset);
  });
  forbid_gaps(slots, result.region);
  result.all_pieces.push_back(result.packed());
  for (const Slot &slot : slots)
    result.pointers.push_back(slot.elsewhere ? nullptr : base + slot.offset);
  return result;
}

} // namespace baton

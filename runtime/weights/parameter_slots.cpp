//===- parameter_slots.cpp - the packed region, layer by layer ------------===//

#include "runtime/weights/parameter_slots.h"

#include "runtime/error.h"
#include "runtime/weights/convert.h"
#include "runtime/weights/hash.h"
#include "runtime/weights/memory.h"
#include "runtime/weights/message.h"

#include <algorithm>
#include <string>
#include <utility>

namespace baton {

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

std::vector<ParameterSlot>
make_slots(const std::vector<ParameterDescription> &parameters,
           const Checkpoint *checkpoint) {
  std::vector<ParameterSlot> slots;
  for (const ParameterDescription &parameter : parameters)
    for (uint64_t layer = 0; layer < parameter.layers; ++layer) {
      ParameterSlot slot{
          &parameter, parameter.first_layer + layer * parameter.layer_step, {}};
      slot.elsewhere = parameter.is_elsewhere;
      slot.own_form = parameter.form->of_layer(layer);
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

uint64_t assign_offsets(std::vector<ParameterSlot> &slots) {
  constexpr uint64_t line = 64;
  uint64_t end = 0;
  for (ParameterSlot &slot : slots) {
    if (!slot.in_region())
      continue;
    uint64_t bytes = slot.bytes();
    uint64_t alignment = bytes >= slot_bytes_on_page ? page_bytes : line;
    uint64_t start = end ? end + slot_gap : 0;
    slot.offset = (start + alignment - 1) / alignment * alignment;
    // Each parameter is below 2^48; the sum is checked all the same.
    if (__builtin_add_overflow(slot.offset, bytes, &end) || end >> 56)
      throw Error("the compiled program's parameters have an impossible size");
  }
  return end;
}

std::vector<PackingJob> make_jobs(const std::vector<ParameterSlot> &slots) {
  constexpr uint64_t job_bytes = uint64_t(1) << 20;
  std::vector<PackingJob> jobs;
  for (size_t i = 0; i < slots.size(); ++i) {
    if (!slots[i].in_region())
      continue;
    const WeightForm &form = slots[i].form();
    uint64_t units = form.units();
    uint64_t step =
        std::max<uint64_t>(1, job_bytes / (form.layer_bytes() / units));
    for (uint64_t first = 0; first < units; first += step)
      jobs.push_back({i, first, std::min(units, first + step)});
  }
  return jobs;
}

/// By its parts' names: what else the program has does not matter.
static std::vector<uint64_t> random_seeds(const ParameterSlot &slot,
                                          uint64_t seed) {
  std::vector<uint64_t> seeds;
  for (const ParameterPart &part : slot.parameter->parts) {
    const std::string name = part.names(slot.layer).front();
    seeds.push_back(hash_bytes(name.data(), name.size(), seed));
  }
  return seeds;
}

void make_piece(const ParameterSlot &slot, const PackingJob &job,
                std::optional<uint64_t> seed, std::byte *layer) {
  const WeightForm &form = slot.form();
  if (seed)
    form.fill_randomly(job.first, job.last, random_seeds(slot, *seed), layer);
  else
    form.pack(slot.tensors, job.first, job.last, layer);
}

} // namespace baton

//===- blocks_form.cpp - quantised weights in panels ----------------------===//
//
// A file's blocks, each of one output, are taken apart and put side by side, 16
// outputs in a panel (runtime/weight_blocks.h). No number changes, but a scale
// that is F16 or BF16 becomes F32 where the panel's is. Layers that are not
// quantised have panels of their numbers.
//
//===----------------------------------------------------------------------===//

#include "runtime/error.h"
#include "runtime/weight_formats.h"
#include "runtime/weights/convert.h"
#include "runtime/weights/form.h"
#include "runtime/weights/hash.h"
#include "runtime/weights/message.h"
#include "runtime/weights/random.h"
#include "runtime/weights/stored_blocks.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace baton {

namespace {

//===----------------------------------------------------------------------===//
// One output's numbers among those of a panel, whose memory is zeros
//===----------------------------------------------------------------------===//

/// `bits` bits of as many numbers from `first` on as a word has room for, above
/// `from`, where weight_blocks.h says.
uint32_t gather(const StoredNumbers &block, unsigned first, unsigned bits,
                unsigned from = 0) {
  // Four numbers at a time, one in each byte.
  const uint32_t mask = 0x01010101u * ((1u << bits) - 1);
  uint32_t word = 0;
  for (unsigned run = 0; run < 8 / bits; ++run) {
    uint32_t four;
    std::memcpy(&four, block.numbers + first + 4 * run, sizeof four);
    word |= (four >> from & mask) << (bits * run);
  }
  return word;
}

void put_scales_of_units(const StoredNumbers &from, uint64_t lane,
                         unsigned units, auto &scales) {
  for (unsigned unit = 0; unit < units; ++unit)
    scales[unit][lane] = from.unit_scales[unit];
}

void put_minimums_of_units(const StoredNumbers &from, uint64_t lane,
                           unsigned units, auto &minimums) {
  for (unsigned unit = 0; unit < units; ++unit)
    minimums[unit][lane] = static_cast<uint8_t>(-from.unit_minimums[unit]);
}

/// Four bits of each of 32 numbers from `first` on.
void put_nibbles(const StoredNumbers &from, uint64_t lane, unsigned first,
                 auto &low) {
  for (unsigned word = 0; word < 4; ++word)
    low[word][lane] = gather(from, first + 8 * word, 4);
}

void put(const StoredNumbers &from, uint64_t lane, blocks::Q8_0 &to) {
  to.scale[lane] = from.scale;
  for (unsigned word = 0; word < 8; ++word)
    to.quants[word][lane] = gather(from, 4 * word, 8);
}

void put(const StoredNumbers &from, uint64_t lane, blocks::Q4_0 &to) {
  to.scale[lane] = from.scale;
  put_nibbles(from, lane, 0, to.low);
}

void put(const StoredNumbers &from, uint64_t lane, blocks::Q4_1 &to) {
  to.scale[lane] = from.scale;
  to.minimum[lane] = from.minimum;
  put_nibbles(from, lane, 0, to.low);
}

void put(const StoredNumbers &from, uint64_t lane, blocks::Q5_0 &to) {
  to.scale[lane] = from.scale;
  put_nibbles(from, lane, 0, to.low);
  to.high[lane] = gather(from, 0, 1, 4);
}

void put(const StoredNumbers &from, uint64_t lane, blocks::Q5_1 &to) {
  to.scale[lane] = from.scale;
  to.minimum[lane] = from.minimum;
  put_nibbles(from, lane, 0, to.low);
  to.high[lane] = gather(from, 0, 1, 4);
}

void put(const StoredNumbers &from, uint64_t lane, blocks::Q2_K &to) {
  to.scale[lane] = from.scale;
  to.minimum[lane] = from.minimum;
  for (unsigned unit = 0; unit < 16; ++unit) {
    to.units[unit][lane] = static_cast<uint8_t>(from.unit_scales[unit] |
                                                -from.unit_minimums[unit] << 4);
    to.low[unit][lane] = gather(from, 16 * unit, 2);
  }
}

void put(const StoredNumbers &from, uint64_t lane, blocks::Q3_K &to) {
  to.scale[lane] = from.scale;
  put_scales_of_units(from, lane, 16, to.units);
  for (unsigned pair = 0; pair < 8; ++pair) {
    for (unsigned unit = 0; unit < 2; ++unit)
      to.quants[pair].low[unit][lane] = gather(from, 32 * pair + 16 * unit, 2);
    to.quants[pair].high[lane] = gather(from, 32 * pair, 1, 2);
  }
}

void put(const StoredNumbers &from, uint64_t lane, blocks::Q4_K &to) {
  to.scale[lane] = from.scale;
  to.minimum[lane] = from.minimum;
  put_scales_of_units(from, lane, 8, to.units);
  put_minimums_of_units(from, lane, 8, to.unit_minimums);
  for (unsigned unit = 0; unit < 8; ++unit)
    put_nibbles(from, lane, 32 * unit, to.low[unit]);
}

void put(const StoredNumbers &from, uint64_t lane, blocks::Q5_K &to) {
  to.scale[lane] = from.scale;
  to.minimum[lane] = from.minimum;
  put_scales_of_units(from, lane, 8, to.units);
  put_minimums_of_units(from, lane, 8, to.unit_minimums);
  for (unsigned unit = 0; unit < 8; ++unit) {
    put_nibbles(from, lane, 32 * unit, to.quants[unit].low);
    to.quants[unit].high[lane] = gather(from, 32 * unit, 1, 4);
  }
}

void put(const StoredNumbers &from, uint64_t lane, blocks::Q6_K &to) {
  to.scale[lane] = from.scale;
  put_scales_of_units(from, lane, 16, to.units);
  for (unsigned unit = 0; unit < 16; ++unit) {
    for (unsigned word = 0; word < 2; ++word)
      to.quants[unit].low[word][lane] = gather(from, 16 * unit + 8 * word, 4);
    to.quants[unit].high[lane] = gather(from, 16 * unit, 2, 4);
  }
}

template <int Inputs>
void put(const StoredNumbers &from, uint64_t lane, blocks::Int4<Inputs> &to) {
  to.scale[lane] = from.factor;
  to.zero[lane] = static_cast<uint8_t>(from.zero);
  for (unsigned unit = 0; unit < Inputs / 32; ++unit)
    put_nibbles(from, lane, 32 * unit, to.low[unit]);
}

void put_bytes(const StoredNumbers &from, uint64_t lane, auto &to) {
  to.scale[lane] = from.factor;
  for (unsigned word = 0; word < 16; ++word)
    to.quants[word][lane] = gather(from, 4 * word, 8);
}

void put(const StoredNumbers &from, uint64_t lane, blocks::Int8_G64 &to) {
  put_bytes(from, lane, to);
}

void put(const StoredNumbers &from, uint64_t lane, blocks::FP8_G64 &to) {
  put_bytes(from, lane, to);
}

void put(const StoredNumbers &from, uint64_t lane, blocks::NVFP4 &to) {
  to.divisor[lane] = from.factor;
  for (unsigned unit = 0; unit < 4; ++unit) {
    to.units[unit][lane] = static_cast<uint8_t>(from.unit_scales[unit]);
    for (unsigned word = 0; word < 2; ++word)
      to.low[unit][word][lane] = gather(from, 16 * unit + 8 * word, 4);
  }
}

void put(const StoredNumbers &from, uint64_t lane, blocks::MXFP4 &to) {
  to.exponent[lane] = static_cast<uint8_t>(from.unit_scales[0]);
  put_nibbles(from, lane, 0, to.low);
}

void put(const StoredNumbers &from, uint64_t lane, blocks::CodeWords &to) {
  to.scale[lane] = from.factor;
  for (unsigned unit = 0; unit < 2; ++unit)
    put_nibbles(from, lane, 32 * unit, to.low[unit]);
}

/// The block of a panel at `place`, of the format with that index.
void put(const StoredNumbers &from, uint64_t lane, int format,
         std::byte *place) {
  switch (format) {
#define BATON_PUT(NAME, BLOCK)                                                 \
  case blocks::NAME:                                                           \
    return put(from, lane, *reinterpret_cast<blocks::BLOCK *>(place));
    BATON_FOR_EACH_BLOCK(BATON_PUT)
#undef BATON_PUT
  }
}

/// The type of a plain format's numbers.
DataType plain_type(int format) {
  return *parse_program_type(blocks::formats[format].name);
}

//===----------------------------------------------------------------------===//
// Random numbers
//===----------------------------------------------------------------------===//

/// What a block of a format has at random: even numbers, of a mean near 0 and a
/// standard deviation of `spread` scales.
struct RandomBlocks {
  unsigned bits, unit;
  int zero;
  bool has_minimums;
  float spread;
};

/// Of whole numbers with so many bits.
constexpr float even(unsigned bits) {
  return static_cast<float>(1 << bits) * 0.28867513f; // 1/sqrt(12)
}

constexpr RandomBlocks random_blocks(int format) {
  constexpr RandomBlocks kinds[] = {
      {8, 32, 0, false, even(8)},
      {4, 32, 8, false, even(4)},
      {4, 32, 0, true, even(4)},
      {5, 32, 16, false, even(5)},
      {5, 32, 0, true, even(5)},
      {2, 16, 0, true, even(2)},
      {3, 16, 4, false, even(3)},
      {4, 32, 0, true, even(4)},
      {5, 32, 0, true, even(5)},
      {6, 16, 32, false, even(6)},
      {4, 32, 8, false, even(4)},
      {4, 64, 8, false, even(4)},
      {4, 128, 8, false, even(4)},
      {8, 64, 0, false, even(8)},
      // E4M3 without what is no number: most are small.
      {8, 64, 0, false, 103.0f},
      {4, 16, 0, false, 2.92f},
      {4, 32, 0, false, 2.92f},
      {4, 64, 0, false, 0.52f},
      {4, 64, 0, false, 0.49f}};
  static_assert(sizeof kinds / sizeof kinds[0] == blocks::first_plain_format);
  return kinds[format];
}

/// Of the standard deviation 1/sqrt(k), as floating-point weights have it.
void fill(StoredNumbers &block, int format, uint64_t k, uint64_t seed) {
  const RandomBlocks kind = random_blocks(format);
  const unsigned inputs = blocks::formats[format].inputs;
  const int values = 1 << kind.bits;
  const bool has_units = inputs > kind.unit;
  const float scale = 1 / (kind.spread * std::sqrt(static_cast<float>(k)));
  // Two powers of two, so that minimums are exact multiples of scales.
  const int unit_scale = has_units ? 8 : 1;
  block.unit = kind.unit;
  block.zero = kind.zero;
  block.factor = scale;
  block.scale = f16_from_f32(scale / static_cast<float>(unit_scale));
  const auto half = values / 2;
  block.minimum =
      f16_from_f32(f32_from_f16(block.scale) * static_cast<float>(half));
  if (!has_units)
    block.minimum ^= 0x8000;
  for (unsigned unit = 0; unit < inputs / kind.unit; ++unit) {
    block.unit_scales[unit] = static_cast<int8_t>(unit_scale);
    block.unit_minimums[unit] = static_cast<int8_t>(-unit_scale);
  }
  if (format == blocks::nvfp4) {
    // E4M3's 1.
    std::fill_n(block.unit_scales, inputs / kind.unit, int8_t(0x38));
    block.factor = 1 / scale;
  }
  if (format == blocks::mxfp4)
    block.unit_scales[0] = static_cast<int8_t>(127 + std::ilogb(scale));
  for (unsigned i = 0; i < inputs; i += 8) {
    const uint64_t random = mix(seed + i);
    for (unsigned j = 0; j < 8; ++j)
      block.numbers[i + j] = static_cast<int8_t>(
          random >> (8 * j) & static_cast<unsigned>(values - 1));
  }
  if (format == blocks::fp8_g64)
    for (unsigned i = 0; i < inputs; ++i)
      if ((block.numbers[i] & 0x7f) == 0x7f)
        block.numbers[i] = 0;
}

//===----------------------------------------------------------------------===//
// The form
//===----------------------------------------------------------------------===//

class BlocksForm : public WeightForm {
public:
  explicit BlocksForm(const FormDescription &description);

  std::shared_ptr<const WeightForm> of_layer(uint64_t layer) const override;
  uint64_t layer_bytes() const override { return units() * panel_bytes; }
  uint64_t units() const override { return panel_count(n, interleave); }
  void pack(const std::vector<StoredTensor> &tensors, uint64_t first,
            uint64_t last, std::byte *layer) const override;
  void fill_randomly(uint64_t first, uint64_t last,
                     std::span<const uint64_t> seeds,
                     std::byte *layer) const override;

private:
  std::vector<PanelSegment> segments(uint64_t panel) const;
  int format_of(const StoredTensor &tensor, const ParameterPart &part) const;
  int format_of_panel(const std::vector<StoredTensor> &tensors,
                      uint64_t panel) const;
  std::byte *begin_panel(std::byte *panel, int format) const;
  void pack_blocks(const std::vector<StoredTensor> &tensors, uint64_t panel,
                   int format, uint64_t begin, uint64_t end,
                   std::byte *place) const;
  void fill_blocks(uint64_t panel, int format, std::span<const uint64_t> seeds,
                   std::byte *place) const;
  void fill_plain(uint64_t panel, DataType type,
                  std::span<const uint64_t> seeds, std::byte *place) const;

  std::vector<ParameterPart> parts;
  /// Of this layer, or of any.
  std::string formats;
  uint64_t k, n;
  bool interleave, is_mixed;
  uint64_t panel_bytes = 0;
  /// Of each layer, where the program says it.
  std::vector<std::string> layer_formats;
};

} // namespace

BlocksForm::BlocksForm(const FormDescription &description)
    : parts(description.parts),
      formats(description.object.value("formats", std::string())),
      k(description.size("k")), n(description.size("n")),
      interleave(description.object.value("interleave", false)),
      is_mixed(blocks::variant_of(formats) == "mixed") {
  if (!blocks::check_formats(formats).empty())
    description.fail("has blocks of the unknown formats " +
                     quote_name(formats));
  description.check_product({description.layers, k, n, 2 * panel_lanes, 4});
  uint64_t outputs = 0;
  const auto whole_blocks =
      static_cast<uint64_t>(blocks::block_inputs(formats));
  for (const ParameterPart &part : parts) {
    if (part.shape.size() != 2 || part.room_inputs != k ||
        part.outputs() > n - outputs)
      description.fail("has a part of shape " + shape_text(part.shape) +
                       " that does not fit k = " + std::to_string(k) +
                       ", n = " + std::to_string(n));
    if (part.own_inputs.begin % whole_blocks ||
        part.own_inputs.count % whole_blocks)
      description.fail(
          "is cut between ranks at inputs " +
          std::to_string(part.own_inputs.begin) + " to " +
          std::to_string(part.own_inputs.begin + part.own_inputs.count) +
          ", within a block of " + std::to_string(whole_blocks));
    outputs += part.outputs();
  }
  if (description.type != DataType::I8 || outputs != n || k % whole_blocks ||
      (interleave && !are_equal_halves(outputs_of(parts))))
    description.fail("has blocks of another dtype, or of other inputs or "
                     "outputs than its parts");
  panel_bytes = panel_lanes * static_cast<uint64_t>(blocks::bytes_of_output(
                                  formats, static_cast<int64_t>(k)));
  layer_formats =
      description.object.value("layer_formats", std::vector<std::string>());
  if (layer_formats.empty())
    return;
  if (layer_formats.size() != description.layers || !is_mixed)
    description.fail("has formats of other layers than it has");
  for (const std::string &list : layer_formats)
    if (!blocks::is_part_of_list(list, formats))
      description.fail("has a layer of " + quote_name(list) +
                       ", of which not all are among " + quote_name(formats));
}

std::shared_ptr<const WeightForm> BlocksForm::of_layer(uint64_t layer) const {
  if (layer_formats.empty())
    return nullptr;
  auto own = std::make_shared<BlocksForm>(*this);
  own->formats = layer_formats[layer];
  own->panel_bytes =
      panel_lanes * static_cast<uint64_t>(blocks::mixed_bytes_of_output(
                        own->formats, static_cast<int64_t>(k)));
  own->layer_formats.clear();
  return own;
}

std::vector<PanelSegment> BlocksForm::segments(uint64_t panel) const {
  return panel_segments(outputs_of(parts), interleave, panel);
}

/// Throws Error when the program has no room for such weights.
int BlocksForm::format_of(const StoredTensor &tensor,
                          const ParameterPart &part) const {
  const DataType type = tensor.tensor->type;
  const char *name = panel_format(type);
  if (is_quantised(type) && tensor.tensor->is_flipped != part.transposed)
    throw Error(tensor.file->path().string() + ": tensor " +
                quote_name(tensor.name) +
                " has the outputs of its blocks side by side");
  for (const blocks::Format *format : blocks::listed_formats(formats))
    if (name && format->name == std::string_view(name))
      return static_cast<int>(format - blocks::formats);
  throw Error(tensor.file->path().string() + ": tensor " +
              quote_name(tensor.name) + " is stored as " +
              std::string(stored_type_name(type)) +
              ", but the program was compiled for " + formats +
              "; compile it from this file");
}

/// The one format of a panel's outputs; any of one that has none.
int BlocksForm::format_of_panel(const std::vector<StoredTensor> &tensors,
                                uint64_t panel) const {
  int found = -1;
  for (const PanelSegment &segment : segments(panel)) {
    const StoredTensor &source = tensors[segment.part];
    const int format = format_of(source, parts[segment.part]);
    if (found >= 0 && format != found)
      throw Error(source.file->path().string() + ": tensor " +
                  quote_name(source.name) +
                  " shares 16 outputs with one of another format");
    found = format;
  }
  return std::max(found, 0);
}

/// What a panel has behind its head.
std::byte *BlocksForm::begin_panel(std::byte *panel, int format) const {
  if (!is_mixed)
    return panel;
  blocks::MixedHead head = {
      static_cast<uint32_t>(format), static_cast<uint32_t>(panel_bytes), {}};
  std::memcpy(panel, &head, sizeof head);
  return panel + sizeof head;
}

void BlocksForm::pack(const std::vector<StoredTensor> &tensors, uint64_t first,
                      uint64_t last, std::byte *layer) const {
  PanelLayout plain{{}, k, interleave, DataType::F32};
  for (size_t i = 0; i < tensors.size(); ++i)
    plain.parts.push_back(panel_part(parts[i], *tensors[i].tensor));
  // Where outputs lie side by side, a line of memory has those of several
  // panels.
  const bool in_columns =
      std::any_of(tensors.begin(), tensors.end(), [](const StoredTensor &from) {
        return has_columns(*from.tensor);
      });
  const uint64_t step =
      in_columns ? static_cast<uint64_t>(blocks::block_inputs(formats)) : k;
  for (uint64_t input = 0; input < k; input += step)
    for (uint64_t panel = first; panel < last; ++panel) {
      const int format = format_of_panel(tensors, panel);
      std::byte *place = begin_panel(layer + panel * panel_bytes, format);
      if (!blocks::formats[format].is_plain) {
        pack_blocks(tensors, panel, format, input, std::min(k, input + step),
                    place);
      } else if (input == 0) {
        plain.type = plain_type(format);
        pack_panel(plain, panel, place);
      }
    }
}

/// Blocks of the inputs [begin, end) of a panel.
void BlocksForm::pack_blocks(const std::vector<StoredTensor> &tensors,
                             uint64_t panel, int format, uint64_t begin,
                             uint64_t end, std::byte *place) const {
  const uint64_t inputs = blocks::formats[format].inputs,
                 block_bytes = panel_lanes * blocks::formats[format].bytes;
  StoredNumbers numbers;
  for (const PanelSegment &segment : segments(panel)) {
    const ParameterPart &part = parts[segment.part];
    const StoredTensor &source = tensors[segment.part];
    const Tensor &tensor = *source.tensor;
    const uint64_t lanes = std::min(
        segment.count, part.own_outputs.count -
                           std::min(part.own_outputs.count, segment.output));
    const uint64_t last = std::min(end, part.own_inputs.count);
    for (uint64_t i = 0; i < lanes; ++i) {
      const uint64_t output = paired_row(
          part.blocks.stored(part.own_outputs.begin + segment.output + i),
          tensor.paired_rows);
      for (uint64_t input = begin; input < last; input += inputs) {
        read_block(tensor, part.all_inputs(), output,
                   part.own_inputs.begin + input, numbers);
        if (has_nan(tensor.type, numbers))
          throw Error(source.file->path().string() + ": tensor " +
                      quote_name(source.name) + " has a NaN, in row " +
                      std::to_string(output));
        put(numbers, segment.lane + i, format,
            place + input / inputs * block_bytes);
      }
    }
  }
}

void BlocksForm::fill_blocks(uint64_t panel, int format,
                             std::span<const uint64_t> seeds,
                             std::byte *place) const {
  const uint64_t inputs = blocks::formats[format].inputs,
                 block_bytes = panel_lanes * blocks::formats[format].bytes;
  StoredNumbers numbers;
  for (const PanelSegment &segment : segments(panel))
    for (uint64_t i = 0; i < segment.count; ++i) {
      const uint64_t seed =
          mix(seeds[segment.part] + parts[segment.part].own_outputs.begin +
              segment.output + i);
      for (uint64_t input = 0; input < k; input += inputs) {
        fill(numbers, format, k, mix(seed + input));
        put(numbers, segment.lane + i, format,
            place + input / inputs * block_bytes);
      }
    }
}

void BlocksForm::fill_plain(uint64_t panel, DataType type,
                            std::span<const uint64_t> seeds,
                            std::byte *place) const {
  RandomSeeds lanes = {};
  uint64_t used = 0;
  for (const PanelSegment &segment : segments(panel)) {
    used += segment.count;
    for (uint64_t i = 0; i < segment.count; ++i)
      lanes[segment.lane + i] =
          mix(seeds[segment.part] + parts[segment.part].own_outputs.begin +
              segment.output + i);
  }
  fill_random(type, place, panel_lanes * k, 0,
              1 / std::sqrt(static_cast<float>(k)), lanes);
  for (uint64_t line = 0; line < k && used < panel_lanes; ++line)
    std::memset(place + (line * panel_lanes + used) * bytes_of(type), 0,
                (panel_lanes - used) * bytes_of(type));
}

void BlocksForm::fill_randomly(uint64_t first, uint64_t last,
                               std::span<const uint64_t> seeds,
                               std::byte *layer) const {
  const std::vector<const blocks::Format *> listed =
      blocks::listed_formats(formats);
  for (uint64_t panel = first; panel < last; ++panel) {
    const int format =
        static_cast<int>(listed[panel % listed.size()] - blocks::formats);
    std::byte *place = begin_panel(layer + panel * panel_bytes, format);
    if (blocks::formats[format].is_plain)
      fill_plain(panel, plain_type(format), seeds, place);
    else
      fill_blocks(panel, format, seeds, place);
  }
}

std::shared_ptr<const WeightForm>
parse_blocks(const FormDescription &description) {
  return std::make_shared<BlocksForm>(description);
}

} // namespace baton

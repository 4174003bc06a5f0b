//===- PackingTest.cpp - panels against a naive reference ----------------===//

#include "fixture.h"

#include "runtime/weights/packing.h"

#include <gtest/gtest.h>

namespace baton::test {
namespace {

struct Part {
  DataType type;
  uint64_t outputs;
  bool transposed;
  OutputBlocks blocks = {};
  float plus = 0;

  uint64_t stored() const { return outputs / blocks.size * blocks.stride; }
};

/// Packs the parts and compares every element, padding included, with where the
/// definition puts it.
void check(const std::vector<Part> &parts, uint64_t k, bool interleave,
           DataType to) {
  std::vector<std::vector<double>> values;
  // A first byte of padding: tensors in files are not aligned.
  std::vector<std::string> stored;
  PanelLayout layout{{}, k, interleave, to};
  uint64_t n = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    values.push_back(distinct_values(parts[i].stored() * k, unsigned(i + 1)));
    stored.push_back("x" + stored_bytes({"", parts[i].type, {}, values[i]}));
    n += parts[i].outputs;
  }
  for (size_t i = 0; i < parts.size(); ++i)
    layout.parts.push_back(
        {reinterpret_cast<const std::byte *>(stored[i].data()) + 1,
         parts[i].type, parts[i].outputs, parts[i].stored(),
         parts[i].transposed, parts[i].blocks, parts[i].plus});

  auto weight = [&](size_t part, uint64_t output, uint64_t inner) {
    const auto &[size, stride, offset, pairs] = parts[part].blocks;
    if (pairs) {
      // The first half of a run has its even rows.
      const uint64_t place = output % pairs, half = pairs / 2;
      output += (place < half ? 2 * place : 2 * (place - half) + 1) - place;
    }
    uint64_t row = output / size * stride + offset + output % size;
    return parts[part].plus +
           (parts[part].transposed
                ? values[part][inner * parts[part].stored() + row]
                : values[part][row * k + inner]);
  };
  uint64_t panels = panel_count(n, interleave);
  std::vector<double> expected(panels * k * 16, 0.0);
  uint64_t column = 0;
  for (size_t part = 0; part < parts.size(); ++part)
    for (uint64_t output = 0; output < parts[part].outputs; ++output, ++column)
      for (uint64_t inner = 0; inner < k; ++inner) {
        uint64_t panel = interleave ? output / 16 * 2 + part : column / 16;
        uint64_t lane = (interleave ? output : column) % 16;
        expected[(panel * k + inner) * 16 + lane] = weight(part, output, inner);
      }

  std::vector<uint64_t> packed(expected.size());
  auto *bytes = reinterpret_cast<std::byte *>(packed.data());
  // In two pieces, as parallel jobs do.
  pack_panels(layout, 0, panels / 2, bytes);
  pack_panels(layout, panels / 2, panels, bytes);
  for (size_t i = 0; i < expected.size(); ++i) {
    float actual;
    conversion(to, DataType::F32)(bytes + i * bytes_of(to), &actual, 1);
    ASSERT_EQ(actual, expected[i])
        << "element " << i << " of k " << k << ", n " << n;
  }
}

constexpr DataType sources[] = {DataType::F32, DataType::F16, DataType::BF16,
                                DataType::F64};
constexpr DataType targets[] = {DataType::F32, DataType::F16, DataType::BF16,
                                DataType::F64};

TEST(Packing, OddSizes) {
  for (uint64_t n : {1, 15, 16, 17, 33, 48})
    for (uint64_t k : {1, 7, 127, 128, 129, 300})
      for (bool transposed : {false, true})
        check({{DataType::F32, n, transposed}}, k, false, DataType::BF16);
}

TEST(Packing, EveryPairOfTypes) {
  for (DataType from : sources)
    for (DataType to : targets)
      for (bool transposed : {false, true})
        check({{from, 35, transposed}}, 19, false, to);
}

TEST(Packing, ConcatenationStraddlesPanels) {
  check({{DataType::BF16, 20, false},
         {DataType::BF16, 5, false},
         {DataType::BF16, 30, false}},
        33, false, DataType::BF16);
  // Several parts in one panel, of different types and orientations.
  check({{DataType::F32, 3, false},
         {DataType::F16, 4, true},
         {DataType::F64, 2, false},
         {DataType::BF16, 9, true}},
        140, false, DataType::F32);
}

TEST(Packing, HalvesThatAreStoredInTurn) {
  for (bool transposed : {false, true})
    check({{DataType::BF16, 36, transposed, {6, 16, 10, 6}},
           {DataType::F32, 8, transposed, {8, 8, 0, 4}}},
          33, false, DataType::F32);
}

TEST(Packing, InterleavedPartsArePaddedByThemselves) {
  for (uint64_t outputs : {1, 16, 24, 40})
    check({{DataType::BF16, outputs, false}, {DataType::F32, outputs, true}},
          21, true, DataType::BF16);
}

TEST(Packing, VectorIsAPanelOfOneRow) {
  check({{DataType::BF16, 20, false}, {DataType::F32, 7, false}}, 1, false,
        DataType::F32);
}

TEST(Packing, BlocksOfStoredOutputs) {
  for (bool transposed : {false, true}) {
    // Every second head; the second half; one block in a long stride.
    check({{DataType::BF16, 40, transposed, {8, 16, 8}}}, 19, false,
          DataType::BF16);
    check({{DataType::F32, 21, transposed, {21, 42, 21}}}, 130, false,
          DataType::F32);
    check({{DataType::F16, 6, transposed, {3, 100, 50}},
           {DataType::F16, 30, transposed, {10, 11, 0}}},
          7, false, DataType::BF16);
  }
}

TEST(Packing, PlusIsAddedToEveryElement) {
  check({{DataType::BF16, 20, false, {}, 1.0f}, {DataType::F32, 9, false}}, 1,
        false, DataType::F32);
}

} // namespace
} // namespace baton::test

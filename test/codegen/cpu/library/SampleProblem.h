//===- SampleProblem.h - rows of logits, and what is wanted of them -------===//

#ifndef BATON_TEST_CODEGEN_CPU_LIBRARY_SAMPLEPROBLEM_H
#define BATON_TEST_CODEGEN_CPU_LIBRARY_SAMPLEPROBLEM_H

#include "test/codegen/cpu/library/Support.h"
#include "test/runtime/batch/sampling_oracle.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace baton::test {

struct SampleProblem {
  static constexpr int64_t line_changes = 40;

  /// Rows of normally distributed logits; many are equal if they are `coarse`.
  SampleProblem(Random &random, int64_t rows, int64_t vocabulary,
                float deviation, bool coarse = false)
      : logits(rows, vocabulary), sampling(static_cast<size_t>(rows)),
        changes(static_cast<size_t>(rows * line_changes)),
        line_words(static_cast<size_t>((vocabulary + 31) / 32)),
        masks(static_cast<size_t>(rows) * line_words) {
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t token = 0; token < vocabulary; ++token) {
        const float sum = random.value() + random.value() + random.value();
        logits.row(row)[token] =
            coarse ? std::round(deviation * sum) : deviation * sum;
      }
    for (size_t row = 0; row < sampling.size(); ++row) {
      BatonSampling &wanted = sampling[row];
      wanted.wanted = BATON_WANTED_TOKEN;
      wanted.top_p = wanted.repetition_penalty = 1;
      wanted.seed = random.bits();
      wanted.position = random.bits() % 1000;
      wanted.line = static_cast<uint32_t>(row);
    }
  }

  /// Changes logits of some tokens of each row.
  void add_changes(Random &random) {
    for (size_t row = 0; row < sampling.size(); ++row) {
      BatonSampling &wanted = sampling[row];
      wanted.repetition_penalty = 1.3;
      wanted.presence_penalty = 0.4;
      wanted.frequency_penalty = -0.2;
      wanted.changes = static_cast<uint32_t>(
          std::min<int64_t>(line_changes, (logits.width + 2) / 3));
      for (uint32_t i = 0; i < wanted.changes; ++i)
        changes[row * line_changes + i] = {
            static_cast<int32_t>(3 * i), random.bits() % 6,
            random.bits() % 2 ? random.value() : 0};
    }
  }

  /// Rows have masks, of which each allows one token of so many, and at least
  /// one. What lies behind the vocabulary is not looked at.
  void add_masks(Random &random, uint32_t one_of) {
    const auto vocabulary = static_cast<size_t>(logits.width);
    for (BatonSampling &wanted : sampling) {
      wanted.masked = 1;
      uint32_t *mask = mask_of(static_cast<size_t>(&wanted - sampling.data()));
      std::fill_n(mask, line_words, 0u);
      for (size_t token = 0; token < 32 * line_words; ++token)
        if (token >= vocabulary || random.bits() % one_of == 0)
          mask[token / 32] |= uint32_t(1) << token % 32;
      const size_t token = random.bits() % vocabulary;
      mask[token / 32] |= uint32_t(1) << token % 32;
    }
  }
  uint32_t *mask_of(size_t row) { return masks.data() + row * line_words; }

  /// Wants log-probabilities of some token, whatever else is said of the row.
  void score(Random &random, size_t row) {
    BatonSampling &wanted = sampling[row];
    wanted.wanted = BATON_WANTED_SCORE;
    wanted.given = random.bits() % static_cast<uint64_t>(logits.width);
    wanted.likely = random.bits() % 21;
  }

  /// Wants numbers of some tokens, whatever else is said of the row.
  void list(Random &random, size_t row, bool only) {
    BatonSampling &wanted = sampling[row];
    wanted.wanted = only ? BATON_WANTED_LISTED_ONLY : BATON_WANTED_LISTED;
    wanted.likely = random.bits() % 21;
    wanted.changes = 1 + random.bits() % uint32_t(line_changes);
    for (uint32_t i = 0; i < wanted.changes; ++i)
      changes[row * line_changes + i] = {
          static_cast<int32_t>(random.bits() %
                               static_cast<uint32_t>(logits.width)),
          random.bits() % 6, random.value()};
  }

  template <typename Body> std::vector<BatonDraw> draw(Body body) const {
    const auto rows = static_cast<int64_t>(sampling.size());
    constexpr int64_t words = sizeof(BatonDraw) / 4, gap = 3,
                      drawn = offsetof(BatonDraw, listed) / 4;
    std::vector<int32_t> draws(static_cast<size_t>(rows * (words + gap)), 77);
    Buffer workspace(rows, 2 * logits.width);
    std::vector<float> scratch(BATON_SAMPLE_SCRATCH_BYTES / 4);
    body(draws.data(), words + gap, draws.data() + drawn, words + gap,
         workspace.data(), workspace.stride, logits.data(), logits.stride,
         reinterpret_cast<const int32_t *>(sampling.data()),
         sizeof(BatonSampling) / 4,
         reinterpret_cast<const int32_t *>(changes.data()),
         static_cast<int64_t>(changes.size() * sizeof(BatonChange) / 4),
         line_changes * static_cast<int64_t>(sizeof(BatonChange) / 4),
         reinterpret_cast<const int32_t *>(masks.data()),
         static_cast<int64_t>(line_words), rows, logits.width, scratch.data());
    for (int64_t row = 0; row < rows; ++row) {
      const BatonSampling &wanted = sampling[static_cast<size_t>(row)];
      const int64_t first =
          drawn +
          (wanted.wanted >= BATON_WANTED_LISTED ? int64_t(wanted.changes) : 0);
      for (int64_t i = first; i < words + gap; ++i)
        EXPECT_EQ(draws[static_cast<size_t>(row * (words + gap) + i)], 77);
    }
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t i = 0; i < Buffer::gap; ++i)
        EXPECT_EQ(workspace.row(row)[workspace.width + i], Buffer::guard);
    std::vector<BatonDraw> result(sampling.size());
    for (size_t row = 0; row < result.size(); ++row)
      std::memcpy(&result[row], draws.data() + row * (words + gap),
                  sizeof(BatonDraw));
    return result;
  }

  BatonDraw expected(size_t row) const {
    return draw_from({logits.row(static_cast<int64_t>(row)),
                      static_cast<size_t>(logits.width)},
                     sampling[row],
                     changes.data() + sampling[row].line * line_changes,
                     masks.data() + row * line_words);
  }

  Buffer logits;
  std::vector<BatonSampling> sampling;
  std::vector<BatonChange> changes;
  size_t line_words;
  std::vector<uint32_t> masks;
};

/// What top-k, top-p, min-p and temperature are tested with.
struct SamplingCase {
  double temperature;
  uint64_t top_k;
  double top_p, min_p;

  void set(BatonSampling &wanted) const {
    wanted.temperature = temperature;
    wanted.top_k = top_k;
    wanted.top_p = top_p;
    wanted.min_p = min_p;
  }
};

inline std::vector<SamplingCase> sampling_cases() {
  std::vector<SamplingCase> cases;
  for (double temperature : {0.0, 0.3, 1.0, 4.0})
    for (SamplingCase each : {SamplingCase{0, 0, 1, 0},
                              {0, 1, 1, 0},
                              {0, 5, 1, 0},
                              {0, 40, 0.9, 0},
                              {0, 0, 0.5, 0},
                              {0, 0, 0.999, 0},
                              {0, 0, 1, 0.05},
                              {0, 0, 0.95, 0.2},
                              {0, 30, 0.95, 0.01},
                              {0, 7, 1, 1},
                              {0, 113, 1e-9, 0},
                              {0, 1u << 30, 0.95, 0}}) {
      each.temperature = temperature;
      cases.push_back(each);
    }
  return cases;
}

} // namespace baton::test

#endif // BATON_TEST_CODEGEN_CPU_LIBRARY_SAMPLEPROBLEM_H

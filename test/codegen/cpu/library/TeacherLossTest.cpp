//===- TeacherLossTest.cpp - losses beside what a teacher says ------------===//
//
// The body of whole rows against the formulas in F64, of which differences give
// the gradients, and bodies of parts of the vocabulary against that of whole
// rows.
//
//===----------------------------------------------------------------------===//

#include "test/codegen/cpu/library/Gradients.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

using namespace baton;
using namespace baton::test;

namespace {

constexpr float scale = 0.5f;

double log_sum(const std::vector<double> &values) {
  if (values.empty())
    return -INFINITY;
  const double most = *std::ranges::max_element(values);
  double sum = 0;
  for (double value : values)
    sum += std::exp(value - most);
  return most + std::log(sum);
}

/// A row, and what a teacher that has logits of its own says of it.
struct Row {
  Row(Random &random, int64_t vocabulary, int64_t named, int64_t unused,
      float temperature, bool reverse, float softcap)
      : logits(vocabulary), named(named + unused), softcap(softcap) {
    std::vector<double> own(vocabulary);
    for (int64_t i = 0; i < vocabulary; ++i) {
      logits[i] = 8.0f * random.value();
      own[i] = 4.0 * random.value() / temperature;
    }
    tokens.resize(vocabulary);
    std::iota(tokens.begin(), tokens.end(), 0);
    std::ranges::sort(tokens, {}, [&](int32_t i) { return -own[i]; });
    tokens.resize(named);
    std::ranges::sort(tokens);
    std::vector<double> others;
    for (int32_t i = 0; i < vocabulary; ++i)
      if (!std::ranges::binary_search(tokens, i))
        others.push_back(own[i]);
    const double all = log_sum(own);
    numbers = {1.5f * temperature * temperature, 0.25f, 1 / temperature,
               static_cast<float>(log_sum(others) - all),
               reverse ? 1.0f : 0.0f};
    for (int32_t token : tokens)
      numbers.push_back(static_cast<float>(own[token] - all));
    tokens.resize(named + unused, INT32_MAX);
    numbers.resize(numbers.size() + unused);
    target =
        static_cast<int32_t>(random.bits() % static_cast<uint32_t>(vocabulary));
  }

  std::array<double, 3> losses(const std::vector<double> &products) const {
    std::vector<double> l(products.size()), warm;
    for (size_t i = 0; i < l.size(); ++i) {
      l[i] = scale * products[i];
      if (softcap != 0)
        l[i] = softcap * std::tanh(l[i] / softcap);
      warm.push_back(l[i] * numbers[2]);
    }
    const double all = log_sum(warm);
    double divergence = 0;
    auto add = [&](double q, double p) {
      divergence +=
          numbers[4] != 0 ? std::exp(q) * (q - p) : std::exp(p) * (p - q);
    };
    std::vector<double> others;
    size_t next = 0;
    for (size_t i = 0; i < warm.size(); ++i)
      if (next < tokens.size() && tokens[next] == static_cast<int32_t>(i))
        add(warm[i] - all, numbers[5 + next++]);
      else
        others.push_back(warm[i]);
    if (!others.empty())
      add(log_sum(others) - all, numbers[3]);
    const double entropy = log_sum(l) - l[target];
    return {weight * (numbers[0] * divergence + numbers[1] * entropy),
            weight * divergence, weight * entropy};
  }

  /// Of the first loss.
  double slope(int64_t token) const {
    constexpr double step = 1e-5;
    std::vector<double> more(logits.begin(), logits.end()), less = more;
    more[token] += step;
    less[token] -= step;
    return (losses(more)[0] - losses(less)[0]) / (2 * step);
  }

  std::vector<float> logits, numbers;
  std::vector<int32_t> tokens;
  int32_t target;
  int64_t named;
  float softcap, weight = 0.25f;
};

template <typename Check> void for_each_row(Check check) {
  Random random(1);
  for (int64_t vocabulary : {5, 40, 600})
    for (int64_t named : {int64_t(1), int64_t(3), vocabulary})
      for (float temperature : {1.0f, 2.0f})
        for (bool reverse : {false, true})
          for (float softcap : {0.0f, 3.0f})
            check(Row(random, vocabulary, named, named < vocabulary ? 2 : 0,
                      temperature, reverse, softcap));
}

TEST(TeacherLoss, MatchesFormulas) {
  for_each_row([](const Row &row) {
    const int64_t vocabulary = static_cast<int64_t>(row.logits.size());
    Buffer loss(1, 3), gradient(1, vocabulary);
    std::ranges::copy(row.logits, gradient.row(0));
    baton_task_teacher_loss(loss.data(), loss.stride, gradient.data(),
                            gradient.stride, &row.target, &row.weight,
                            row.tokens.data(), row.numbers.data(), 1,
                            vocabulary, row.named, scale, row.softcap);
    expect_guards_intact(loss);
    expect_guards_intact(gradient);
    const auto expected = row.losses({row.logits.begin(), row.logits.end()});
    for (int i = 0; i < 3; ++i)
      EXPECT_NEAR(loss.row(0)[i], expected[i], 4e-6 * (1 + expected[i]));
    for (int64_t token = 0; token < vocabulary;
         token += vocabulary > 100 ? 17 : 1)
      EXPECT_NEAR(gradient.row(0)[token], row.slope(token), 2e-6);
  });
}

TEST(TeacherLoss, RowsWithoutWeightAreZeros) {
  Random random(2);
  const Row row(random, 40, 3, 0, 1.0f, false, 0.0f);
  Buffer loss(1, 3), gradient(1, 40);
  fill(loss, not_a_number);
  fill(gradient, not_a_number);
  const float weight = 0.0f;
  baton_task_teacher_loss(loss.data(), loss.stride, gradient.data(),
                          gradient.stride, &row.target, &weight,
                          row.tokens.data(), row.numbers.data(), 1, 40,
                          row.named, scale, 0.0f);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(loss.row(0)[i], 0.0f);
  for (int64_t i = 0; i < 40; ++i)
    EXPECT_EQ(gradient.row(0)[i], 0.0f);
}

/// Two ranks that have some tokens, and one that has none.
TEST(TeacherLoss, PartsOfTheVocabulary) {
  for_each_row([](const Row &row) {
    const auto vocabulary = static_cast<int32_t>(row.logits.size());
    const int32_t cut = vocabulary / 2 + 1, room = cut + 1;
    const int32_t places[3][2] = {
        {0, cut}, {cut, vocabulary - cut}, {vocabulary, 0}};
    std::vector<Buffer> parts;
    float largest[3][2], own[3][6], most[2] = {-INFINITY, -INFINITY},
                                    sums[6] = {};
    for (int rank = 0; rank < 3; ++rank) {
      const auto &place = places[rank];
      parts.emplace_back(1, room);
      fill(parts[rank], not_a_number);
      std::copy_n(row.logits.begin() + place[0], place[1], parts[rank].row(0));
      float maximum[2];
      baton_task_teacher_statistics(maximum, 2, largest[rank], 2, own[rank], 6,
                                    parts[rank].data(), room, &row.target,
                                    row.tokens.data(), row.numbers.data(),
                                    place, 1, row.named, scale, row.softcap);
      for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(maximum[i], largest[rank][i]);
        most[i] = std::max(most[i], maximum[i]);
      }
    }
    for (int rank = 0; rank < 3; ++rank) {
      float out[6];
      baton_task_teacher_sums(out, 6, largest[rank], 2, own[rank], 6, most, 2,
                              row.numbers.data(), 0, 1);
      for (int i = 0; i < 6; ++i)
        sums[i] += out[i];
    }
    Buffer wanted(1, vocabulary), loss(1, 3);
    std::ranges::copy(row.logits, wanted.row(0));
    baton_task_teacher_loss(loss.data(), loss.stride, wanted.data(),
                            wanted.stride, &row.target, &row.weight,
                            row.tokens.data(), row.numbers.data(), 1,
                            vocabulary, row.named, scale, row.softcap);
    float losses[3];
    baton_task_teacher_losses(losses, 3, most, 2, sums, 6, &row.weight, 1,
                              row.numbers.data(), 0, 1);
    for (int i = 0; i < 3; ++i)
      EXPECT_NEAR(losses[i], loss.row(0)[i], 2e-6 * (1 + losses[i]));
    for (int rank = 0; rank < 3; ++rank) {
      const auto &place = places[rank];
      baton_task_teacher_gradients(parts[rank].data(), room, &row.target,
                                   &row.weight, most, sums, row.tokens.data(),
                                   row.numbers.data(), place, 1, room,
                                   row.named, scale, row.softcap);
      for (int32_t i = 0; i < room; ++i)
        EXPECT_NEAR(parts[rank].row(0)[i],
                    i < place[1] ? wanted.row(0)[place[0] + i] : 0.0f, 1e-6);
      expect_guards_intact(parts[rank]);
    }
  });
}

} // namespace

//===- TeacherLossTwins.cpp - losses beside what a teacher says -----------===//

#include "codegen/cpu/library/training.h"
#include "test/codegen/cuda/library/Twins.h"

#include <cmath>

using namespace baton::test;

namespace {

/// Rows without weight, targets outside the vocabulary, tokens all over it and
/// such as there are not; both divergences.
struct Rows {
  Rows(Random &random, int64_t rows, int64_t vocabulary, int64_t named,
       float temperature)
      : targets(rows + 1), tokens(rows * named + 1), weights(rows + 1),
        numbers(rows * (named + 5) + 1) {
    for (int64_t row = 0; row < rows; ++row) {
      targets[row] = static_cast<int32_t>(row * 97 % (vocabulary + 20)) - 1;
      weights[row] = row % 3 == 1 ? 0.0f : 0.125f * (row % 5 + 1);
      const float first[] = {1.5f, 0.5f, 1 / temperature, -1.0f,
                             row % 2 ? 1.0f : 0.0f};
      float *own = &numbers[row * (named + 5)];
      std::copy_n(first, 5, own);
      for (int64_t i = 0; i < named; ++i) {
        // Ascending; the last ones there are not.
        tokens[row * named + i] =
            static_cast<int32_t>(i * (vocabulary + 2) / named + row % 2);
        own[5 + i] = -1.0f - std::fabs(random.value());
      }
    }
  }

  std::vector<int32_t> targets, tokens;
  std::vector<float> weights, numbers;
};

TWIN_TEST(baton_task_teacher_loss) {
  Random random(1);
  for (int64_t rows : {1, 9})
    for (int64_t vocabulary : {5, 256, 700})
      for (int64_t named : {1, 5})
        for (float softcap : {0.0f, 3.0f})
          for (float temperature : {1.0f, 2.0f}) {
            const Buffer logits = random.buffer(rows, vocabulary, 8.0f);
            const Rows all(random, rows, vocabulary, named, temperature);
            for (bool return_loss : {false, true})
              twin.agree([&](auto body) {
                Buffer gradients = logits, loss(rows, 3);
                body(loss.data(), loss.stride, gradients.data(),
                     gradients.stride, all.targets.data(), all.weights.data(),
                     all.tokens.data(), all.numbers.data(), rows, vocabulary,
                     named, 0.5f, softcap);
                return return_loss ? loss : gradients;
              });
          }
}

/// Tokens of ranks: some with room for one more, and none.
const std::vector<std::vector<int32_t>> places = {
    {0, 301}, {301, 299}, {600, 0}};
constexpr int64_t room = 301, whole = 600, count = 7;

TWIN_TEST(baton_task_teacher_statistics) {
  Random random(2);
  for (int64_t rows : {0, 1, 9})
    for (float softcap : {0.0f, 1.5f})
      for (float temperature : {1.0f, 2.0f}) {
        // Memory for one row at least: addresses of none could not be moved.
        const int64_t held = std::max<int64_t>(rows, 1);
        const Buffer logits = random.buffer(held, room, 4.0f);
        const Rows all(random, rows, whole, count, temperature);
        for (const std::vector<int32_t> &place : places)
          twin.agree([&](auto body) {
            Buffer found(held, 10);
            body(found.data(), found.stride, found.data() + 2, found.stride,
                 found.data() + 4, found.stride, logits.data(), logits.stride,
                 all.targets.data(), all.tokens.data(), all.numbers.data(),
                 place.data(), rows, count, 0.5f, softcap);
            return found;
          });
      }
}

TWIN_TEST(baton_task_teacher_sums) {
  Random random(3);
  for (int64_t rows : {1, 9, 300}) {
    Buffer own = random.buffer(rows, 6), largest = random.buffer(rows, 2),
           maximum = random.buffer(rows, 2), numbers = random.buffer(rows, 9);
    for (int64_t row = 0; row < rows; ++row) {
      for (int i = 0; i < 2; ++i)
        maximum.row(row)[i] = std::fabs(maximum.row(row)[i]);
      numbers.row(row)[4] = row % 2 ? 1.0f : 0.0f;
    }
    // A rank without tokens.
    std::fill_n(own.row(0), 6, 0.0f);
    std::fill_n(largest.row(0), 2, -INFINITY);
    twin.agree([&](auto body) {
      Buffer out(rows, 6);
      body(out.data(), out.stride, largest.data(), largest.stride, own.data(),
           own.stride, maximum.data(), maximum.stride, numbers.data(),
           numbers.stride, rows);
      return out;
    });
  }
}

TWIN_TEST(baton_task_teacher_losses) {
  Random random(4);
  for (int64_t rows : {1, 9, 300}) {
    const Buffer maximum = random.buffer(rows, 2);
    Buffer sums = random.buffer(rows, 6), weights = random.buffer(rows, 1),
           numbers = random.buffer(rows, 9);
    for (int64_t row = 0; row < rows; ++row) {
      for (int i = 0; i < 3; ++i)
        sums.row(row)[i] = 1.0f + std::fabs(sums.row(row)[i]);
      if (row % 3 == 1)
        weights.row(row)[0] = 0.0f;
      if (row % 5 == 2)
        sums.row(row)[2] = 0.0f;
      numbers.row(row)[3] = -std::fabs(numbers.row(row)[3]);
      numbers.row(row)[4] = row % 2 ? 1.0f : 0.0f;
    }
    twin.agree([&](auto body) {
      Buffer loss(rows, 3);
      body(loss.data(), loss.stride, maximum.data(), maximum.stride,
           sums.data(), sums.stride, weights.data(), weights.stride,
           numbers.data(), numbers.stride, rows);
      return loss;
    });
  }
}

TWIN_TEST(baton_task_teacher_gradients) {
  Random random(5);
  for (int64_t rows : {0, 1, 9})
    for (float softcap : {0.0f, 1.5f})
      for (float temperature : {1.0f, 2.0f}) {
        const Buffer logits = random.buffer(rows, room, 4.0f);
        const Rows all(random, rows, whole, count, temperature);
        std::vector<float> maximum(2 * rows + 2), sums(6 * rows + 6);
        for (int64_t row = 0; row < rows; ++row) {
          maximum[2 * row] = 9.0f;
          maximum[2 * row + 1] = 8.0f;
          for (int i = 0; i < 6; ++i)
            sums[6 * row + i] = 1.5f + static_cast<float>(row + i);
        }
        for (const std::vector<int32_t> &place : places)
          twin.agree([&](auto body) {
            Buffer gradients = logits;
            body(gradients.data(), gradients.stride, all.targets.data(),
                 all.weights.data(), maximum.data(), sums.data(),
                 all.tokens.data(), all.numbers.data(), place.data(), rows,
                 room, count, 0.5f, softcap);
            return gradients;
          });
      }
}

} // namespace

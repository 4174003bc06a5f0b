//===- PreferenceLossTwins.cpp - the loss of pairs of answers -------------===//

#include "codegen/cpu/library/training.h"
#include "test/codegen/cuda/library/Twins.h"

using namespace baton::test;

namespace {

/// Rows before the first pair, pairs that end at any row, margins of any size.
TWIN_TEST(baton_task_preference_loss) {
  Random random(1);
  for (int64_t rows : {1, 9, 300})
    for (int64_t length : {4, 37})
      for (int64_t before : {0, 3}) {
        const Buffer losses = random.buffer(rows, 1);
        std::vector<float> weights(rows), preferences(4 * rows);
        for (int64_t row = 0; row < rows; ++row) {
          weights[row] = static_cast<float>(row % 3 - 1);
          if (row < before || (row - before) % length)
            continue;
          preferences[4 * row] = 0.125f * (row % 5 + 1);
          preferences[4 * row + 1] = row % 2 ? 20.0f : 0.1f;
          preferences[4 * row + 2] = random.value();
          preferences[4 * row + 3] = random.value();
        }
        twin.agree([&](auto body) {
          Buffer results(rows, 7);
          std::vector<float> gradient(rows);
          body(results.data(), results.stride, gradient.data(), losses.data(),
               losses.stride, weights.data(), preferences.data(), rows);
          results.values.insert(results.values.end(), gradient.begin(),
                                gradient.end());
          return results.values;
        });
      }
}

TWIN_TEST(baton_task_weigh_rows) {
  Random random(2);
  for (int64_t rows : {1, 7})
    for (int64_t width : {1, 33}) {
      const Buffer x = random.buffer(rows, width),
                   factors = random.buffer(rows, 1);
      twin.agree([&](auto body) {
        Buffer out(rows, width);
        body(out.data(), out.stride, x.data(), x.stride, factors.data(),
             factors.stride, rows, width);
        return out;
      });
    }
}

} // namespace

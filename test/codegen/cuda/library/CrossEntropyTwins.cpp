//===- CrossEntropyTwins.cpp - losses of logits, and their gradients ------===//

#include "codegen/cpu/library/training.h"
#include "test/codegen/cuda/library/Twins.h"

using namespace baton::test;

namespace {

/// Rows without weight, targets outside the vocabulary, less than a block of
/// tokens and several.
TWIN_TEST(baton_task_cross_entropy) {
  Random random(1);
  for (int64_t rows : {1, 9, 30})
    for (int64_t vocabulary : {5, 256, 700})
      for (float softcap : {0.0f, 3.0f}) {
        const Buffer logits = random.buffer(rows, vocabulary, 8.0f);
        std::vector<int32_t> targets(rows);
        std::vector<float> weights(rows);
        for (int64_t row = 0; row < rows; ++row) {
          targets[row] = static_cast<int32_t>(row * 7 % (vocabulary + 1));
          weights[row] = row % 3 == 1 ? 0.0f : 0.125f * (row % 5 + 1);
        }
        for (bool return_loss : {false, true})
          twin.agree([&](auto body) {
            Buffer gradients = logits, loss(rows, 1);
            body(loss.data(), loss.stride, gradients.data(), gradients.stride,
                 targets.data(), weights.data(), rows, vocabulary, 0.5f,
                 softcap);
            return return_loss ? loss : gradients;
          });
      }
}

} // namespace

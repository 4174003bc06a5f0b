//===- CrossEntropyTwins.cpp - losses of logits, and their gradients ------===//

#include "codegen/cpu/library/training.h"
#include "test/codegen/cuda/library/Twins.h"

using namespace baton::test;

namespace {

TWIN_TEST(baton_task_cross_entropy) {
  Random random(1);
  // Less than a block of tokens, and more than there are sixteens of threads.
  for (int64_t vocabulary : {1, 75, 256, 257, 5000})
    for (float softcap : {0.0f, 3.0f}) {
      const int64_t rows = vocabulary > 1000 ? 2 : 7;
      const Buffer before = random.buffer(rows, vocabulary, 20.0f);
      std::vector<int32_t> targets(rows);
      std::vector<float> weights(rows);
      for (int64_t row = 0; row < rows; ++row) {
        // One of them outside of the vocabulary.
        targets[row] = static_cast<int32_t>(row * 31 % (vocabulary + 1));
        weights[row] = row % 3 == 1 ? 0.0f : 0.125f * (row + 1);
      }
      for (bool return_loss : {false, true})
        twin.agree([&](auto body) {
          Buffer loss(rows, 1), logits = before;
          body(loss.data(), loss.stride, logits.data(), logits.stride,
               targets.data(), weights.data(), rows, vocabulary, 0.5f, softcap);
          return return_loss ? loss : logits;
        });
    }
}

} // namespace

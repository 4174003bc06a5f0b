//===- AdapterTwins.cpp - low-rank adapters, of each row its own ----------===//

#include "test/codegen/cpu/library/AdapterProblem.h"
#include "test/codegen/cuda/library/Twins.h"

using namespace baton::test;

namespace {

template <typename Type, typename Function>
void expect_down_agrees(const Twin<Function> &twin) {
  Random random(1);
  for (int64_t rows : {1, 5, 40})
    for (int64_t k : {1, 16, 99}) {
      const AdapterProblem<Type> problem(random, rows, k, 16);
      const Buffer x = random.buffer(rows, k);
      twin.agree([&](auto body) { return problem.down(x, body); });
    }
}

template <typename Type, typename Function>
void expect_up_agrees(const Twin<Function> &twin) {
  Random random(2);
  for (int64_t rows : {1, 5, 40})
    for (int64_t outputs : {16, 20, 64})
      for (int64_t column : {0, 32, 96}) {
        const AdapterProblem<Type> problem(random, rows, 8, outputs);
        const Buffer low = random.buffer(rows, problem.most);
        const Buffer before = random.buffer(rows, 48);
        twin.agree([&](auto body) {
          Buffer out = before;
          problem.up(out, low, column, 16, body);
          return out;
        });
      }
}

} // namespace

TWIN_TEST(baton_task_adapter_down) { expect_down_agrees<F32>(twin); }
TWIN_TEST(baton_task_adapter_down_bf16) { expect_down_agrees<BF16>(twin); }
TWIN_TEST(baton_task_adapter_up) { expect_up_agrees<F32>(twin); }
TWIN_TEST(baton_task_adapter_up_bf16) { expect_up_agrees<BF16>(twin); }

//===- AdapterTest.cpp - low-rank adapters, of each row its own -----------===//

#include "test/codegen/cpu/library/AdapterProblem.h"

using namespace baton::test;

namespace {

struct PlainAdapter : F32 {
  static constexpr auto down = &baton_task_adapter_down;
  static constexpr auto up = &baton_task_adapter_up;
};
struct HalfAdapter : BF16 {
  static constexpr auto down = &baton_task_adapter_down_bf16;
  static constexpr auto up = &baton_task_adapter_up_bf16;
};

template <typename Type> class Adapter : public ::testing::Test {};
using AdapterTypes = ::testing::Types<PlainAdapter, HalfAdapter>;
TYPED_TEST_SUITE(Adapter, AdapterTypes);

TYPED_TEST(Adapter, DownIsTheProductOfTheRowsOwn) {
  Random random(1);
  for (int64_t rows : {1, 2, 5, 16, 40})
    for (int64_t k : {1, 7, 16, 100}) {
      const AdapterProblem<TypeParam> problem(random, rows, k, 16);
      const Buffer x = random.buffer(rows, k);
      const Buffer low = problem.down(x, TypeParam::down);
      for (int64_t row = 0; row < rows; ++row) {
        const auto *own = problem.adapter(row);
        for (int64_t rank = 0; rank < problem.most; ++rank) {
          double sum = 0, magnitude = 0;
          for (int64_t i = 0; own && rank < own->count && i < k; ++i) {
            const double term = double(x.at(row, i)) *
                                TypeParam::value(own->a.stored[rank * k + i]);
            sum += term;
            magnitude += std::fabs(term);
          }
          ASSERT_NEAR(low.at(row, rank), sum,
                      double(k + 8) * rounding * magnitude)
              << "row " << row << " rank " << rank << " k " << k;
        }
      }
      // Whatever rows are beside it.
      for (int64_t row = 0; row < rows; ++row) {
        Buffer alone(1, problem.most);
        TypeParam::down(alone.data(), alone.stride, x.row(row), x.stride,
                        problem.down_room.data(),
                        int64_t(problem.down_room.size()),
                        problem.places.data() + row,
                        problem.counts.data() + row, 1, k, problem.most);
        for (int64_t rank = 0; rank < problem.most; ++rank)
          ASSERT_EQ(alone.at(0, rank), low.at(row, rank)) << "row " << row;
      }
    }
}

TYPED_TEST(Adapter, UpAddsToItsColumns) {
  Random random(2);
  for (int64_t rows : {1, 6, 33})
    for (int64_t outputs : {16, 20, 64})
      for (auto [column, columns, offset] : {std::array<int64_t, 3>{0, 16, 0},
                                             {0, 100, 16},
                                             {32, 64, 16},
                                             {16, 16, 0},
                                             {64, 16, 96},
                                             {96, 7, 64}}) {
        const AdapterProblem<TypeParam> problem(random, rows, 8, outputs);
        const Buffer low = random.buffer(rows, problem.most);
        const Buffer before = random.buffer(rows, columns);
        Buffer out = before;
        problem.up(out, low, column, offset, TypeParam::up);
        for (int64_t row = 0; row < rows; ++row)
          for (int64_t c = 0; c < columns; ++c) {
            const auto *own = problem.adapter(row);
            const int64_t n = column + c - offset;
            if (!own || n < 0 || n >= outputs) {
              ASSERT_EQ(out.at(row, c), before.at(row, c))
                  << "row " << row << " column " << c;
              continue;
            }
            double sum = before.at(row, c), magnitude = std::fabs(sum);
            for (int64_t rank = 0; rank < own->count; ++rank) {
              const double term =
                  double(low.at(row, rank)) *
                  TypeParam::value(own->b.stored[n * own->count + rank]);
              sum += term;
              magnitude += std::fabs(term);
            }
            ASSERT_NEAR(out.at(row, c), sum,
                        double(own->count + 8) * rounding * magnitude)
                << "row " << row << " column " << c;
          }
      }
}

} // namespace

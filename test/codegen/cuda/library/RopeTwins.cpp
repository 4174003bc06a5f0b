//===- RopeTwins.cpp - rotary position embedding --------------------------===//

#include "test/codegen/cuda/library/Twins.h"

using namespace baton::test;

namespace {

TWIN_TEST(baton_task_rope_table) {
  Random random(1);
  for (int64_t half : {1, 5, 33})
    for (int64_t rows : {0, 1, 9})
      for (int64_t position : {0, 77, 131000}) {
        const std::vector<float> inverse_frequencies = random.vector(half);
        twin.agree([&](auto body) {
          Buffer out(rows, 2 * half);
          body(out.data(), out.stride, inverse_frequencies.data(), half,
               position, rows, 1.25f);
          return out;
        });
      }
}

TWIN_TEST(baton_task_rope) {
  Random random(2);
  for (int64_t head_dim : {2, 5, 64, 100})
    for (int64_t half : {int64_t(1), head_dim / 2})
      for (int64_t heads : {1, 3})
        for (int64_t rows : {0, 1, 9}) {
          const Buffer table = random.buffer(rows, 2 * half);
          const Buffer x = random.buffer(rows, heads * head_dim);
          twin.agree([&](auto body) {
            Buffer out(rows, heads * head_dim);
            body(out.data(), out.stride, x.data(), x.stride, table.data(),
                 table.stride, rows, heads, head_dim, half);
            return out;
          });
          twin.agree([&](auto body) {
            Buffer out = x;
            body(out.data(), out.stride, out.data(), out.stride, table.data(),
                 table.stride, rows, heads, head_dim, half);
            return out;
          });
        }
}

} // namespace

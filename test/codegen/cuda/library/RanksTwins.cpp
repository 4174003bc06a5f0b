//===- RanksTwins.cpp - what programs of several ranks call ---------------===//

#include "codegen/cpu/library/library.h"
#include "test/codegen/cuda/library/Twins.h"

#include <algorithm>
#include <cmath>

using namespace baton::test;

namespace {

/// Tokens that ranks have: from one on, and how many.
const std::vector<std::vector<int32_t>> places = {
    {0, 301}, {301, 299}, {600, 0}};
constexpr int64_t room = 303;

TWIN_TEST(baton_task_max_ranks) {
  Random random(1);
  for (int64_t ranks : {1, 2, 5})
    for (int64_t width : {1, 16, 300}) {
      Buffer parts = random.buffer(ranks, width);
      // Not symmetric for NaN, and all the same on both sides.
      parts.row(0)[0] = NAN;
      twin.agree([&](auto body) {
        Buffer out = parts;
        body(out.row(ranks - 1), out.data(), out.stride, ranks, width);
        return out;
      });
    }
}

TWIN_TEST(baton_task_clear) {
  for (int64_t width : {0, 1, 16, 300})
    twin.agree([&](auto body) {
      std::vector<float> out(301, 7.0f);
      body(out.data(), width);
      return out;
    });
}

TWIN_TEST(baton_task_keep_first) {
  Random random(2);
  for (int64_t rows : {0, 1, 9})
    for (int64_t width : {1, 21, 300}) {
      const Buffer x = random.buffer(rows, width);
      for (const std::vector<int32_t> &place : places)
        twin.agree([&](auto body) {
          Buffer out = x;
          body(out.data(), out.stride, out.data(), out.stride, rows, width,
               place.data());
          return out;
        });
    }
}

TWIN_TEST(baton_task_take_columns) {
  Random random(3);
  for (int64_t rows : {0, 1, 9})
    for (int64_t width : {1, 21, 300}) {
      const Buffer x = random.buffer(rows, 3 * width);
      for (const std::vector<int32_t> &place :
           {std::vector<int32_t>{0}, {1}, {2}})
        twin.agree([&](auto body) {
          Buffer out(rows, width);
          body(out.data(), out.stride, x.data(), x.stride, rows, width,
               place.data());
          return out;
        });
    }
}

TWIN_TEST(baton_task_sum_rank_rows) {
  Random random(4);
  constexpr int64_t ranks = 3, rows = 5, part = 16, all = 21;
  for (int64_t width : {1, 37, 300}) {
    const Buffer parts = random.buffer(ranks, rows * width);
    for (const std::vector<int32_t> &place :
         {std::vector<int32_t>{0}, {1}, {2}})
      for (int64_t first : {0, 3, 11})
        twin.agree([&](auto body) {
          Buffer out(rows, width);
          body(out.data(), out.stride, parts.data(), parts.stride, ranks, rows,
               width, first, part, all, place.data());
          return out;
        });
  }
}

TWIN_TEST(baton_task_embedding_gradient_part) {
  Random random(5);
  constexpr int64_t own_room = 4;
  for (int64_t rows : {1, 40, 100})
    for (int64_t width : {1, 37, 150}) {
      const Buffer dy = random.buffer(rows, width);
      const Buffer before = random.buffer(own_room, width);
      std::vector<int32_t> indices(rows);
      for (int64_t row = 0; row < rows; ++row)
        indices[row] = static_cast<int32_t>(row * row % 11) - 1;
      for (const std::vector<int32_t> &place :
           {std::vector<int32_t>{0, 4}, {4, 3}, {7, 0}})
        for (const std::vector<int32_t> &accumulate :
             {std::vector<int32_t>{0}, {1}})
          twin.agree([&](auto body) {
            Buffer table = before;
            body(table.data(), table.stride, dy.data(), dy.stride,
                 indices.data(), rows, width, own_room, 1.5f, accumulate.data(),
                 place.data());
            return table;
          });
    }
}

/// A row's target is here, elsewhere, or none.
std::vector<int32_t> targets_of(int64_t rows) {
  std::vector<int32_t> targets(rows);
  for (int64_t row = 0; row < rows; ++row)
    targets[row] = static_cast<int32_t>(row * 97 % 620) - 1;
  return targets;
}

TWIN_TEST(baton_task_logit_statistics) {
  Random random(6);
  for (int64_t rows : {0, 1, 9, 30})
    for (float softcap : {0.0f, 1.5f}) {
      // Memory for one row at least: addresses of none could not be moved.
      const int64_t held = std::max<int64_t>(rows, 1);
      const Buffer logits = random.buffer(held, room, 4.0f);
      const std::vector<int32_t> targets = targets_of(rows + 1);
      for (const std::vector<int32_t> &place : places)
        twin.agree([&](auto body) {
          Buffer found(held, 4);
          body(found.data(), found.stride, found.data() + 1, found.stride,
               found.data() + 2, found.stride, logits.data(), logits.stride,
               targets.data(), place.data(), rows, 0.5f, softcap);
          return found;
        });
    }
}

TWIN_TEST(baton_task_logit_sums) {
  Random random(7);
  for (int64_t rows : {1, 9, 300}) {
    Buffer own = random.buffer(rows, 2), largest = random.buffer(rows, 1),
           maximum = random.buffer(rows, 1);
    for (int64_t row = 0; row < rows; ++row)
      maximum.row(row)[0] = std::fabs(maximum.row(row)[0]);
    // A rank without tokens.
    own.row(0)[0] = 0.0f;
    largest.row(0)[0] = -INFINITY;
    twin.agree([&](auto body) {
      Buffer out(rows, 2);
      body(out.data(), out.stride, largest.data(), largest.stride, own.data(),
           own.stride, maximum.data(), maximum.stride, rows);
      return out;
    });
  }
}

TWIN_TEST(baton_task_losses) {
  Random random(8);
  for (int64_t rows : {1, 9, 300}) {
    const Buffer maximum = random.buffer(rows, 1);
    Buffer sums = random.buffer(rows, 2), weights = random.buffer(rows, 1);
    for (int64_t row = 0; row < rows; ++row) {
      sums.row(row)[0] = 1.0f + std::fabs(sums.row(row)[0]);
      if (row % 3 == 1)
        weights.row(row)[0] = 0.0f;
    }
    twin.agree([&](auto body) {
      Buffer loss(rows, 1);
      body(loss.data(), loss.stride, maximum.data(), maximum.stride,
           sums.data(), sums.stride, weights.data(), weights.stride, rows);
      return loss;
    });
  }
}

TWIN_TEST(baton_task_loss_gradients) {
  Random random(9);
  for (int64_t rows : {0, 1, 9, 30})
    for (float softcap : {0.0f, 1.5f}) {
      const Buffer logits = random.buffer(rows, room, 4.0f);
      const std::vector<int32_t> targets = targets_of(rows + 1);
      std::vector<float> weights(rows + 1), maximum(rows + 1),
          sums(2 * rows + 2);
      for (int64_t row = 0; row < rows; ++row) {
        weights[row] = row % 3 == 1 ? 0.0f : 0.125f * (row % 5 + 1);
        maximum[row] = 9.0f;
        sums[2 * row] = 1.5f + row;
      }
      for (const std::vector<int32_t> &place : places)
        twin.agree([&](auto body) {
          Buffer gradients = logits;
          body(gradients.data(), gradients.stride, targets.data(),
               weights.data(), maximum.data(), sums.data(), place.data(), rows,
               room, 0.5f, softcap);
          return gradients;
        });
    }
}

} // namespace

//===- PagedProblem.h - rows of several sequences, their states in pages --===//

#ifndef BATON_TEST_CODEGEN_CPU_LIBRARY_PAGEDPROBLEM_H
#define BATON_TEST_CODEGEN_CPU_LIBRARY_PAGEDPROBLEM_H

#include "test/codegen/cpu/library/Support.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace baton::test {

/// One key/value head, and rows of a step of several sequences.
struct PagedProblem {
  struct Sequence {
    /// Positions that came before, and rows of this step.
    int64_t past, rows;
  };
  struct Shape {
    std::vector<Sequence> sequences;
    int64_t group, head_dim, value_dim;
    int64_t window = 0;
    float softcap = 0.0f;
    int64_t gate_width = 0;
    /// Deals rows out one by one, instead of sequence by sequence.
    bool interleaves = false;
  };

  PagedProblem(Random &random, const Shape &shape)
      : shape(shape), rows(0), line(1), q(0, 0), gates(0, 0) {
    for (const Sequence &sequence : shape.sequences) {
      rows += sequence.rows;
      line = std::max(line, (sequence.past + sequence.rows + 63) / 64);
    }
    q = random.buffer(rows, shape.group * shape.head_dim, 2.0f);
    gates = random.buffer(rows, shape.group * shape.value_dim, 6.0f);
    // Pages in any order, some of which are nobody's.
    const auto count = static_cast<int64_t>(shape.sequences.size());
    std::vector<int32_t> free(count * line + 3);
    std::iota(free.begin(), free.end(), 0);
    for (size_t i = free.size(); i > 1; --i)
      std::swap(free[i - 1], free[random.bits() % i]);
    pool = static_cast<int64_t>(free.size());
    pages.assign(count * line, -1);
    std::vector<std::pair<int64_t, int64_t>> order;
    for (int64_t s = 0; s < count; ++s) {
      const Sequence &sequence = shape.sequences[s];
      const int64_t length = sequence.past + sequence.rows;
      keys.push_back(random.buffer(length, shape.head_dim, 2.0f));
      values.push_back(random.buffer(length, shape.value_dim));
      for (int64_t block = 0; block * 64 < length; ++block) {
        pages[s * line + block] = free.back();
        free.pop_back();
      }
      for (int64_t row = 0; row < sequence.rows; ++row)
        order.emplace_back(s, sequence.past + row);
    }
    if (shape.interleaves)
      std::sort(order.begin(), order.end(), [&](auto one, auto other) {
        auto place = [&](auto row) {
          return std::pair(row.second - shape.sequences[row.first].past,
                           row.first);
        };
        return place(one) < place(other);
      });
    for (auto [s, position] : order) {
      sequences.push_back(static_cast<int32_t>(s));
      positions.push_back(static_cast<int32_t>(position));
    }
  }

  int32_t slot(int64_t sequence, int64_t position) const {
    return static_cast<int32_t>(pages[sequence * line + position / 64] * 64 +
                                position % 64);
  }

  /// The pool of pages, each with a head before and behind this one, after
  /// earlier steps' rows, in chunks, and this step's. What nobody has written
  /// is NaN.
  template <typename Append>
  std::vector<float> append(const std::vector<Buffer> &of, int64_t width,
                            Append body) const {
    std::vector<float> memory(pool * 3 * 64 * width,
                              std::numeric_limits<float>::quiet_NaN());
    float *head = memory.data() + 64 * width;
    for (size_t s = 0; s < of.size(); ++s) {
      const int64_t past = shape.sequences[s].past;
      for (int64_t first = 0, size = 1; first < past;
           first += size, size += 9) {
        std::vector<int32_t> slots;
        for (int64_t i = first; i < std::min(past, first + size); ++i)
          slots.push_back(slot(s, i));
        body(head, 3 * 64 * width, of[s].row(first), of[s].stride, slots.data(),
             static_cast<int64_t>(slots.size()), width);
      }
    }
    Buffer step(rows, width);
    std::vector<int32_t> slots;
    for (int64_t row = 0; row < rows; ++row) {
      std::copy_n(of[sequences[row]].row(positions[row]), width, step.row(row));
      slots.push_back(slot(sequences[row], positions[row]));
    }
    body(head, 3 * 64 * width, step.data(), step.stride, slots.data(), rows,
         width);
    return memory;
  }

  /// Rows in tiles of `tile`.
  template <typename Body>
  Buffer attend(const std::vector<float> &key_memory,
                const std::vector<float> &value_memory, int64_t tile,
                Body body) const {
    Buffer out(rows, shape.group * shape.value_dim);
    const int64_t floats =
        baton_attention_scratch_bytes(tile, shape.group, shape.head_dim,
                                      shape.value_dim) /
        4;
    for (int64_t first = 0; first < rows; first += tile) {
      std::vector<float> scratch(floats + 1,
                                 std::numeric_limits<float>::quiet_NaN());
      scratch.back() = Buffer::guard;
      body(out.row(first), out.stride, q.row(first), q.stride,
           key_memory.data() + 64 * shape.head_dim, 3 * 64 * shape.head_dim,
           value_memory.data() + 64 * shape.value_dim, 3 * 64 * shape.value_dim,
           positions.data() + first, sequences.data() + first, pages.data(),
           static_cast<int64_t>(pages.size()), line, rows,
           std::min(tile, rows - first), shape.group, shape.head_dim,
           shape.value_dim, 0.3f, shape.softcap, shape.window,
           shape.gate_width ? gates.row(first) : nullptr, gates.stride,
           shape.gate_width, scratch.data());
      EXPECT_EQ(scratch.back(), Buffer::guard) << "scratch overrun";
    }
    return out;
  }

  Shape shape;
  int64_t rows, line, pool = 0;
  Buffer q, gates;
  /// Of each sequence.
  std::vector<Buffer> keys, values;
  std::vector<int32_t> positions, sequences, pages;
};

inline std::vector<PagedProblem::Shape> paged_shapes() {
  return {
      // Decoding, a prompt, and chunks beside single rows.
      {{{0, 1}}, 1, 16, 16},
      {{{5, 1}, {63, 1}, {64, 1}, {200, 1}}, 4, 16, 24},
      {{{0, 70}}, 2, 16, 16},
      {{{0, 20}, {130, 1}, {60, 9}, {64, 64}, {7, 1}}, 3, 20, 12, 0, 5.0f},
      {{{0, 20}, {130, 1}, {60, 9}, {64, 64}, {7, 1}}, 1, 16, 40, 17, 0.0f, 1},
      {{{3, 6}, {66, 6}, {0, 6}}, 2, 8, 16, 0, 0.0f, 16, true},
  };
}

} // namespace baton::test

#endif // BATON_TEST_CODEGEN_CPU_LIBRARY_PAGEDPROBLEM_H

//===- PagedProblem.h - rows of several sequences, their states in pages --===//

#ifndef BATON_TEST_CODEGEN_CPU_LIBRARY_PAGEDPROBLEM_H
#define BATON_TEST_CODEGEN_CPU_LIBRARY_PAGEDPROBLEM_H

#include "test/codegen/cpu/library/Support.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <type_traits>

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
    bool has_sinks = false;
  };

  PagedProblem(Random &random, const Shape &shape)
      : shape(shape), rows(0), line(1), q(0, 0), gates(0, 0) {
    for (const Sequence &sequence : shape.sequences) {
      rows += sequence.rows;
      line = std::max(line, (sequence.past + sequence.rows + 63) / 64);
    }
    q = random.buffer(rows, shape.group * shape.head_dim, 2.0f);
    gates = random.buffer(rows, shape.group * shape.value_dim, 6.0f);
    sinks = random.vector(shape.group);
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
  /// earlier steps' rows, in chunks, and this step's, of rows of `row`
  /// elements. What nobody has written is NaN, as are scales of it.
  template <typename Element, typename Append>
  std::vector<Element> append(const std::vector<Buffer> &of, int64_t width,
                              int64_t row, Append body) const {
    std::vector<Element> memory(pool * 3 * 64 * row);
    std::memset(memory.data(), 0xff, memory.size() * sizeof(Element));
    Element *head = memory.data() + 64 * row;
    for (size_t s = 0; s < of.size(); ++s) {
      const int64_t past = shape.sequences[s].past;
      for (int64_t first = 0, size = 1; first < past;
           first += size, size += 9) {
        std::vector<int32_t> slots;
        for (int64_t i = first; i < std::min(past, first + size); ++i)
          slots.push_back(slot(s, i));
        body(head, 3 * 64 * row, of[s].row(first), of[s].stride, slots.data(),
             static_cast<int64_t>(slots.size()), width, row);
      }
    }
    Buffer step(rows, width);
    std::vector<int32_t> slots;
    for (int64_t i = 0; i < rows; ++i) {
      std::copy_n(of[sequences[i]].row(positions[i]), width, step.row(i));
      slots.push_back(slot(sequences[i], positions[i]));
    }
    body(head, 3 * 64 * row, step.data(), step.stride, slots.data(), rows,
         width, row);
    return memory;
  }
  template <typename Append>
  std::vector<float> append(const std::vector<Buffer> &of, int64_t width,
                            Append body) const {
    return append<float>(of, width, width, body);
  }

  /// Rows in tiles of `tile`, on states whose rows are `extra` elements longer
  /// than keys and values.
  template <typename Element, typename Body>
  Buffer attend(const std::vector<Element> &key_memory,
                const std::vector<Element> &value_memory, int64_t tile,
                Body body, int64_t extra = 0) const {
    Buffer out(rows, shape.group * shape.value_dim);
    const int64_t key_row = shape.head_dim + extra,
                  value_row = shape.value_dim + extra;
    int64_t floats = baton_attention_scratch_bytes(
                         tile, shape.group, shape.head_dim, shape.value_dim) /
                     4;
    if (!std::is_same_v<Element, float>)
      floats += 64 * shape.value_dim;
    for (int64_t first = 0; first < rows; first += tile) {
      std::vector<float> scratch(floats + 1,
                                 std::numeric_limits<float>::quiet_NaN());
      scratch.back() = Buffer::guard;
      body(out.row(first), out.stride, q.row(first), q.stride,
           key_memory.data() + 64 * key_row, 3 * 64 * key_row,
           value_memory.data() + 64 * value_row, 3 * 64 * value_row,
           positions.data() + first, sequences.data() + first, pages.data(),
           static_cast<int64_t>(pages.size()), line, rows,
           std::min(tile, rows - first), shape.group, shape.head_dim,
           shape.value_dim, key_row, value_row, 0.3f, shape.softcap,
           shape.window, shape.gate_width ? gates.row(first) : nullptr,
           gates.stride, shape.gate_width,
           shape.has_sinks ? sinks.data() : nullptr, scratch.data());
      EXPECT_EQ(scratch.back(), Buffer::guard) << "scratch overrun";
    }
    return out;
  }

  /// The same of values that are the first elements of keys, without gates.
  template <typename Element, typename Body>
  Buffer attend_latent(const std::vector<Element> &memory, int64_t tile,
                       Body body, int64_t extra = 0) const {
    const int64_t width = latent_width(), key_row = shape.head_dim + extra;
    Buffer out(rows, shape.group * width);
    const int64_t floats = baton_attention_scratch_bytes(
                               tile, shape.group, shape.head_dim, width) /
                               4 +
                           64 * width;
    for (int64_t first = 0; first < rows; first += tile) {
      std::vector<float> scratch(floats + 1,
                                 std::numeric_limits<float>::quiet_NaN());
      scratch.back() = Buffer::guard;
      body(out.row(first), out.stride, q.row(first), q.stride,
           memory.data() + 64 * key_row, 3 * 64 * key_row,
           positions.data() + first, sequences.data() + first, pages.data(),
           static_cast<int64_t>(pages.size()), line, rows,
           std::min(tile, rows - first), shape.group, shape.head_dim, width,
           key_row, 0.3f, shape.softcap, shape.window, scratch.data());
      EXPECT_EQ(scratch.back(), Buffer::guard) << "scratch overrun";
    }
    return out;
  }
  int64_t latent_width() const {
    return std::min(shape.head_dim, shape.value_dim);
  }

  Shape shape;
  int64_t rows, line, pool = 0;
  Buffer q, gates;
  std::vector<float> sinks;
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
      // Scales behind the numbers cross a vector's end.
      {{{90, 1}, {30, 20}}, 2, 30, 30},
      {{{0, 9}, {130, 1}, {60, 9}}, 3, 16, 24, 40, 0.0f, 1, false, true},
  };
}

/// Bodies of values that are the first elements of keys.
template <typename Element>
using LatentBody = void (*)(float *, int64_t, const float *, int64_t,
                            const Element *, int64_t, const int32_t *,
                            const int32_t *, const int32_t *, int64_t, int64_t,
                            int64_t, int64_t, int64_t, int64_t, int64_t,
                            int64_t, float, float, int64_t, float *);

/// The bodies of a form in which states are stored, and what they keep of a
/// row.
template <typename Element> struct StoredForm {
  void (*append_keys)(Element *, int64_t, const float *, int64_t,
                      const int32_t *, int64_t, int64_t, int64_t);
  void (*append_values)(Element *, int64_t, const float *, int64_t,
                        const int32_t *, int64_t, int64_t, int64_t);
  decltype(&baton_task_paged_attention_int8) attend_bytes;
  decltype(&baton_task_paged_attention_bf16) attend_halves;
  int64_t extra;
  /// A row's numbers as they are stored, in plain code.
  void (*store)(float *row, int64_t width);
  /// Of the largest magnitude of a row: how far a number may be off.
  double error;

  Buffer attend(const PagedProblem &problem, int64_t tile) const {
    const auto keys =
        problem.append<Element>(problem.keys, problem.shape.head_dim,
                                problem.shape.head_dim + extra, append_keys);
    const auto values =
        problem.append<Element>(problem.values, problem.shape.value_dim,
                                problem.shape.value_dim + extra, append_values);
    if constexpr (sizeof(Element) == 1)
      return problem.attend(keys, values, tile, attend_bytes, extra);
    else
      return problem.attend(keys, values, tile, attend_halves, extra);
  }
};

inline void store_bfloat(float *row, int64_t width) {
  for (int64_t i = 0; i < width; ++i) {
    // Neighbours are 2^16 apart as integers.
    const auto bits = std::bit_cast<uint32_t>(row[i]);
    const float below = std::bit_cast<float>(bits & 0xffff0000),
                above = std::bit_cast<float>((bits & 0xffff0000) + 0x10000);
    const float to_below = std::fabs(row[i] - below),
                to_above = std::fabs(above - row[i]);
    row[i] = to_below < to_above || (to_below == to_above && !(bits & 0x10000))
                 ? below
                 : above;
  }
}
inline float scale_of_row(const float *row, int64_t width, float largest) {
  float magnitude = 0;
  for (int64_t i = 0; i < width; ++i)
    magnitude = std::max(magnitude, std::fabs(row[i]));
  return magnitude / largest;
}
inline void store_int8(float *row, int64_t width) {
  const float scale = scale_of_row(row, width, 127);
  for (int64_t i = 0; i < width; ++i)
    row[i] = scale == 0 ? 0 : std::nearbyint(row[i] / scale) * scale;
}
inline void store_float8(float *row, int64_t width) {
  const float scale = scale_of_row(row, width, 448);
  for (int64_t i = 0; i < width; ++i) {
    const float number = scale == 0 ? 0 : row[i] / scale;
    float best = 0, distance = std::numeric_limits<float>::infinity();
    for (int code = 0; code < 0x7f; ++code) {
      const int exponent = code >> 3, mantissa = code & 7;
      const float magnitude =
          exponent ? std::ldexp(float(8 + mantissa), exponent - 10)
                   : std::ldexp(float(mantissa), -9);
      const float off = std::fabs(std::fabs(number) - magnitude);
      if (off < distance || (off == distance && code % 2 == 0)) {
        best = magnitude;
        distance = off;
      }
    }
    row[i] = std::copysign(best, number) * scale;
  }
}

inline StoredForm<uint16_t> bfloat_form() {
  return {baton_task_append_key_pages_bf16,
          baton_task_append_value_pages_bf16,
          nullptr,
          baton_task_paged_attention_bf16,
          0,
          store_bfloat,
          0x1p-8};
}
inline StoredForm<int8_t> int8_form() {
  return {baton_task_append_key_pages_int8,
          baton_task_append_value_pages_int8,
          baton_task_paged_attention_int8,
          nullptr,
          4,
          store_int8,
          0.51 / 127};
}
inline StoredForm<int8_t> float8_form() {
  return {baton_task_append_key_pages_fp8,
          baton_task_append_value_pages_fp8,
          baton_task_paged_attention_fp8,
          nullptr,
          4,
          store_float8,
          0x1.01p-4};
}

} // namespace baton::test

#endif // BATON_TEST_CODEGEN_CPU_LIBRARY_PAGEDPROBLEM_H

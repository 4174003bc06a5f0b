//===- ExpertsProblem.h - rows that go to experts, and what tests ask -----===//

#ifndef BATON_TEST_CODEGEN_CPU_LIBRARY_EXPERTSPROBLEM_H
#define BATON_TEST_CODEGEN_CPU_LIBRARY_EXPERTSPROBLEM_H

#include "test/codegen/cpu/library/Support.h"

#include <limits>

namespace baton::test {

/// A router's logits, some of which are equal, and where they lead.
struct ExpertsProblem {
  ExpertsProblem(Random &random, int64_t rows, int64_t k, int64_t count)
      : rows(rows), k(k), count(count), logits(random.buffer(rows, count, 4)),
        bias(random.vector(count)) {
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t i = 0; i < count; ++i)
        if (row % 3 == 1)
          logits.row(row)[i] = std::round(logits.row(row)[i]);
  }

  struct Routed {
    std::vector<int32_t> experts;
    Buffer weights;
  };
  template <typename Body>
  Routed route(Body body, bool biased, int32_t scoring, bool normalize,
               float factor, int64_t groups = 1, int64_t groups_of_row = 1,
               bool best_two = false) const {
    Routed result{std::vector<int32_t>(rows * (k + 3), -7), Buffer(rows, k)};
    body(result.experts.data(), k + 3, result.weights.data(),
         result.weights.stride, logits.data(), logits.stride,
         biased ? bias.data() : nullptr, rows, k, count, scoring, normalize,
         factor, groups, groups_of_row, best_two);
    return result;
  }

  struct Dispatched {
    std::vector<int32_t> bounds, choices, places;
  };
  template <typename Body>
  Dispatched dispatch(Body body, const std::vector<int32_t> &experts) const {
    Dispatched result{std::vector<int32_t>(count + 2, -7),
                      std::vector<int32_t>(rows * k + 1, -7),
                      std::vector<int32_t>(rows * k + 1, -7)};
    body(result.bounds.data(), result.choices.data(), result.places.data(),
         experts.data(), k + 3, rows, k, count);
    return result;
  }

  /// The same of a rank that has `own` experts from `first` on.
  template <typename Body>
  Dispatched dispatch_part(Body body, const std::vector<int32_t> &experts,
                           int32_t first, int64_t own) const {
    const int32_t place[] = {first, static_cast<int32_t>(own)};
    Dispatched result{std::vector<int32_t>(own + 3, -7),
                      std::vector<int32_t>(rows * k + 1, -7),
                      std::vector<int32_t>(rows * k + 1, -7)};
    body(result.bounds.data(), result.choices.data(), result.places.data(),
         experts.data(), k + 3, rows, k, own, place);
    return result;
  }

  /// What `ranks` ranks with so many experts each are told of a step that
  /// `bounds` are of: of each a row, two words longer than they are.
  template <typename Body>
  std::vector<int32_t> count_places(Body body,
                                    const std::vector<int32_t> &bounds,
                                    int64_t ranks, int64_t experts) const {
    std::vector<int32_t> counts(ranks * (experts + 3), -7);
    body(counts.data(), experts + 3, bounds.data(), ranks, experts,
         experts + 2);
    return counts;
  }

  int64_t rows, k, count;
  Buffer logits;
  std::vector<float> bias;
};

} // namespace baton::test

#endif // BATON_TEST_CODEGEN_CPU_LIBRARY_EXPERTSPROBLEM_H

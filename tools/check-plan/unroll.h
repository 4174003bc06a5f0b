//===- unroll.h - the tasks of one program in one step --------------------===//

#ifndef BATON_TOOLS_CHECK_PLAN_UNROLL_H
#define BATON_TOOLS_CHECK_PLAN_UNROLL_H

#include "tools/check-plan/findings.h"
#include "tools/check-plan/regions.h"

namespace baton::check {

struct Task {
  uint32_t phase, iteration, tile;
};

/// What a task touches.
struct Touch {
  uint32_t box;
  uint32_t buffer;
  /// Which of the layers whose values take turns in a ring, or the copy.
  int64_t layer;
  bool write, may, conditional = false;
};

/// What an exchange sends or leaves in the memory of the rank at a place of
/// its group, a message in the one that it has, or what a step hands over.
struct Moved {
  uint32_t task;
  int64_t place;
  Touch touch;
};

/// An event's counters in a step.
struct Counters {
  std::vector<int64_t> shape;
  int64_t count = 0, repeat = 1, words = 0;
  uint32_t segment = 0;
  /// Number of the first word, and of its first iteration.
  size_t first = 0, first_iteration = 0;
  /// Whether somebody waits for less than all of a step.
  bool partial = false;
};

/// The tasks of a program in order of rank, and what they touch and count up.
struct Unrolled {
  static constexpr uint32_t no_word = ~0u;

  const Program *program;
  Call call;
  Symbols symbols;
  std::vector<std::vector<int64_t>> grids;
  std::vector<Task> tasks;
  /// Of each phase, the first task of iteration 0.
  std::vector<size_t> first_tasks;
  std::vector<size_t> first_touches;
  std::vector<Touch> touches;
  std::vector<Moved> moved;
  std::vector<Counters> counters;
  size_t words = 0, iterations = 0;
  /// The word that a task counts up.
  std::vector<uint32_t> notified;
  /// Of all persistent buffers whose values live from step to step; those that
  /// no task writes, and those that tasks of the program write again.
  std::vector<Touch> carried, kept, renewed;
  /// Rows of states: of earlier steps, and what this step adds.
  std::vector<Touch> past, gained;
  /// What the runtime writes behind it.
  std::vector<Touch> advance;

  std::span<const Touch> touched(size_t task) const {
    return {touches.data() + first_touches[task],
            first_touches[task + 1] - first_touches[task]};
  }
  const Phase &phase(size_t task) const {
    return program->phases[tasks[task].phase];
  }
  void coordinates(size_t task, int64_t *result) const;
  /// Whether it is of the iteration that has none ahead of it.
  bool is_idle(size_t task) const {
    const Phase &of = phase(task);
    return of.ahead &&
           tasks[task].iteration + 1 == program->segments[of.segment].repeat;
  }
  /// "phase 'x' [1, 0] in iteration 2"
  std::string name(size_t task) const;
  std::string word_name(size_t word) const;
  /// Calls with the number of each word of a wait's box, from one on; stops
  /// where that returns false.
  template <typename Visitor>
  bool visit_words(const Wait &wait, const int64_t *at, size_t from,
                   Visitor &&visit) const;
};

/// A box cut to a shape.
struct Bounds {
  int64_t low[max_dimensions], high[max_dimensions];
  size_t count = 1;

  Bounds(const Expressions &from, const Expressions &to,
         const std::vector<int64_t> &shape, const int64_t *at,
         const Symbols &symbols) {
    for (size_t d = 0; d < shape.size(); ++d) {
      low[d] = std::max<int64_t>(0, from[d].evaluate(at, symbols));
      high[d] = std::min(shape[d], to[d].evaluate(at, symbols));
      count *= std::max<int64_t>(0, high[d] - low[d]);
    }
  }
};

template <typename Visitor>
bool Unrolled::visit_words(const Wait &wait, const int64_t *at, size_t from,
                           Visitor &&visit) const {
  const Counters &of = counters[wait.event];
  const Bounds box(wait.low, wait.high, of.shape, at, symbols);
  for (size_t ordinal = from; ordinal < box.count; ++ordinal) {
    size_t rest = ordinal, word = 0, scale = 1;
    for (size_t d = of.shape.size(); d-- > 0;) {
      const size_t extent = box.high[d] - box.low[d];
      word += (box.low[d] + rest % extent) * scale;
      rest /= extent;
      scale *= of.shape[d];
    }
    if (!visit(word, ordinal))
      return false;
  }
  return true;
}

/// Unrolls one program; reports what of it lies outside of what it names, and
/// words that get another number of notifications than their event says.
Unrolled unroll(const Program &program, const Call &call,
                const Symbols &symbols, Regions &regions, Findings &findings);

/// Which worker runs which tasks.
struct Deal {
  /// 0 workers: each task has one of its own, but for those that meet other
  /// ranks.
  Deal(const Unrolled &unrolled, uint32_t workers, Findings &findings);

  std::vector<std::vector<uint32_t>> lists;
  /// Of each task, and which of its tasks it is.
  std::vector<uint32_t> worker, position;

private:
  void deal(const Unrolled &unrolled, uint32_t workers, Findings &findings);
  void take(const Unrolled &unrolled, const Schedule &schedule,
            Findings &findings);
  void give(uint32_t task, uint32_t worker);
};

} // namespace baton::check

#endif // BATON_TOOLS_CHECK_PLAN_UNROLL_H

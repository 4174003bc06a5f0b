//===- unroll.h - the tasks of one program in one step --------------------===//

#ifndef BATON_TOOLS_CHECK_PLAN_UNROLL_H
#define BATON_TOOLS_CHECK_PLAN_UNROLL_H

#include "tools/check-plan/judge.h"
#include "tools/check-plan/regions.h"

#include <span>

namespace baton::check {

struct Task {
  uint32_t phase, iteration, tile;
  /// The word that it counts up, and where its touches begin.
  uint32_t word;
  size_t touches;
};

/// What a task touches.
struct Touch {
  uint32_t box, buffer;
  /// Which of the layers whose values take turns in a ring, or the copy.
  int64_t layer;
  bool write = false, may = false, conditional = false;
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
  /// Number of the first word, and of its first iteration; behind a word's
  /// iterations stands all of the step.
  size_t first = 0, first_iteration = 0;
  /// Whether somebody waits for less than all of a step.
  bool partial = false;

  size_t iteration(size_t word, int64_t number) const {
    return first_iteration + (word - first) * (repeat + 1) + number;
  }
};

/// The tasks of a program in order of rank, and what they touch and count up.
struct Unrolled {
  static constexpr uint32_t no_word = ~0u;

  const Program *program;
  Call call;
  Symbols symbols;
  std::vector<Index> grids, extents;
  std::vector<Task> tasks;
  /// Of each phase, the first task of iteration 0.
  std::vector<size_t> first_tasks;
  std::vector<Touch> touches;
  std::vector<Moved> moved;
  std::vector<Counters> counters;
  size_t words = 0, iterations = 0;
  /// Of all persistent buffers whose values live from step to step; those that
  /// no task writes, and those that tasks of the program write again.
  std::vector<Touch> carried, kept, renewed;
  /// Rows of states: of earlier steps, and what this step adds.
  std::vector<Touch> past, gained;
  /// What the runtime writes behind it.
  std::vector<Touch> advance;

  std::span<const Touch> touched(size_t task) const {
    const size_t end =
        task + 1 < tasks.size() ? tasks[task + 1].touches : touches.size();
    return {touches.data() + tasks[task].touches, touches.data() + end};
  }
  const Phase &phase(size_t task) const {
    return program->phases[tasks[task].phase];
  }
  const Buffer &buffer(const Touch &touch) const {
    return program->buffers[touch.buffer];
  }
  const Storage &storage(const Touch &touch) const {
    return program->storages[buffer(touch).storage];
  }
  /// How many tiles a phase has.
  int64_t tiles(uint32_t phase) const;
  Index coordinates(size_t task) const;
  /// Whether it is of the iteration that has none ahead of it.
  bool is_idle(size_t task) const {
    return phase(task).ahead &&
           tasks[task].iteration + 1 ==
               program->segments[phase(task).segment].repeat;
  }
  /// "phase 'x' [1, 0] in iteration 2"
  std::string name(size_t task) const;
  std::string word_name(size_t word) const;
};

/// Product of extents; nothing is less than none.
int64_t volume(const int64_t *extents, size_t count);
/// Index of a number in their order.
Index unflatten(int64_t number, const int64_t *extents, size_t count);

/// A box cut to a shape.
struct Bounds {
  Index low, high;
  int64_t count = 1;

  Bounds(const Expressions &from, const Expressions &to, const int64_t *shape,
         const Index &at, const Symbols &symbols);

  /// Number in the shape of one of its elements.
  int64_t flatten(int64_t element, const std::vector<int64_t> &shape) const;
};

/// Unrolls one program; reports what of it lies outside of what it names, and
/// words that get another number of notifications than their event says.
Unrolled unroll(const Program &program, const Call &call,
                const Symbols &symbols, Regions &regions, Findings &findings);

/// Which worker runs which tasks.
class Deal {
public:
  static constexpr uint32_t nobody = ~0u;

  /// 0 workers: each task has one of its own, but for those that meet other
  /// ranks.
  Deal(const Unrolled &unrolled, uint32_t workers, Findings &findings);

  std::vector<std::vector<uint32_t>> lists;
  /// Of each task, and which of its tasks it is.
  std::vector<uint32_t> worker, position;

private:
  void give_each();
  void deal(size_t first, int64_t tiles);
  void take(const Schedule &schedule);
  bool give(size_t task, uint32_t worker);
  void give_rest(size_t begin, size_t end, const std::string &workers);

  const Unrolled &unrolled;
  Findings &findings;
};

} // namespace baton::check

#endif // BATON_TOOLS_CHECK_PLAN_UNROLL_H

//===- unroll.h - the tasks of one program in one step --------------------===//
//
// All boxes that tasks of an instance touch are known before it is judged. They
// cut a storage into pieces, and pieces that lie in the same boxes are one
// region. A box is then a list of regions, and two boxes have bytes in common
// exactly if they have a region in common.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_TOOLS_CHECK_PLAN_UNROLL_H
#define BATON_TOOLS_CHECK_PLAN_UNROLL_H

#include "tools/check-plan/findings.h"

#include <span>
#include <unordered_map>

namespace baton::check {

/// Of a copy of a buffer, as a call uses it: so many bytes further on.
struct Box {
  int64_t program, buffer, copy, shift;
  Index low, high;

  bool operator==(const Box &) const = default;
};

class Regions {
public:
  static constexpr uint32_t none = ~0u;

  explicit Regions(const Plan &plan);

  /// The number of a box, whose bounds lie within the capacity. None when it is
  /// empty.
  uint32_t add(const Call &call, uint32_t buffer, int64_t copy,
               const Index &low, const Index &high);
  size_t count_boxes() const { return boxes.size(); }
  /// Behind the last byte of a box, in its buffer's storage.
  int64_t end(uint32_t box) const;
  /// Whether two elements of the boxes, which are of one buffer, have a byte in
  /// common.
  bool overlap(const std::vector<uint32_t> &boxes) const;
  /// Behind all boxes: finds the regions.
  void finish();

  /// Storages of one number are cut alike; their memory need not be the same.
  uint32_t storage(uint32_t program, uint32_t buffer) const {
    return numbers[program][plan.programs[program].buffers[buffer].storage];
  }
  size_t count_regions(uint32_t storage) const {
    return storages[storage].bytes.size();
  }
  /// Of a box, in a storage.
  const std::vector<uint32_t> &of(uint32_t box) const { return regions[box]; }
  bool has(uint32_t box, uint32_t region) const;
  /// "@x[3, 5]": an element of the box in the region.
  std::string element(uint32_t box, uint32_t region) const;

private:
  struct Storage {
    std::vector<uint32_t> boxes;
    /// Of each region, the first byte.
    std::vector<int64_t> bytes;
  };
  struct Hash {
    size_t operator()(const Box &box) const;
  };

  const Buffer &buffer(const Box &box) const {
    return plan.programs[box.program].buffers[box.buffer];
  }
  template <typename Visitor>
  void visit_runs(const Box &box, Visitor &&visit) const;
  void cut(Storage &storage);

  const Plan &plan;
  /// Of each program's storages.
  std::vector<std::vector<uint32_t>> numbers;
  std::vector<Storage> storages;
  std::unordered_map<Box, uint32_t, Hash> known;
  std::vector<const Box *> boxes;
  std::vector<std::vector<uint32_t>> regions;
  /// While a storage is cut, of each box: how often it has the piece, and
  /// whether it is among those that may.
  std::vector<uint32_t> depths;
  std::vector<bool> is_open;
};

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
  Index shape;
  int64_t count = 0, repeat = 1, words = 0;
  uint32_t segment = 0;
  size_t first = 0;
  /// Whether somebody waits for less than all of a step.
  bool partial = false;

  /// A word is known by the number of its first iteration, behind all of which
  /// stands the step.
  size_t word(int64_t number) const { return first + number * (repeat + 1); }
};

/// The tasks of a program in order of rank, and what they touch and count up.
struct Unrolled {
  static constexpr uint32_t no_word = ~0u;

  const Program *program;
  Call call;
  Symbols symbols;
  std::vector<Index> grids, extents;
  std::vector<Task> tasks;
  std::vector<Touch> touches;
  std::vector<Moved> moved;
  std::vector<Counters> counters;
  /// Of all words.
  size_t iterations = 0;
  /// All of each copy of a buffer. Rows of states: of earlier steps, and what
  /// this step adds.
  std::vector<Touch> whole, past, gained;
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
  Index coordinates(size_t task) const {
    return unflatten(tasks[task].tile, grids[tasks[task].phase]);
  }
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

/// A box cut to a shape.
struct Bounds {
  Index low, high;
  int64_t count = 1;

  Bounds(const Expressions &from, const Expressions &to, const Index &shape,
         const Index &at, const Symbols &symbols);

  /// Number in the shape of one of its elements.
  int64_t flatten(int64_t element, const Index &shape) const;
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
  void take_tickets(size_t first, int64_t tiles);
  void take(const Schedule &schedule);
  bool give(size_t task, uint32_t worker);
  void give_rest(size_t begin, size_t end, const std::string &workers);

  const Unrolled &unrolled;
  Findings &findings;
};

} // namespace baton::check

#endif // BATON_TOOLS_CHECK_PLAN_UNROLL_H

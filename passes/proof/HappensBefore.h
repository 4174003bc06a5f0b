//===- HappensBefore.h - which tasks events put in order -----------------===//
//
// Two tasks are ordered when a chain of waits leads from the earlier to the
// later, whatever worker runs them. A direct edge joins a task to every task
// that waits for the word it notifies; longer chains are compositions of the
// edges' relations, over the coordinates of both ends and the step's symbols.
// A task in the middle of a chain has to exist: where a grid is empty, it
// orders nothing.
//
// All iterations of a segment look alike, so that three relations say it all:
//
// - sameIteration: from iteration l to l;
// - nextIteration: from l to l + 1, for segments that repeat. It holds at every
//   greater distance, too: a chain starts with a notification, words are
//   counted up by one iteration after the other, and so every task that starts
//   a chain comes after the task of the same coordinates one iteration before;
// - laterSegment: from every iteration of a phase to every iteration of one of
//   a later segment. Waits across segments are for all iterations, and the last
//   iteration has no next one, so that the chain takes sameIteration steps on
//   both sides; what holds for it holds for all.
//
// An edge means what it says only if its counts are right and no word is
// counted up by one iteration before the one before has finished with it.
// event-verify checks both; HappensBefore takes them for granted. That is no
// circle: look at the first wait, in time, that goes on too early. Some later
// iteration notified its word ahead of an earlier one, against a chain whose
// waits all went on before, and rightly.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_PASSES_PROOF_HAPPENSBEFORE_H
#define BATON_PASSES_PROOF_HAPPENSBEFORE_H

#include "dialects/Event/Event.h"
#include "passes/proof/RelationMemo.h"
#include "passes/proof/Tables.h"

#include "llvm/ADT/DenseMap.h"

#include <array>
#include <compare>
#include <map>
#include <tuple>

namespace baton::tasks {

/// Which elements of two buffers share bytes.
struct Overlap {
  enum Kind {
    /// No element with any other.
    none,
    /// Those of equal index: the buffers are the same.
    elements,
    /// At most those of rows whose numbers are so far apart.
    rows,
    /// Possibly any two.
    everything,
  };

  Overlap(Kind kind, int64_t least = 0, int64_t most = 0)
      : kind(kind), least(least), most(most) {}

  Kind kind;
  /// Of rows: how much greater the first buffer's first index is, from and to.
  int64_t least, most;

  auto operator<=>(const Overlap &) const = default;
};

/// How closely to look at which elements of two buffers in one storage share
/// bytes, and at which tasks chains of waits order. What the first look shows
/// holds, and the second shows more; it is for what the first leaves open.
///
/// Of rows, those whose numbers are as far apart as Overlap says. That is soon
/// answered, and for most plans enough.
///
/// Of bytes, those whose intervals of bytes meet. That is all there is to a
/// conflict: a task touches the elements that its phase states, of an element
/// the bytes that its index says, and no others (PlanCalls.cpp). Which copy of
/// a buffer with layers is meant is left open, and so are the addresses of one
/// that is interleaved: any of them may be the one. Chains are followed case by
/// case, as far as there are few.
enum class Detail { rows, bytes };

/// What two buffers share. Buffers without storage share nothing with others.
Overlap overlapOf(event::BufferOp first, event::BufferOp second);

/// True when the iterations of a segment have copies of the buffer each; of a
/// ring, several share one.
bool isLayered(event::BufferOp buffer);

/// Whether what two phases of one segment access of these buffers, which
/// overlap, may lie in copies that they share: in one iteration.
bool meetWithin(event::PhaseOp one, event::BufferOp first, event::PhaseOp other,
                event::BufferOp second);
/// The same of an iteration of `earlier` and a later one of `later`.
bool meetAcross(event::PhaseOp earlier, event::BufferOp first,
                event::PhaseOp later, event::BufferOp second);

//===----------------------------------------------------------------------===//
// Constraints from the plan's maps. Each is false for a map that is not
// quasi-affine, which event-verify reports before anything else.
//===----------------------------------------------------------------------===//

/// `count` columns from `first` on.
llvm::SmallVector<unsigned> columnsFrom(unsigned first, unsigned count);
/// New locals.
llvm::SmallVector<unsigned> freshColumns(Conjunction &conjunction,
                                         unsigned count);
/// The ranges of rows, past and outputs.
void requireSymbols(Conjunction &conjunction, event::ProgramOp program);
/// `0 <= column < extent` for each result of a map without dimensions.
[[nodiscard]] bool requireInside(Conjunction &conjunction,
                                 mlir::AffineMap extents,
                                 llvm::ArrayRef<unsigned> columns);
/// `low(coordinates) <= column < high(coordinates)`
[[nodiscard]] bool requireBox(Conjunction &conjunction, mlir::AffineMap low,
                              mlir::AffineMap high,
                              llvm::ArrayRef<unsigned> coordinates,
                              llvm::ArrayRef<unsigned> columns);

/// Elements in these columns, of the buffers that overlap so, have bytes in
/// common, as far as one looks.
void requireSameBytes(Conjunction &conjunction, const Overlap &overlap,
                      event::BufferOp first, llvm::ArrayRef<unsigned> element,
                      event::BufferOp second,
                      llvm::ArrayRef<unsigned> otherElement, Detail detail);

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

/// Order of tasks under the waits that a program has. It answers lazily and
/// remembers; call `refresh` for a phase whose waits or notification changed.
/// The program outlives this object.
class HappensBefore {
public:
  explicit HappensBefore(event::ProgramOp program);

  llvm::ArrayRef<event::PhaseOp> phases() const { return phaseList; }
  /// Position of a phase in the order of rank.
  unsigned indexOf(event::PhaseOp phase) const;
  static event::SegmentOp segmentOf(event::PhaseOp phase);

  /// Pairs of tasks of the two phases, over the symbols' ranges.
  KnownRelation tasks(event::PhaseOp first, event::PhaseOp second);

  /// Pairs of tasks that touch bytes in common, on the assumption that they
  /// work on the same copies of layered buffers, for any values of tables,
  /// which are the same for both where the distance says so. Pairs of one phase
  /// include each task with itself.
  KnownRelation conflict(event::PhaseOp first, event::AccessAttr firstAccess,
                         event::PhaseOp second, event::AccessAttr secondAccess,
                         Distance distance, Detail detail = Detail::rows);

  /// A task of the phase exists, with entries that tables allow: columns of its
  /// coordinates, then of its entries.
  [[nodiscard]] bool requireTask(Conjunction &conjunction, event::PhaseOp phase,
                                 llvm::ArrayRef<unsigned> columns) const;
  const Tables &tableFacts() const { return tables; }

  /// Pairs (earlier, later) that the waits order; for chains over tiles of
  /// heights that do not divide one another, some of them: those of tiles that
  /// overlap or, of bytes, more. Sound for pairs in `tasks` only: what the
  /// grids and the symbols' ranges imply is left out.
  KnownRelation order(event::PhaseOp earlier, event::PhaseOp later,
                      Distance distance, Detail detail = Detail::rows);

  /// True when the waits order all pairs in `conflict`, at exactly this
  /// distance.
  bool ordered(event::PhaseOp earlier, KnownRelation conflict,
               event::PhaseOp later, Distance distance,
               Detail detail = Detail::rows);

  /// Pairs of tasks of a phase that notify one word.
  KnownRelation sameWord(event::PhaseOp phase);
  /// True when the waits order the tasks that count up a word in an iteration
  /// after those of the iteration before, or nobody tells iterations apart.
  bool hasWordOrder(event::PhaseOp phase);

  /// Forgets what depends on the waits and the notification of a phase.
  void refresh(event::PhaseOp phase);

  /// What was computed of relations; those of `tasks`, `conflict` and `order`
  /// are in it.
  RelationMemo &relations() { return memo; }

  event::BufferOp lookUpBuffer(mlir::FlatSymbolRefAttr name) const;
  /// The phase that notifies an event tensor, or null.
  event::PhaseOp notifierOf(mlir::FlatSymbolRefAttr event) const;

private:
  /// Pairs of a notifying task that exists and one that waits for its word.
  KnownRelation edge(event::PhaseOp notifier, event::PhaseOp waiter,
                     event::WaitAttr wait);
  KnownRelation computeOrder(event::PhaseOp earlier, event::PhaseOp later,
                             Distance distance, Detail detail);

  event::ProgramOp program;
  Tables tables;
  llvm::SmallVector<event::PhaseOp> phaseList;
  llvm::DenseMap<mlir::Operation *, unsigned> indices;
  llvm::DenseMap<mlir::Attribute, event::BufferOp> buffers;
  llvm::DenseMap<mlir::Attribute, event::PhaseOp> notifiers;
  RelationMemo memo;
  /// By their grids.
  llvm::DenseMap<std::pair<mlir::AffineMap, mlir::AffineMap>, KnownRelation>
      taskPairs;
  std::map<std::tuple<unsigned, unsigned, const void *, const void *>,
           KnownRelation>
      edges;
  /// For each later phase, distance and detail, by the earlier phase.
  using Orders = std::array<llvm::DenseMap<unsigned, KnownRelation>, 2>;
  llvm::SmallVector<std::array<Orders, 3>> orders;
  std::map<std::tuple<unsigned, unsigned, const void *, const void *, Overlap,
                      Distance, Detail>,
           KnownRelation>
      conflicts;
};

} // namespace baton::tasks

#endif // BATON_PASSES_PROOF_HAPPENSBEFORE_H

//===- Tables.h - what the proof knows of numbers that tables hold -------===//
//
// A task's entries are numbers that no map gives. Four lemmas say what is known
// of them; docs/dynamic-plans.md has the reasons.
//
// - hull: an entry lies in its table's range.
// - apart: of two tasks that read one instance of a table, entries of equal
//   places are equal; of different places they differ, if the table is
//   distinct, or ascend with the places, if it is a partition.
// - cover: tasks for all places of a partition, or of a distinct table with as
//   many values as its range, have all of the range between them.
// - prefix: tasks for the first n segments of a partition have all below its
//   value n between them, as has one that touches all below value n; and so all
//   that is read below its value b, if b is at most n.
//
// The first two make relations smaller that may be too large: conflicts, and
// what is read. The others make one larger that may be too small: what has been
// written. Order has no entries.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_PASSES_PROOF_TABLES_H
#define BATON_PASSES_PROOF_TABLES_H

#include "dialects/Event/Event.h"
#include "passes/proof/Relations.h"

#include "llvm/ADT/DenseMap.h"

#include <optional>
#include <utility>
#include <vector>

namespace baton::tasks {

/// From the iteration of the earlier task to that of the later.
enum class Distance { sameIteration, nextIteration, laterSegment };

/// The tables of a program, which outlives this object and keeps its phases.
class Tables {
public:
  explicit Tables(event::ProgramOp program);

  event::TableOp lookUp(mlir::FlatSymbolRefAttr buffer) const;
  /// The phase that writes a table, or null where the runtime does.
  event::PhaseOp writerOf(mlir::FlatSymbolRefAttr buffer) const;

  /// What is known of one task's entries, by itself. `columns` are its
  /// coordinates, then its entries. False where a map is not quasi-affine.
  [[nodiscard]] bool requireEntries(Conjunction &conjunction,
                                    event::PhaseOp phase,
                                    llvm::ArrayRef<unsigned> columns) const;

  /// The cases of a conjunction over two tasks that the order of places in
  /// tables makes, with what is known in each.
  [[nodiscard]] std::vector<Conjunction>
  apart(Conjunction pairs, event::PhaseOp first, llvm::ArrayRef<unsigned> left,
        event::PhaseOp second, llvm::ArrayRef<unsigned> right,
        Distance distance) const;
  /// Whether `apart` says anything of two phases.
  bool mayBeApart(event::PhaseOp first, event::PhaseOp second) const;

  /// An access that is held against others.
  struct Reading {
    event::PhaseOp phase;
    event::AccessAttr access;
  };
  /// A box without entries that the tasks of a phase, all together, touch with
  /// this access. Nothing if entries leave that open. With `reading`, of the
  /// same iteration, a box of which they touch what that reads of it.
  std::optional<std::pair<mlir::AffineMap, mlir::AffineMap>>
  cover(event::PhaseOp phase, event::AccessAttr access,
        std::optional<Reading> reading = std::nullopt) const;

  /// An interval of indices.
  struct Interval {
    mlir::AffineExpr low, high;
  };
  /// Intervals of two accesses in a dimension that meet wherever theirs do,
  /// without entries: of places in one table, instead of the numbers there.
  /// Nothing if there are none.
  std::optional<std::pair<Interval, Interval>>
  withoutEntries(event::PhaseOp first, event::AccessAttr firstAccess,
                 event::PhaseOp second, event::AccessAttr secondAccess,
                 unsigned dimension, Distance distance) const;

private:
  /// The segment [v(low), v(high)) that an access has in a dimension, or the
  /// number [v(low), v(low) + 1) of a distinct table.
  struct Segment {
    event::AddressAttr low, high;
    event::TableOp table;
  };
  std::optional<Segment> segmentOf(event::PhaseOp phase,
                                   event::AccessAttr access,
                                   unsigned dimension) const;
  /// All of a dimension of which each task has [low, v(n)) of a partition,
  /// where the reading stays in the first n segments; nothing where it may not.
  std::optional<Interval> prefixOf(event::PhaseOp phase,
                                   event::AccessAttr access, unsigned dimension,
                                   std::optional<Reading> reading) const;
  /// Whether all that a task reads in a dimension lies in segments of the first
  /// `places` places of a partition.
  bool staysBelow(Reading reading, unsigned dimension, event::TableOp table,
                  mlir::AffineExpr places) const;
  /// Whether tasks of both phases read one instance.
  bool shareInstance(event::TableOp table, event::PhaseOp first,
                     event::PhaseOp second, Distance distance) const;

  llvm::DenseMap<mlir::Attribute, event::TableOp> tables;
  llvm::DenseMap<mlir::Attribute, event::PhaseOp> writers;
  llvm::DenseMap<mlir::Attribute, event::BufferOp> buffers;
};

} // namespace baton::tasks

#endif // BATON_PASSES_PROOF_TABLES_H

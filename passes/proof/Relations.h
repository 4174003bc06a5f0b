//===- Relations.h - sets of pairs of integer tuples ---------------------===//
//
// The set algebra behind the proof of a plan: unions of conjunctions of
// quasi-affine inequalities over the coordinates of two tasks and the step's
// symbols. Every operation is exact over the integers.
//
// Emptiness, difference and sampling are MLIR's Presburger library, which is
// used nowhere else: its assertions are off in distributed builds, so that
// misuse would go unnoticed. Projection is our own because the general one
// (symbolic lexicographic minima) is far slower than what the relations of a
// plan need: equalities, Fourier-Motzkin steps with a unit coefficient on one
// side, and bounds that leave room for one value (Pugh, "The Omega test",
// 1991); whatever is left goes to the library. test/passes/proof/RelationsTest
// holds all of it against enumeration.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_PASSES_PROOF_RELATIONS_H
#define BATON_PASSES_PROOF_RELATIONS_H

#include "mlir/IR/AffineExpr.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <optional>

namespace baton::tasks {

/// Symbols of every relation: rows, past, outputs.
constexpr unsigned kRelationSymbols = 3;

/// Coefficients of an affine expression, a column each for the domain, the
/// range, the symbols, the constant and the locals, in this order. Missing
/// columns at the end are zero.
using Row = llvm::SmallVector<int64_t, 16>;

/// Whether a coefficient has outgrown 64 bits in this thread since the last
/// call. What relations answered meanwhile is not to be trusted.
bool takeOverflow();

Row sum(const Row &left, const Row &right);
Row difference(const Row &left, const Row &right);
Row scaled(const Row &row, int64_t factor);

/// Inequalities over a domain tuple, a range tuple, the symbols and locals; it
/// holds for a point when there are locals that satisfy all of them.
class Conjunction {
public:
  Conjunction(unsigned domain, unsigned range) : domain(domain), range(range) {}

  unsigned domainRank() const { return domain; }
  unsigned rangeRank() const { return range; }
  unsigned rangeColumn() const { return domain; }
  unsigned symbolColumn() const { return domain + range; }
  unsigned constantColumn() const { return domain + range + kRelationSymbols; }
  unsigned localColumn() const { return constantColumn() + 1; }

  Row constant(int64_t value) const;
  Row variable(unsigned column) const;
  /// A local of which nothing is known yet; returns its column.
  unsigned addLocal();
  /// The expression with dimension `i` read from column `dimensions[i]`. Adds
  /// locals for its divisions. Nothing when it is not quasi-affine.
  std::optional<Row> flatten(mlir::AffineExpr expression,
                             llvm::ArrayRef<unsigned> dimensions);

  /// `left >= right`
  void atLeast(const Row &left, const Row &right);
  /// `left < right`
  void less(const Row &left, const Row &right);
  void equal(const Row &left, const Row &right);

  /// Whether it holds for values of domain, range and symbols, in this order.
  /// Each local has to be a division.
  bool contains(llvm::ArrayRef<int64_t> point) const;

  /// Whether both state the same, row by row: conjunctions that hold for the
  /// same points may well differ.
  bool operator==(const Conjunction &other) const = default;
  size_t hash() const;

private:
  friend class Relation;
  friend class Projection;

  /// A local that equals `numerator floordiv denominator`, or one that is only
  /// known by the inequalities when the denominator is zero.
  struct Local {
    Row numerator;
    int64_t denominator = 0;
    bool operator==(const Local &other) const;
  };
  Row divide(Row numerator, int64_t denominator);

  unsigned domain, range;
  /// A division uses only locals before it.
  llvm::SmallVector<Local, 4> locals;
  /// Each at least zero.
  llvm::SmallVector<Row, 8> inequalities;
};

/// Values of domain, range and symbols, in this order.
using PointValues = llvm::SmallVector<int64_t, 12>;

/// Values of one point of a relation.
struct RelationPoint {
  llvm::SmallVector<int64_t> domain, range, symbols;
};

/// A union of conjunctions, each of whose locals is a division.
class Relation {
public:
  /// The empty relation.
  Relation(unsigned domain, unsigned range) : domain(domain), range(range) {}
  explicit Relation(const Conjunction &conjunction);

  static Relation universe(unsigned domain, unsigned range);
  static Relation identity(unsigned rank);

  unsigned domainRank() const { return domain; }
  unsigned rangeRank() const { return range; }
  size_t size() const { return disjuncts.size(); }
  /// One conjunction as a relation of its own.
  Relation disjunct(size_t index) const;
  /// The disjuncts of all parts, none of which implies another.
  static Relation ofParts(unsigned domain, unsigned range,
                          llvm::ArrayRef<const Relation *> parts);

  /// Adds the points of `other`.
  void unite(const Relation &other);
  Relation intersect(const Relation &other) const;
  /// The pairs (a, c) for which there is a b with (a, b) here and (b, c) in
  /// `next`.
  Relation compose(const Relation &next) const;
  /// Some of the pairs of `compose`, without case distinctions: where a
  /// coordinate in between cannot be projected away exactly, it takes Pugh's
  /// dark shadow, pairs whose bounds leave room for a value wherever it lies.
  /// Of tiles that overlap in rows, through tiles of any height, that is all
  /// pairs that overlap one another, and the chain does not grow. With `cases`
  /// it makes distinctions as long as there are no more than so many, for each
  /// two disjuncts, and finds the more.
  Relation composeWithin(const Relation &next, unsigned cases = 0) const;
  Relation inverse() const;
  Relation subtract(const Relation &other) const;
  /// The range tuples, as a relation with `newDomain` free domain variables.
  Relation rangeUnder(unsigned newDomain) const;
  /// A relation that agrees with this one on the points of `context`, which
  /// has one conjunction, and says less elsewhere.
  Relation simplifiedIn(const Relation &context) const;

  bool isEmpty() const;
  bool isSubsetOf(const Relation &other) const;
  /// True only if it is a subset, and quick to tell, however many disjuncts
  /// there are.
  bool isWithin(const Relation &other) const;
  /// Whether all rational points are points of `other`, where both have one
  /// disjunct. If not, and one is at hand, `found` becomes an integer point of
  /// this relation.
  bool implies(const Relation &other, std::optional<PointValues> &found) const;
  /// Some point, if there is one. The relation has to be bounded.
  std::optional<RelationPoint> sample() const;
  bool contains(llvm::ArrayRef<int64_t> domainPoint,
                llvm::ArrayRef<int64_t> rangePoint,
                llvm::ArrayRef<int64_t> symbols) const;
  bool contains(const PointValues &point) const;

  /// Whether both have the same disjuncts, row by row: relations that hold for
  /// the same points may well differ.
  bool operator==(const Relation &other) const = default;
  size_t hash() const;

private:
  friend class Projection;
  /// All pairs, or those that so many cases show.
  Relation compose(const Relation &next, std::optional<unsigned> cases) const;
  void add(Conjunction conjunction);

  unsigned domain, range;
  llvm::SmallVector<Conjunction, 1> disjuncts;
};

} // namespace baton::tasks

#endif // BATON_PASSES_PROOF_RELATIONS_H

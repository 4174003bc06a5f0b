//===- RelationMemo.h - relations of which there is one each -------------===//
//
// The phases of a plan look alike: a layer's products, the updates of its
// parameters. Relations know columns and no names, so that most questions about
// two phases have been asked, number by number, about two others before. A memo
// keeps one copy of every relation and what was found out about it.
//
// That is exact: equal operands have equal coefficients in the same order, the
// operations read nothing else, and nothing that a memo holds changes.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_PASSES_TASKS_RELATIONMEMO_H
#define BATON_PASSES_TASKS_RELATIONMEMO_H

#include "passes/tasks/Relations.h"

#include "llvm/ADT/DenseMap.h"

#include <unordered_map>
#include <unordered_set>

namespace baton::tasks {

/// A relation that a memo holds, for as long as the memo lives. Of one memo,
/// the same object and equal to the coefficient are one thing.
class KnownRelation {
public:
  const Relation &operator*() const { return *relation; }
  const Relation *operator->() const { return relation; }
  operator const Relation &() const { return *relation; }

private:
  friend class RelationMemo;
  explicit KnownRelation(const Relation *relation) : relation(relation) {}

  const Relation *relation;
};

/// The operations of Relation, each computed once for equal operands. Operands
/// come from this memo.
class RelationMemo {
public:
  RelationMemo() = default;
  RelationMemo(const RelationMemo &) = delete;
  RelationMemo &operator=(const RelationMemo &) = delete;

  KnownRelation known(const Relation &relation);
  KnownRelation known(const Conjunction &conjunction);

  KnownRelation unite(KnownRelation one, KnownRelation other);
  KnownRelation intersect(KnownRelation one, KnownRelation other);
  KnownRelation subtract(KnownRelation whole, KnownRelation part);
  KnownRelation composeWithin(KnownRelation first, KnownRelation next);
  KnownRelation simplifiedIn(KnownRelation relation, KnownRelation context);
  bool isEmpty(KnownRelation relation);
  bool isSubsetOf(KnownRelation part, KnownRelation whole);

private:
  using Operands = std::pair<const Relation *, const Relation *>;
  using Results = llvm::DenseMap<Operands, const Relation *>;
  template <typename Compute>
  KnownRelation remember(Results &results, KnownRelation one,
                         KnownRelation other, Compute compute);

  template <typename Content> struct Hash {
    size_t operator()(const Content &content) const { return content.hash(); }
  };
  std::unordered_set<Relation, Hash<Relation>> relations;
  std::unordered_map<Conjunction, const Relation *, Hash<Conjunction>>
      projections;
  Results unions, intersections, differences, compositions, simplifications;
  llvm::DenseMap<const Relation *, bool> emptiness;
  llvm::DenseMap<Operands, bool> inclusions;
};

} // namespace baton::tasks

#endif // BATON_PASSES_TASKS_RELATIONMEMO_H

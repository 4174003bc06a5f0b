//===- RelationMemo.h - relations of which there is one each -------------===//
//
// The phases of a plan look alike: a layer's products, the updates of its
// parameters. Relations know columns and no names, so that most questions about
// two phases have been asked, number by number, about two others before. A memo
// keeps one copy of every relation and what was found out about it.
//
// That is exact: equal operands have equal coefficients in the same order, the
// operations read nothing else, and nothing that a memo holds changes. A union
// is worked on disjunct by disjunct, as Relation does it, in the same order.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_PASSES_PROOF_RELATIONMEMO_H
#define BATON_PASSES_PROOF_RELATIONMEMO_H

#include "passes/proof/Relations.h"

#include "llvm/ADT/DenseMap.h"

#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

namespace baton::tasks {

/// A relation that a memo holds, for as long as the memo lives. Of one memo,
/// being the same object and being equal to the coefficient are one thing.
class KnownRelation {
public:
  const Relation &operator*() const;
  const Relation *operator->() const { return &**this; }
  operator const Relation &() const { return **this; }

private:
  friend class RelationMemo;
  struct Entry;
  KnownRelation(Entry *entry) : entry(entry) {}

  Entry *entry;
};

/// The operations of Relation, each computed once for equal operands. Operands
/// come from this memo.
class RelationMemo {
public:
  RelationMemo();
  ~RelationMemo();
  RelationMemo(const RelationMemo &) = delete;
  RelationMemo &operator=(const RelationMemo &) = delete;

  KnownRelation known(const Relation &relation);
  KnownRelation known(const Conjunction &conjunction);
  KnownRelation empty(unsigned domain, unsigned range);

  KnownRelation unite(KnownRelation one, KnownRelation other);
  KnownRelation intersect(KnownRelation one, KnownRelation other);
  KnownRelation subtract(KnownRelation whole, KnownRelation part);
  KnownRelation composeWithin(KnownRelation first, KnownRelation next,
                              unsigned cases = 0);
  KnownRelation simplifiedIn(KnownRelation relation, KnownRelation context);
  bool isEmpty(KnownRelation relation);
  /// Some point, if there is one. The relation has to be bounded.
  std::optional<RelationPoint> sample(KnownRelation relation);
  bool isSubsetOf(KnownRelation part, KnownRelation whole);

private:
  using Entry = KnownRelation::Entry;
  using Operands = std::pair<Entry *, Entry *>;
  using Results = llvm::DenseMap<Operands, Entry *>;
  using Parts = llvm::SmallVector<Entry *, 1>;
  template <typename Compute>
  KnownRelation remember(Results &results, KnownRelation one,
                         KnownRelation other, Compute compute);
  void add(Parts &parts, Entry *part);
  KnownRelation join(unsigned domain, unsigned range, const Parts &parts);
  bool implies(Entry *part, Entry *other);
  bool isCovered(Entry *part, Entry *whole);

  struct ConjunctionHash {
    size_t operator()(const Conjunction &content) const {
      return content.hash();
    }
  };
  /// By their hash.
  std::unordered_map<size_t, std::vector<std::unique_ptr<Entry>>> entries;
  std::unordered_map<Conjunction, Entry *, ConjunctionHash> projections;
  Results unions, intersections, differences, simplifications;
  /// By the number of cases.
  std::map<unsigned, Results> compositions;
  llvm::DenseMap<Operands, bool> inclusions, implications;
};

} // namespace baton::tasks

#endif // BATON_PASSES_PROOF_RELATIONMEMO_H

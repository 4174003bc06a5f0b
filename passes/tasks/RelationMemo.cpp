//===- RelationMemo.cpp - relations of which there is one each -----------===//

#include "passes/tasks/RelationMemo.h"

using namespace baton::tasks;

KnownRelation RelationMemo::known(const Relation &relation) {
  return KnownRelation(&*relations.insert(relation).first);
}

KnownRelation RelationMemo::known(const Conjunction &conjunction) {
  auto found = projections.find(conjunction);
  if (found == projections.end()) {
    KnownRelation projected = known(Relation(conjunction));
    found = projections.emplace(conjunction, projected.relation).first;
  }
  return KnownRelation(found->second);
}

/// Looks a result up, or computes and keeps it.
template <typename Compute>
KnownRelation RelationMemo::remember(Results &results, KnownRelation one,
                                     KnownRelation other, Compute compute) {
  auto [entry, isNew] =
      results.try_emplace({one.relation, other.relation}, nullptr);
  if (isNew)
    entry->second = known(compute(*one, *other)).relation;
  return KnownRelation(entry->second);
}

KnownRelation RelationMemo::unite(KnownRelation one, KnownRelation other) {
  return remember(unions, one, other,
                  [](const Relation &left, const Relation &right) {
                    Relation both = left;
                    both.unite(right);
                    return both;
                  });
}

KnownRelation RelationMemo::intersect(KnownRelation one, KnownRelation other) {
  return remember(intersections, one, other,
                  [](const Relation &left, const Relation &right) {
                    return left.intersect(right);
                  });
}

KnownRelation RelationMemo::subtract(KnownRelation whole, KnownRelation part) {
  return remember(differences, whole, part,
                  [](const Relation &left, const Relation &right) {
                    return left.subtract(right);
                  });
}

KnownRelation RelationMemo::composeWithin(KnownRelation first,
                                          KnownRelation next) {
  return remember(compositions, first, next,
                  [](const Relation &left, const Relation &right) {
                    return left.composeWithin(right);
                  });
}

KnownRelation RelationMemo::simplifiedIn(KnownRelation relation,
                                         KnownRelation context) {
  return remember(simplifications, relation, context,
                  [](const Relation &left, const Relation &right) {
                    return left.simplifiedIn(right);
                  });
}

bool RelationMemo::isEmpty(KnownRelation relation) {
  auto [entry, isNew] = emptiness.try_emplace(relation.relation, false);
  if (isNew)
    entry->second = relation->isEmpty();
  return entry->second;
}

bool RelationMemo::isSubsetOf(KnownRelation part, KnownRelation whole) {
  auto [entry, isNew] =
      inclusions.try_emplace({part.relation, whole.relation}, false);
  if (isNew)
    entry->second = part->isSubsetOf(*whole);
  return entry->second;
}

//===- RelationMemo.cpp - relations of which there is one each -----------===//

#include "passes/proof/RelationMemo.h"

#include "llvm/ADT/STLExtras.h"

using namespace baton::tasks;

struct KnownRelation::Entry {
  const Relation relation;
  /// A relation for each disjunct; of one disjunct, itself.
  llvm::SmallVector<Entry *, 1> parts;
  /// Some of its points, for relations of one disjunct.
  llvm::SmallVector<PointValues, 2> points;
  std::optional<bool> isEmpty;
};

const Relation &KnownRelation::operator*() const { return entry->relation; }

RelationMemo::RelationMemo() = default;
RelationMemo::~RelationMemo() = default;

//===----------------------------------------------------------------------===//
// One copy each
//===----------------------------------------------------------------------===//

KnownRelation RelationMemo::known(const Relation &relation) {
  std::vector<std::unique_ptr<Entry>> &alike = entries[relation.hash()];
  for (const std::unique_ptr<Entry> &entry : alike)
    if (entry->relation == relation)
      return entry.get();
  alike.push_back(std::make_unique<Entry>(Entry{relation, {}, {}, {}}));
  Entry *entry = alike.back().get();
  if (relation.size() == 1)
    entry->parts.push_back(entry);
  else
    for (size_t i = 0; i < relation.size(); ++i)
      entry->parts.push_back(known(relation.disjunct(i)).entry);
  return entry;
}

KnownRelation RelationMemo::known(const Conjunction &conjunction) {
  auto found = projections.find(conjunction);
  if (found == projections.end())
    found = projections.emplace(conjunction, known(Relation(conjunction)).entry)
                .first;
  return found->second;
}

KnownRelation RelationMemo::empty(unsigned domain, unsigned range) {
  return known(Relation(domain, range));
}

/// Looks a result up, or computes and keeps it.
template <typename Compute>
KnownRelation RelationMemo::remember(Results &results, KnownRelation one,
                                     KnownRelation other, Compute compute) {
  Operands operands{one.entry, other.entry};
  if (auto found = results.find(operands); found != results.end())
    return found->second;
  KnownRelation result = compute();
  results.try_emplace(operands, result.entry);
  return result;
}

//===----------------------------------------------------------------------===//
// Unions
//===----------------------------------------------------------------------===//

/// As Relation adds a disjunct to others.
void RelationMemo::add(Parts &parts, Entry *part) {
  if (llvm::any_of(parts, [&](Entry *other) { return implies(part, other); }))
    return;
  llvm::erase_if(parts, [&](Entry *other) { return implies(other, part); });
  parts.push_back(part);
}

KnownRelation RelationMemo::join(unsigned domain, unsigned range,
                                 const Parts &parts) {
  if (parts.size() == 1)
    return parts.front();
  llvm::SmallVector<const Relation *> relations;
  for (Entry *part : parts)
    relations.push_back(&part->relation);
  return known(Relation::ofParts(domain, range, relations));
}

KnownRelation RelationMemo::unite(KnownRelation one, KnownRelation other) {
  if (other->size() == 0)
    return one;
  if (one->size() == 0)
    return other;
  return remember(unions, one, other, [&] {
    Parts parts = one.entry->parts;
    for (Entry *part : other.entry->parts)
      add(parts, part);
    return join(one->domainRank(), one->rangeRank(), parts);
  });
}

KnownRelation RelationMemo::composeWithin(KnownRelation first,
                                          KnownRelation next, unsigned cases) {
  return remember(compositions[cases], first, next, [&] {
    if (first->size() == 1 && next->size() == 1)
      return known(first->composeWithin(*next, cases));
    Parts parts;
    for (Entry *left : first.entry->parts)
      for (Entry *right : next.entry->parts)
        for (Entry *part : composeWithin(left, right, cases).entry->parts)
          add(parts, part);
    return join(first->domainRank(), next->rangeRank(), parts);
  });
}

KnownRelation RelationMemo::simplifiedIn(KnownRelation relation,
                                         KnownRelation context) {
  return remember(simplifications, relation, context, [&] {
    if (relation->size() <= 1 || context->size() != 1)
      return known(relation->simplifiedIn(*context));
    Parts parts;
    for (Entry *part : relation.entry->parts)
      for (Entry *simplified : simplifiedIn(part, context).entry->parts)
        add(parts, simplified);
    return join(relation->domainRank(), relation->rangeRank(), parts);
  });
}

KnownRelation RelationMemo::intersect(KnownRelation one, KnownRelation other) {
  return remember(intersections, one, other,
                  [&] { return known(one->intersect(*other)); });
}

KnownRelation RelationMemo::subtract(KnownRelation whole, KnownRelation part) {
  return remember(differences, whole, part,
                  [&] { return known(whole->subtract(*part)); });
}

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

/// A point that lies in one and not in the other answers without a simplex: the
/// other does not hold for all rational points if it does not for that one.
bool RelationMemo::implies(Entry *part, Entry *other) {
  if (part == other)
    return true;
  Operands operands{part, other};
  if (auto found = implications.find(operands); found != implications.end())
    return found->second;
  bool result = llvm::all_of(part->points, [&](const PointValues &point) {
    return other->relation.contains(point);
  });
  if (result) {
    std::optional<PointValues> point;
    result = part->relation.implies(other->relation, point);
    if (point)
      part->points.push_back(std::move(*point));
  }
  implications.try_emplace(operands, result);
  return result;
}

bool RelationMemo::isEmpty(KnownRelation relation) {
  if (!relation.entry->isEmpty)
    relation.entry->isEmpty = relation->isEmpty();
  return *relation.entry->isEmpty;
}

/// Most are sampled in the hope that they are empty.
std::optional<RelationPoint> RelationMemo::sample(KnownRelation relation) {
  return isEmpty(relation) ? std::nullopt : relation->sample();
}

/// Whether a relation of one disjunct lies in a union.
bool RelationMemo::isCovered(Entry *part, Entry *whole) {
  if (llvm::any_of(whole->parts,
                   [&](Entry *other) { return implies(part, other); }))
    return true;
  if (llvm::any_of(part->points, [&](const PointValues &point) {
        return !whole->relation.contains(point);
      }))
    return false;
  return part->relation.isSubsetOf(whole->relation);
}

bool RelationMemo::isSubsetOf(KnownRelation part, KnownRelation whole) {
  if (whole->size() == 0)
    return isEmpty(part);
  Operands operands{part.entry, whole.entry};
  if (auto found = inclusions.find(operands); found != inclusions.end())
    return found->second;
  bool result = llvm::all_of(part.entry->parts, [&](Entry *disjunct) {
    return isCovered(disjunct, whole.entry);
  });
  inclusions.try_emplace(operands, result);
  return result;
}

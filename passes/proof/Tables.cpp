//===- Tables.cpp - what the proof knows of numbers that tables hold -----===//

#include "passes/proof/Tables.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace baton;
using namespace baton::event;
using namespace baton::tasks;

Tables::Tables(ProgramOp program) {
  for (auto table : program.getBody().getOps<TableOp>())
    tables[table.getBufferAttr()] = table;
  if (tables.empty())
    return;
  for (auto buffer : program.getBody().getOps<BufferOp>())
    if (auto name = FlatSymbolRefAttr::get(buffer.getSymNameAttr());
        tables.contains(name))
      buffers[name] = buffer;
  for (PhaseOp phase : phasesOf(program))
    for (auto &[name, table] : tables)
      if (phase.writesTable(table))
        writers.try_emplace(name, phase);
}

TableOp Tables::lookUp(FlatSymbolRefAttr buffer) const {
  return tables.lookup(buffer);
}

PhaseOp Tables::writerOf(FlatSymbolRefAttr buffer) const {
  return writers.lookup(buffer);
}

/// How far a place is behind another one, if that is the same in all tasks.
static std::optional<int64_t> distanceBetween(AddressAttr from, AddressAttr to,
                                              unsigned rank) {
  auto distance = dyn_cast<AffineConstantExpr>(simplifyAffineExpr(
      to.getIndex().getResult(0) - from.getIndex().getResult(0), rank,
      kStepSymbols));
  if (!distance)
    return std::nullopt;
  return distance.getValue();
}

bool Tables::requireEntries(Conjunction &conjunction, PhaseOp phase,
                            ArrayRef<unsigned> columns) const {
  unsigned rank = phase.getRank();
  SmallVector<AddressAttr> entries(phase.getEntryAttrs());
  for (auto [i, entry] : llvm::enumerate(entries)) {
    TableOp table = lookUp(entry.getBuffer());
    Row value = conjunction.variable(columns[rank + i]);
    auto low = conjunction.flatten(table.getLow().getResult(0), {}),
         high = conjunction.flatten(table.getHigh().getResult(0), {});
    if (!low || !high)
      return false;
    conjunction.atLeast(value, *low);
    conjunction.less(value, *high);
    for (unsigned k = 0; k < i; ++k) {
      if (entries[k].getBuffer() != entry.getBuffer())
        continue;
      std::optional<int64_t> distance =
          distanceBetween(entries[k], entry, rank);
      if (!distance)
        continue;
      Row other = conjunction.variable(columns[rank + k]);
      if (*distance == 0)
        conjunction.equal(other, value);
      else if (table.getProperty() == TableProperty::partition)
        conjunction.atLeast(*distance > 0 ? value : other,
                            *distance > 0 ? other : value);
    }
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Apart
//===----------------------------------------------------------------------===//

bool Tables::shareInstance(TableOp table, PhaseOp first, PhaseOp second,
                           Distance distance) const {
  // A phase that has entries comes after the one that writes the table, and
  // works on its iteration's copy, if there are several.
  if (distance == Distance::sameIteration)
    return true;
  if (buffers.lookup(table.getBufferAttr()).getLayers() > 1)
    return false;
  // The runtime writes at the border of a step, and the proof is of one step.
  PhaseOp writer = writerOf(table.getBufferAttr());
  if (!writer)
    return true;
  auto segmentOf = [](PhaseOp phase) {
    return cast<SegmentOp>(phase->getParentOp());
  };
  SegmentOp segment = segmentOf(writer);
  return segment.getRepeat() == 1 ||
         (segmentOf(first) != segment && segmentOf(second) != segment);
}

bool Tables::mayBeApart(PhaseOp first, PhaseOp second) const {
  return llvm::any_of(first.getEntryAttrs(), [&](AddressAttr one) {
    return lookUp(one.getBuffer()).getProperty() != TableProperty::any &&
           llvm::any_of(second.getEntryAttrs(), [&](AddressAttr other) {
             return other.getBuffer() == one.getBuffer();
           });
  });
}

std::vector<Conjunction> Tables::apart(Conjunction pairs, PhaseOp first,
                                       ArrayRef<unsigned> left, PhaseOp second,
                                       ArrayRef<unsigned> right,
                                       Distance distance) const {
  std::vector<Conjunction> cases = {std::move(pairs)};
  for (auto [i, one] : llvm::enumerate(first.getEntryAttrs()))
    for (auto [k, other] : llvm::enumerate(second.getEntryAttrs())) {
      if (one.getBuffer() != other.getBuffer())
        continue;
      TableOp table = lookUp(one.getBuffer());
      if (table.getProperty() == TableProperty::any ||
          !shareInstance(table, first, second, distance))
        continue;
      bool ascends = table.getProperty() == TableProperty::partition;
      std::vector<Conjunction> split;
      auto keep = [&](Conjunction found) {
        if (!Relation(found).isEmpty())
          split.push_back(std::move(found));
      };
      for (const Conjunction &of : cases) {
        Row value = of.variable(left[first.getRank() + i]),
            otherValue = of.variable(right[second.getRank() + k]);
        // Which of the two places comes first.
        for (int order : {-1, 0, 1}) {
          Conjunction found = of;
          auto place = found.flatten(one.getIndex().getResult(0), left),
               otherPlace = found.flatten(other.getIndex().getResult(0), right);
          // Nothing is known of what cannot be described.
          if (!place || !otherPlace)
            return cases;
          if (order == 0) {
            found.equal(*place, *otherPlace);
            found.equal(value, otherValue);
            keep(std::move(found));
            continue;
          }
          bool isFirst = order < 0;
          found.less(isFirst ? *place : *otherPlace,
                     isFirst ? *otherPlace : *place);
          if (ascends) {
            found.atLeast(isFirst ? otherValue : value,
                          isFirst ? value : otherValue);
            keep(std::move(found));
            continue;
          }
          for (bool isLess : {true, false}) {
            Conjunction differs = found;
            differs.less(isLess ? value : otherValue,
                         isLess ? otherValue : value);
            keep(std::move(differs));
          }
        }
      }
      cases = std::move(split);
    }
  return cases;
}

//===----------------------------------------------------------------------===//
// Cover
//===----------------------------------------------------------------------===//

/// Whether a map's result uses an entry.
static bool hasEntry(PhaseOp phase, AffineExpr expression) {
  for (unsigned d = phase.getRank(), e = phase.getMapRank(); d < e; ++d)
    if (expression.isFunctionOfDim(d))
      return true;
  return false;
}

std::optional<Tables::Segment>
Tables::segmentOf(PhaseOp phase, AccessAttr access, unsigned dimension) const {
  SmallVector<AddressAttr> entries(phase.getEntryAttrs());
  AffineExpr low = access.getLow().getResult(dimension),
             high = access.getHigh().getResult(dimension);
  auto entryOf = [&](AffineExpr expression) -> AddressAttr {
    auto number = dyn_cast<AffineDimExpr>(expression);
    if (!number || number.getPosition() < phase.getRank())
      return {};
    return entries[number.getPosition() - phase.getRank()];
  };
  AddressAttr from = entryOf(low), to = entryOf(high);
  if (!from)
    return std::nullopt;
  TableOp table = lookUp(from.getBuffer());
  if (table.getProperty() == TableProperty::distinct && high == low + 1)
    return Segment{from, {}, table};
  if (table.getProperty() == TableProperty::partition && to &&
      to.getBuffer() == from.getBuffer())
    return Segment{from, to, table};
  return std::nullopt;
}

bool Tables::staysBelow(Reading reading, unsigned dimension, TableOp table,
                        AffineExpr places) const {
  // Values ascend from the least one, so that only the end of what is read
  // counts: [.., v(b)) lies below v(places) wherever b is at most that.
  unsigned rank = reading.phase.getRank();
  auto number =
      dyn_cast<AffineDimExpr>(reading.access.getHigh().getResult(dimension));
  if (!number || number.getPosition() < rank)
    return false;
  SmallVector<AddressAttr> entries(reading.phase.getEntryAttrs());
  AddressAttr end = entries[number.getPosition() - rank];
  if (end.getBuffer() != table.getBufferAttr())
    return false;
  Conjunction above(rank, 0);
  SmallVector<unsigned> task;
  for (AffineExpr extent : reading.phase.getGrid().getResults()) {
    Row coordinate = above.variable(task.size());
    auto tasks = above.flatten(extent, {});
    if (!tasks)
      return false;
    above.atLeast(coordinate, {});
    above.less(coordinate, *tasks);
    task.push_back(task.size());
  }
  auto place = above.flatten(end.getIndex().getResult(0), task),
       most = above.flatten(places, {});
  if (!place || !most)
    return false;
  above.less(*most, *place);
  return Relation(above).isEmpty();
}

std::optional<Tables::Interval>
Tables::prefixOf(PhaseOp phase, AccessAttr access, unsigned dimension,
                 std::optional<Reading> reading) const {
  // [least, v(n)) of one task: n is the same for all of them.
  auto number = dyn_cast<AffineDimExpr>(access.getHigh().getResult(dimension));
  if (!reading || !number || number.getPosition() < phase.getRank())
    return std::nullopt;
  SmallVector<AddressAttr> entries(phase.getEntryAttrs());
  AddressAttr end = entries[number.getPosition() - phase.getRank()];
  TableOp table = lookUp(end.getBuffer());
  AffineExpr place = end.getIndex().getResult(0),
             least = table.getLow().getResult(0);
  if (table.getProperty() != TableProperty::partition ||
      access.getLow().getResult(dimension) != least ||
      !place.isSymbolicOrConstant() ||
      !staysBelow(*reading, dimension, table, place))
    return std::nullopt;
  return Interval{least, table.getHigh().getResult(0) - 1};
}

std::optional<std::pair<AffineMap, AffineMap>>
Tables::cover(PhaseOp phase, AccessAttr access,
              std::optional<Reading> reading) const {
  unsigned rank = phase.getRank();
  MLIRContext *context = phase.getContext();
  SmallVector<AffineExpr> low(access.getLow().getResults()),
      high(access.getHigh().getResults());
  for (unsigned j = 0; j < low.size(); ++j) {
    if (!hasEntry(phase, low[j]) && !hasEntry(phase, high[j]))
      continue;
    std::optional<Segment> segment = segmentOf(phase, access, j);
    if (!segment) {
      std::optional<Interval> all = prefixOf(phase, access, j, reading);
      if (!all)
        return std::nullopt;
      low[j] = all->low;
      high[j] = all->high;
      continue;
    }
    // The places are a coordinate's, all of them.
    auto place = dyn_cast<AffineDimExpr>(segment->low.getIndex().getResult(0));
    if (!place)
      return std::nullopt;
    unsigned coordinate = place.getPosition();
    AffineExpr tasks = phase.getGrid().getResult(coordinate);
    AffineExpr places = buffers.lookup(segment->table.getBufferAttr())
                            .getExtents()
                            .getResult(0);
    AffineExpr least = segment->table.getLow().getResult(0),
               end = segment->table.getHigh().getResult(0);
    auto isZero = [&](AffineExpr expression) {
      auto constant = dyn_cast<AffineConstantExpr>(
          simplifyAffineExpr(expression, rank, kStepSymbols));
      return constant && constant.getValue() == 0;
    };
    if (segment->high) {
      // As many tasks as segments; or the reader stays where there are some.
      if (distanceBetween(segment->low, segment->high, rank) != 1 ||
          (!isZero(tasks + 1 - places) &&
           !(reading && staysBelow(*reading, j, segment->table, tasks))))
        return std::nullopt;
      end = end - 1;
    } else if (!isZero(tasks - places) || !isZero(places - (end - least))) {
      return std::nullopt;
    }
    // Boxes of other tasks of the coordinate are the same otherwise.
    for (unsigned k = 0; k < low.size(); ++k) {
      if (low[k].isFunctionOfDim(coordinate) ||
          high[k].isFunctionOfDim(coordinate))
        return std::nullopt;
      if (k == j)
        continue;
      for (auto [i, entry] : llvm::enumerate(phase.getEntryAttrs()))
        if (entry.getIndex().isFunctionOfDim(coordinate) &&
            (access.getLow().getResult(k).isFunctionOfDim(rank + i) ||
             access.getHigh().getResult(k).isFunctionOfDim(rank + i)))
          return std::nullopt;
    }
    low[j] = least;
    high[j] = end;
  }
  auto map = [&](ArrayRef<AffineExpr> results) {
    return AffineMap::get(rank, kStepSymbols, results, context);
  };
  return std::pair(map(low), map(high));
}

std::optional<std::pair<Tables::Interval, Tables::Interval>>
Tables::withoutEntries(PhaseOp first, AccessAttr firstAccess, PhaseOp second,
                       AccessAttr secondAccess, unsigned dimension,
                       Distance distance) const {
  auto intervalOf = [&](AccessAttr access) {
    return Interval{access.getLow().getResult(dimension),
                    access.getHigh().getResult(dimension)};
  };
  Interval one = intervalOf(firstAccess), other = intervalOf(secondAccess);
  auto isPlain = [](PhaseOp phase, const Interval &interval) {
    return !hasEntry(phase, interval.low) && !hasEntry(phase, interval.high);
  };
  if (isPlain(first, one) && isPlain(second, other))
    return std::pair(one, other);
  auto segment = segmentOf(first, firstAccess, dimension),
       otherSegment = segmentOf(second, secondAccess, dimension);
  if (!segment || !otherSegment || segment->table != otherSegment->table ||
      !shareInstance(segment->table, first, second, distance))
    return std::nullopt;
  // [v(a), v(b)) and [v(c), v(d)) meet only if v(a) < v(d) and v(c) < v(b): of
  // numbers that ascend, only if a < d and c < b.
  auto placesOf = [](const Segment &of) {
    AffineExpr low = of.low.getIndex().getResult(0);
    return Interval{low, of.high ? of.high.getIndex().getResult(0) : low + 1};
  };
  return std::pair(placesOf(*segment), placesOf(*otherSegment));
}

//===- RelationsTest.cpp - the set algebra against enumeration -----------===//
//
// Random relations, made the way a plan's maps make them (tiles, floor and
// ceiling divisions, prefixes), on boxes small enough to visit every point.
//
//===----------------------------------------------------------------------===//

#include "passes/proof/RelationMemo.h"

#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

using namespace baton::tasks;
using mlir::AffineExpr;

namespace {

/// Coordinates run over [0, kSide), symbols over [0, kSymbol).
constexpr int64_t kSide = 7, kSymbol = 3;

class RelationsTest : public testing::TestWithParam<unsigned> {
protected:
  void SetUp() override { random.seed(GetParam()); }

  int64_t pick(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  }

  AffineExpr constant(int64_t value) {
    return mlir::getAffineConstantExpr(value, &context);
  }

  /// Tiles, divisions, offsets by symbols.
  AffineExpr expression(unsigned dimensions, int depth = 2) {
    if (depth == 0 || pick(0, 3) == 0) {
      int64_t kind = pick(0, 4);
      if (kind == 0)
        return constant(pick(-3, 6));
      if (kind == 1 || dimensions == 0)
        return mlir::getAffineSymbolExpr(pick(0, 1), &context);
      return mlir::getAffineDimExpr(pick(0, dimensions - 1), &context);
    }
    AffineExpr left = expression(dimensions, depth - 1);
    switch (pick(0, 5)) {
    case 0:
      return left + expression(dimensions, depth - 1);
    case 1:
      return left - expression(dimensions, depth - 1);
    case 2:
      return left * pick(1, 4);
    case 3:
      return left.floorDiv(pick(2, 4));
    case 4:
      return left.ceilDiv(pick(2, 4));
    default:
      return left % pick(2, 4);
    }
  }

  void bound(Conjunction &conjunction, unsigned first, unsigned count,
             int64_t limit) {
    for (unsigned i = first; i < first + count; ++i) {
      conjunction.atLeast(conjunction.variable(i), {});
      conjunction.less(conjunction.variable(i), conjunction.constant(limit));
    }
  }

  /// Pairs (p, c) with low(c) <= p_k < high(c) for some k, and the like for an
  /// index in between that is projected away.
  Conjunction conjunction(unsigned domain, unsigned range) {
    Conjunction result(domain, range);
    bound(result, 0, domain + range, kSide);
    bound(result, result.symbolColumn(), kRelationSymbols, kSymbol);
    std::vector<unsigned> from, to;
    for (unsigned i = 0; i < domain; ++i)
      from.push_back(i);
    for (unsigned i = 0; i < range; ++i)
      to.push_back(result.rangeColumn() + i);
    int constraints = pick(1, 3);
    for (int i = 0; i < constraints; ++i) {
      bool isForward = pick(0, 1) == 0;
      auto &sources = isForward ? from : to;
      auto &targets = isForward ? to : from;
      if (targets.empty())
        continue;
      Row target = result.variable(targets[pick(0, targets.size() - 1)]);
      target = scaled(target, pick(1, 3));
      if (pick(0, 3) == 0) {
        // A shared element of two boxes, as in a conflict.
        unsigned element = result.addLocal();
        int64_t tile = pick(1, 4), other = pick(1, 4);
        Row left = scaled(target, tile);
        auto right = result.flatten(expression(sources.size()), sources);
        EXPECT_TRUE(right.has_value());
        result.atLeast(result.variable(element), left);
        result.less(result.variable(element), sum(left, result.constant(tile)));
        result.atLeast(scaled(result.variable(element), other), *right);
        result.less(result.variable(element),
                    sum(*right, result.constant(pick(1, 6))));
        continue;
      }
      auto low = result.flatten(expression(sources.size()), sources);
      EXPECT_TRUE(low.has_value());
      if (pick(0, 1))
        result.atLeast(target, *low);
      if (pick(0, 1))
        result.less(target, sum(*low, result.constant(pick(1, 5))));
    }
    return result;
  }

  Relation relation(unsigned domain, unsigned range) {
    Relation result(conjunction(domain, range));
    if (pick(0, 2) == 0)
      result.unite(Relation(conjunction(domain, range)));
    return result;
  }

  using Point = llvm::SmallVector<int64_t>;
  static void forEach(unsigned rank, int64_t limit,
                      const std::function<void(const Point &)> &visit) {
    Point point(rank, 0);
    while (true) {
      visit(point);
      unsigned i = 0;
      while (i < rank && ++point[i] == limit)
        point[i++] = 0;
      if (i == rank)
        return;
    }
  }
  static Point symbols(int64_t rows, int64_t past) { return {rows, past, 1}; }

  mlir::MLIRContext context;
  std::mt19937 random;
};

TEST_P(RelationsTest, FlattenEvaluatesTheExpression) {
  AffineExpr value = expression(2, 3);
  Conjunction graph(2, 1);
  auto row = graph.flatten(value, {0, 1});
  ASSERT_TRUE(row.has_value());
  graph.equal(graph.variable(graph.rangeColumn()), *row);
  Relation function(graph);
  forEach(2, kSide, [&](const Point &p) {
    for (int64_t rows = 0; rows < kSymbol; ++rows)
      for (int64_t past = 0; past < kSymbol; ++past) {
        int64_t expected =
            llvm::cast<mlir::AffineConstantExpr>(
                mlir::simplifyAffineExpr(value.replaceDimsAndSymbols(
                                             {constant(p[0]), constant(p[1])},
                                             {constant(rows), constant(past)}),
                                         0, 0))
                .getValue();
        EXPECT_TRUE(function.contains(p, {expected}, symbols(rows, past)));
        EXPECT_FALSE(function.contains(p, {expected + 1}, symbols(rows, past)));
        EXPECT_FALSE(function.contains(p, {expected - 1}, symbols(rows, past)));
      }
  });
}

TEST_P(RelationsTest, ProjectionOfAnElementIsExact) {
  // {(a, b) : some e with low(a) <= 2 e < high(a), low(b) <= 3 e < high(b)}
  AffineExpr ends[4];
  for (AffineExpr &end : ends)
    end = expression(1);
  Conjunction pairs(1, 1);
  unsigned element = pairs.addLocal();
  Row e = pairs.variable(element);
  int64_t left = pick(1, 3), right = pick(1, 3);
  pairs.atLeast(scaled(e, left), *pairs.flatten(ends[0], {0}));
  pairs.less(scaled(e, left), *pairs.flatten(ends[1], {0}));
  pairs.atLeast(scaled(e, right), *pairs.flatten(ends[2], {1}));
  pairs.less(scaled(e, right), *pairs.flatten(ends[3], {1}));
  Relation projected(pairs);
  auto at = [&](AffineExpr end, int64_t value, const Point &s) {
    return llvm::cast<mlir::AffineConstantExpr>(
               mlir::simplifyAffineExpr(
                   end.replaceDimsAndSymbols({constant(value)},
                                             {constant(s[0]), constant(s[1])}),
                   0, 0))
        .getValue();
  };
  forEach(2, kSide, [&](const Point &p) {
    for (int64_t rows = 0; rows < kSymbol; ++rows) {
      Point s = symbols(rows, kSymbol - 1 - rows);
      bool expected = false;
      for (int64_t e = -200; e < 200; ++e)
        expected |= at(ends[0], p[0], s) <= left * e &&
                    left * e < at(ends[1], p[0], s) &&
                    at(ends[2], p[1], s) <= right * e &&
                    right * e < at(ends[3], p[1], s);
      EXPECT_EQ(projected.contains({p[0]}, {p[1]}, s), expected);
    }
  });
}

TEST_P(RelationsTest, ComposeIsExactAndComposeWithinIsPartOfIt) {
  unsigned outer = pick(1, 2), middle = pick(1, 2), inner = pick(1, 2);
  Relation first = relation(outer, middle), second = relation(middle, inner);
  Relation chain = first.compose(second);
  Relation within = first.composeWithin(second),
           closer = first.composeWithin(second, /*cases=*/pick(1, 8));
  Point s = symbols(pick(0, kSymbol - 1), pick(0, kSymbol - 1));
  forEach(outer, kSide, [&](const Point &a) {
    forEach(inner, kSide, [&](const Point &c) {
      bool expected = false;
      forEach(middle, kSide, [&](const Point &b) {
        expected |= first.contains(a, b, s) && second.contains(b, c, s);
      });
      EXPECT_EQ(chain.contains(a, c, s), expected);
      if (within.contains(a, c, s) || closer.contains(a, c, s))
        EXPECT_TRUE(expected);
    });
  });
}

TEST_P(RelationsTest, SetOperationsMatchEnumeration) {
  unsigned domain = pick(1, 2), range = 1;
  Relation left = relation(domain, range), right = relation(domain, range);
  Relation both = left.intersect(right), rest = left.subtract(right);
  Relation all = left;
  all.unite(right);
  Relation context(conjunction(domain, range));
  if (context.size() != 1)
    context = Relation::universe(domain, range);
  Relation simplified = left.simplifiedIn(context);
  Relation turned = left.inverse(), image = left.rangeUnder(1);
  bool isEmpty = true, isSubset = true;
  for (int64_t rows = 0; rows < kSymbol; ++rows)
    for (int64_t past = 0; past < kSymbol; ++past)
      for (int64_t outputs = 0; outputs < kSymbol; ++outputs)
        forEach(range, kSide, [&](const Point &b) {
          Point s{rows, past, outputs};
          bool inImage = false;
          forEach(domain, kSide, [&](const Point &a) {
            bool inLeft = left.contains(a, b, s);
            bool inRight = right.contains(a, b, s);
            isEmpty &= !inLeft;
            isSubset &= !inLeft || inRight;
            inImage |= inLeft;
            EXPECT_EQ(both.contains(a, b, s), inLeft && inRight);
            EXPECT_EQ(rest.contains(a, b, s), inLeft && !inRight);
            EXPECT_EQ(all.contains(a, b, s), inLeft || inRight);
            EXPECT_EQ(turned.contains(b, a, s), inLeft);
            if (context.contains(a, b, s))
              EXPECT_EQ(simplified.contains(a, b, s), inLeft);
          });
          EXPECT_EQ(image.contains({5}, b, s), inImage);
        });
  EXPECT_EQ(left.isEmpty(), isEmpty);
  EXPECT_EQ(rest.isEmpty(), isSubset);
  EXPECT_EQ(left.isSubsetOf(right), isSubset);
  EXPECT_TRUE(left.isWithin(all));
  if (left.isWithin(right))
    EXPECT_TRUE(isSubset);
  std::optional<RelationPoint> point = left.sample();
  EXPECT_EQ(point.has_value(), !isEmpty);
  if (point)
    EXPECT_TRUE(left.contains(point->domain, point->range, point->symbols));
}

TEST_P(RelationsTest, PiecesCoverWhatWasCut) {
  unsigned domain = pick(1, 2), range = 1;
  Relation whole = relation(domain, range);
  Relation uncut = whole, pieces(domain, range);
  for (int64_t i = pick(1, 3); i > 0; --i) {
    Relation knife = relation(domain, range);
    pieces.unite(uncut.intersect(knife));
    uncut = uncut.subtract(knife);
  }
  bool covered = true;
  for (int64_t rows = 0; rows < kSymbol; ++rows)
    for (int64_t past = 0; past < kSymbol; ++past)
      for (int64_t outputs = 0; outputs < kSymbol; ++outputs)
        forEach(range, kSide, [&](const Point &b) {
          forEach(domain, kSide, [&](const Point &a) {
            Point s{rows, past, outputs};
            covered &= !whole.contains(a, b, s) || pieces.contains(a, b, s);
          });
        });
  EXPECT_EQ(whole.isSubsetOf(pieces), covered);
  EXPECT_EQ(whole.subtract(pieces).isEmpty(), covered);
  pieces.unite(uncut);
  EXPECT_TRUE(whole.isSubsetOf(pieces));
  EXPECT_EQ(whole.subtract(pieces).size(), 0u);
}

TEST_P(RelationsTest, AMemoHasTheSameRelations) {
  const Relation relations[] = {relation(1, 1), relation(1, 1), relation(1, 1),
                                Relation(1, 1)};
  Relation context(conjunction(1, 1));
  RelationMemo memo;
  // The second time all is known, and points were found along the way.
  for (int time = 0; time < 2; ++time)
    for (const Relation &left : relations)
      for (const Relation &right : relations) {
        KnownRelation one = memo.known(left), other = memo.known(right);
        EXPECT_EQ(&*one, &*memo.known(Relation(left)));
        EXPECT_EQ(*one, left);
        Relation all = left;
        all.unite(right);
        EXPECT_EQ(*memo.unite(one, other), all);
        EXPECT_EQ(*memo.intersect(one, other), left.intersect(right));
        EXPECT_EQ(*memo.subtract(one, other), left.subtract(right));
        EXPECT_EQ(*memo.composeWithin(one, other), left.composeWithin(right));
        // Of disjuncts that imply one another either may stay.
        Relation closer = left.composeWithin(right, /*cases=*/4);
        EXPECT_TRUE(memo.composeWithin(one, other, 4)->isSubsetOf(closer));
        EXPECT_TRUE(closer.isSubsetOf(memo.composeWithin(one, other, 4)));
        EXPECT_EQ(*memo.simplifiedIn(memo.known(all), memo.known(context)),
                  all.simplifiedIn(context));
        EXPECT_EQ(memo.isSubsetOf(one, other), left.isSubsetOf(right));
        EXPECT_EQ(memo.isEmpty(one), left.isEmpty());
        EXPECT_EQ(memo.sample(one).has_value(), !left.isEmpty());
      }
}

INSTANTIATE_TEST_SUITE_P(Random, RelationsTest, testing::Range(0u, 150u));

TEST(Relations, RefusesProductsOfSymbols) {
  mlir::MLIRContext context;
  Conjunction pairs(1, 1);
  AffineExpr product = mlir::getAffineSymbolExpr(0, &context) *
                       mlir::getAffineSymbolExpr(1, &context);
  EXPECT_FALSE(pairs.flatten(product, {0}).has_value());
  EXPECT_FALSE(
      pairs.flatten(mlir::getAffineDimExpr(1, &context), {0}).has_value());
}

TEST(Relations, ChainsOfUnequalTilesStaySmall) {
  // 16-row tiles, 48-row tiles, 16-row tiles, and so on: the chain says that
  // two tiles lie in one tile of 48 rows, however long it is.
  Conjunction down(1, 1);
  Row fine = down.variable(0), coarse = down.variable(1);
  down.atLeast(fine, scaled(coarse, 3));
  down.less(fine, sum(scaled(coarse, 3), down.constant(3)));
  Relation group(down);
  Relation chain = group;
  for (int i = 0; i < 8; ++i)
    chain = chain.compose(group.inverse()).compose(group);
  EXPECT_EQ(chain.size(), 1u);
  EXPECT_TRUE(chain.isSubsetOf(group));
  EXPECT_TRUE(group.isSubsetOf(chain));
}

TEST(Relations, PartsOfRowsCoverAllTiles) {
  // Tiles of 16 rows and the parts that rows are cut into, of 512 but for the
  // last: each part orders the tiles that it overlaps, and all of them do all.
  mlir::MLIRContext context;
  AffineExpr rows = mlir::getAffineSymbolExpr(0, &context);
  auto tiles = [&](Conjunction &pairs) {
    Row tile = pairs.variable(0), count = pairs.variable(pairs.symbolColumn());
    pairs.atLeast(tile, {});
    pairs.less(scaled(tile, 16), count);
    pairs.atLeast(pairs.constant(4096), count);
    return scaled(tile, 16);
  };
  Conjunction all(1, 0);
  tiles(all);
  for (int64_t missing = -1; missing < 8; ++missing) {
    Relation parts(1, 0);
    for (int64_t part = 0; part < 8; ++part) {
      if (part == missing)
        continue;
      Conjunction pairs(1, 0);
      Row first = tiles(pairs);
      // The first part has what is left over.
      AffineExpr rest = rows - (rows - 1).floorDiv(512) * 512;
      AffineExpr low = part == 0 ? rest * 0 : rest + (part - 1) * 512;
      pairs.less(first, *pairs.flatten(rest + part * 512, {}));
      pairs.less(*pairs.flatten(low, {}), sum(first, pairs.constant(16)));
      parts.unite(Relation(pairs));
    }
    EXPECT_EQ(Relation(all).isSubsetOf(parts), missing < 0) << missing;
  }
}

TEST(Relations, ADivisionIsKnownByItsBoundsOnlyWhereOneValueFits) {
  // Between (rows - below) / 4 and (rows + above) / 4 there is the ceiling of
  // rows / 4 alone as long as there is room for one integer.
  mlir::MLIRContext context;
  AffineExpr rows = mlir::getAffineSymbolExpr(0, &context);
  // Of a value, in a form that no projection solves for it.
  auto relate = [](Conjunction &pairs, const Row &value) {
    Row twice = scaled(pairs.variable(1), 2), thrice = scaled(value, 3);
    pairs.atLeast(twice, thrice);
    pairs.atLeast(sum(thrice, pairs.constant(3)), twice);
  };
  for (auto [below, above] : {std::pair(0, 3), {0, 4}, {1, 3}}) {
    Conjunction between(2, 0), ceiling(2, 0);
    Row low = *between.flatten(rows, {});
    Row value = between.variable(0), whole = scaled(value, 4);
    between.atLeast(low, {});
    between.atLeast(between.constant(100), low);
    between.atLeast(sum(whole, between.constant(below)), low);
    between.atLeast(sum(low, between.constant(above)), whole);
    relate(between, value);
    relate(ceiling, *ceiling.flatten(rows.ceilDiv(4), {}));
    EXPECT_EQ(Relation(between).isSubsetOf(Relation(ceiling)),
              below + above == 3);
  }
}

/// Tiles of `left` and `right` rows that have a row in common.
static Relation overlapping(int64_t left, int64_t right) {
  Conjunction pairs(1, 1);
  Row low = scaled(pairs.variable(0), left);
  Row other = scaled(pairs.variable(1), right);
  pairs.less(low, sum(other, pairs.constant(right)));
  pairs.less(other, sum(low, pairs.constant(left)));
  return Relation(pairs);
}

TEST(Relations, ChainsOfOverlappingTilesKeepWhatOverlaps) {
  // Heights that do not divide one another: the exact chain has a case for
  // every remainder, and more with every step.
  const int64_t heights[] = {2, 3, 5, 3, 2, 7, 4};
  Relation chain = overlapping(heights[0], heights[1]);
  for (unsigned i = 1; i + 1 < std::size(heights); ++i) {
    chain = chain.composeWithin(overlapping(heights[i], heights[i + 1]));
    EXPECT_EQ(chain.size(), 1u);
    EXPECT_TRUE(overlapping(heights[0], heights[i + 1]).isSubsetOf(chain));
  }
}

TEST(Relations, CasesShowMoreOfAChain) {
  // Of tiles of 3 rows on both sides of tiles of 5.
  Relation there = overlapping(3, 5), back = overlapping(5, 3);
  Relation all = there.compose(back);
  EXPECT_FALSE(all.isSubsetOf(there.composeWithin(back)));
  // Whichever of the two bounds a tile of 5 meets.
  EXPECT_EQ(there.composeWithin(back, 1).size(), 1u);
  EXPECT_EQ(there.composeWithin(back, 2).size(), 2u);
  EXPECT_TRUE(all.isSubsetOf(there.composeWithin(back, 2)));
}

} // namespace

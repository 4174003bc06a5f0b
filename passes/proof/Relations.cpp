//===- Relations.cpp - sets of pairs of integer tuples -------------------===//

#include "passes/proof/Relations.h"

#include "mlir/Analysis/Presburger/IntegerRelation.h"
#include "mlir/Analysis/Presburger/PresburgerRelation.h"
#include "mlir/Analysis/Presburger/Simplex.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLExtras.h"

#include <numeric>
#include <utility>

using namespace baton::tasks;
using llvm::DynamicAPInt;
using mlir::presburger::Fraction;
using mlir::presburger::IntegerRelation;
using mlir::presburger::PresburgerRelation;
using mlir::presburger::PresburgerSpace;
using mlir::presburger::Simplex;

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

static int64_t at(const Row &row, unsigned column) {
  return column < row.size() ? row[column] : 0;
}

static void addTo(Row &row, unsigned column, int64_t value) {
  if (row.size() <= column)
    row.resize(column + 1, 0);
  row[column] += value;
}

static void trim(Row &row) {
  while (!row.empty() && row.back() == 0)
    row.pop_back();
}

/// A plan's coefficients are tile sizes and extents, but heights that have no
/// common divisor multiply along a chain.
static thread_local bool overflowed = false;

bool baton::tasks::takeOverflow() { return std::exchange(overflowed, false); }

/// `left * leftFactor + right * rightFactor`
static Row combine(const Row &left, int64_t leftFactor, const Row &right,
                   int64_t rightFactor) {
  Row result(std::max(left.size(), right.size()), 0);
  for (unsigned i = 0, e = result.size(); i < e; ++i) {
    int64_t a, b;
    if (__builtin_mul_overflow(at(left, i), leftFactor, &a) ||
        __builtin_mul_overflow(at(right, i), rightFactor, &b) ||
        __builtin_add_overflow(a, b, &result[i])) {
      overflowed = true;
      return {};
    }
  }
  trim(result);
  return result;
}

Row baton::tasks::sum(const Row &left, const Row &right) {
  return combine(left, 1, right, 1);
}

Row baton::tasks::difference(const Row &left, const Row &right) {
  return combine(left, 1, right, -1);
}

Row baton::tasks::scaled(const Row &row, int64_t factor) {
  return combine(row, factor, {}, 0);
}

/// The greatest common divisor of all coefficients but the constant.
static int64_t coefficientGcd(const Row &row, unsigned constantColumn) {
  int64_t divisor = 0;
  for (unsigned i = 0, e = row.size(); i < e; ++i)
    if (i != constantColumn)
      divisor = std::gcd(divisor, row[i]);
  return divisor;
}

/// True when the sum of `left` and `right * sign` is a constant, which is then
/// `constant`.
static bool differByConstant(const Row &left, const Row &right, int64_t sign,
                             unsigned constantColumn, int64_t &constant) {
  for (unsigned i = 0, e = std::max(left.size(), right.size()); i < e; ++i)
    if (i != constantColumn && at(left, i) != -sign * at(right, i))
      return false;
  constant = at(left, constantColumn) + sign * at(right, constantColumn);
  return true;
}

/// True when the sum of both is zero: together they are an equality.
static bool areOpposite(const Row &left, const Row &right) {
  for (unsigned i = 0, e = std::max(left.size(), right.size()); i < e; ++i)
    if (at(left, i) != -at(right, i))
      return false;
  return true;
}

static int64_t floorDivide(int64_t numerator, int64_t denominator) {
  int64_t quotient = numerator / denominator;
  return quotient - (numerator % denominator < 0 ? 1 : 0);
}

//===----------------------------------------------------------------------===//
// Conjunctions
//===----------------------------------------------------------------------===//

bool Conjunction::Local::operator==(const Local &other) const {
  return denominator == other.denominator && numerator == other.numerator;
}

Row Conjunction::constant(int64_t value) const {
  Row row;
  if (value != 0)
    addTo(row, constantColumn(), value);
  return row;
}

Row Conjunction::variable(unsigned column) const {
  Row row;
  addTo(row, column, 1);
  return row;
}

unsigned Conjunction::addLocal() {
  locals.emplace_back();
  return localColumn() + locals.size() - 1;
}

Row Conjunction::divide(Row numerator, int64_t denominator) {
  // Multiples of the denominator leave the division.
  Row whole(numerator.size(), 0);
  for (unsigned i = 0, e = numerator.size(); i < e; ++i) {
    whole[i] = floorDivide(numerator[i], denominator);
    numerator[i] -= whole[i] * denominator;
  }
  trim(whole);
  int64_t divisor =
      std::gcd(coefficientGcd(numerator, constantColumn()), denominator);
  if (divisor > 1) {
    for (int64_t &coefficient : numerator)
      coefficient = floorDivide(coefficient, divisor);
    denominator /= divisor;
  }
  trim(numerator);
  if (denominator == 1)
    return sum(whole, numerator);
  if (coefficientGcd(numerator, constantColumn()) == 0)
    return whole; // what is left of the constant is below the denominator
  Local local{numerator, denominator};
  auto found = llvm::find(locals, local);
  unsigned column = localColumn() + (found - locals.begin());
  if (found == locals.end())
    locals.push_back(local);
  return sum(whole, variable(column));
}

std::optional<Row> Conjunction::flatten(mlir::AffineExpr expression,
                                        llvm::ArrayRef<unsigned> dimensions) {
  using mlir::AffineExprKind;
  if (auto constantExpression =
          llvm::dyn_cast<mlir::AffineConstantExpr>(expression))
    return constant(constantExpression.getValue());
  if (auto dimension = llvm::dyn_cast<mlir::AffineDimExpr>(expression)) {
    if (dimension.getPosition() >= dimensions.size())
      return std::nullopt;
    return variable(dimensions[dimension.getPosition()]);
  }
  if (auto symbol = llvm::dyn_cast<mlir::AffineSymbolExpr>(expression)) {
    if (symbol.getPosition() >= kRelationSymbols)
      return std::nullopt;
    return variable(symbolColumn() + symbol.getPosition());
  }
  auto binary = llvm::cast<mlir::AffineBinaryOpExpr>(expression);
  std::optional<Row> left = flatten(binary.getLHS(), dimensions);
  std::optional<Row> right = flatten(binary.getRHS(), dimensions);
  if (!left || !right)
    return std::nullopt;
  if (expression.getKind() == AffineExprKind::Add)
    return combine(*left, 1, *right, 1);
  auto isConstant = [&](Row &row) {
    trim(row);
    return row.size() <= constantColumn() + 1 &&
           coefficientGcd(row, constantColumn()) == 0;
  };
  if (expression.getKind() == AffineExprKind::Mul) {
    if (isConstant(*right))
      return combine(*left, at(*right, constantColumn()), {}, 0);
    if (isConstant(*left))
      return combine(*right, at(*left, constantColumn()), {}, 0);
    return std::nullopt;
  }
  int64_t denominator = at(*right, constantColumn());
  if (!isConstant(*right) || denominator <= 0)
    return std::nullopt;
  switch (expression.getKind()) {
  case AffineExprKind::FloorDiv:
    return divide(*left, denominator);
  case AffineExprKind::CeilDiv:
    return divide(sum(*left, constant(denominator - 1)), denominator);
  case AffineExprKind::Mod:
    return combine(*left, 1, divide(*left, denominator), -denominator);
  default:
    return std::nullopt;
  }
}

void Conjunction::atLeast(const Row &left, const Row &right) {
  inequalities.push_back(difference(left, right));
}

void Conjunction::less(const Row &left, const Row &right) {
  inequalities.push_back(sum(difference(right, left), constant(-1)));
}

void Conjunction::equal(const Row &left, const Row &right) {
  atLeast(left, right);
  atLeast(right, left);
}

bool Conjunction::contains(llvm::ArrayRef<int64_t> point) const {
  llvm::SmallVector<int64_t> values(point);
  values.push_back(1);
  auto evaluate = [&](const Row &row) {
    int64_t total = 0;
    for (auto [coefficient, value] : llvm::zip(row, values))
      total += coefficient * value;
    return total;
  };
  for (const Local &local : locals)
    values.push_back(floorDivide(evaluate(local.numerator), local.denominator));
  return llvm::all_of(inequalities,
                      [&](const Row &row) { return evaluate(row) >= 0; });
}

size_t Conjunction::hash() const {
  auto hashRow = [](const Row &row) {
    return llvm::hash_combine_range(row.begin(), row.end());
  };
  llvm::hash_code code = llvm::hash_combine(domain, range);
  for (const Local &local : locals)
    code =
        llvm::hash_combine(code, hashRow(local.numerator), local.denominator);
  for (const Row &row : inequalities)
    code = llvm::hash_combine(code, hashRow(row));
  return code;
}

//===----------------------------------------------------------------------===//
// The library's form
//===----------------------------------------------------------------------===//

namespace baton::tasks {

/// Gets rid of the locals that are no divisions.
class Projection {
public:
  /// Conjunctions whose union holds the same points, or some of them when
  /// only so many cases are to be told apart.
  static llvm::SmallVector<Conjunction, 1>
  run(const Conjunction &input, std::optional<unsigned> cases = {});

  static IntegerRelation toLibrary(const Conjunction &conjunction);
  static Relation fromLibrary(const IntegerRelation &from);
  static PresburgerRelation toLibrary(const Relation &relation);
  /// True when every point of `conjunction` satisfies the inequality `row` of
  /// `other`, as far as rational points tell.
  static bool implies(const Conjunction &conjunction, const Conjunction &other,
                      std::optional<PointValues> *found = nullptr);
  /// True only if every point of `conjunction` is one of `whole`; the library
  /// answers what is missed.
  static bool covers(const Relation &whole, const Conjunction &conjunction);
  static void identifyDivisions(Conjunction &conjunction);
  /// True when one of the inequalities is `row`, or stronger by a constant.
  static bool isStated(const Conjunction &conjunction, const Row &row);
  static Conjunction merged(const Conjunction &left, const Conjunction &right,
                            llvm::SmallVectorImpl<Row> &rightRows);
  static void tidy(Conjunction &conjunction);

private:
  Projection(const Conjunction &input, std::optional<unsigned> cases)
      : current(input), cases(cases) {}

  enum class Progress { none, some, empty };
  Progress normalize();
  bool substituteEquality();
  bool eliminateExactly();
  bool defineDivision();
  bool reduceEquality();
  void takeDarkShadow();
  /// Which local to split at, and how many cases that makes.
  std::pair<unsigned, int64_t> findSplit() const;
  void split(unsigned local, llvm::SmallVectorImpl<Conjunction> &result);
  void eliminate(unsigned column, const Row *skipLower, const Row *skipUpper);
  bool usesOtherUnknown(const Row &row, unsigned column) const;
  bool isUnknown(unsigned column) const {
    return column >= current.localColumn() &&
           unknown[column - current.localColumn()];
  }
  void finish();

  void solve(llvm::SmallVectorImpl<Conjunction> &result);

  Conjunction current;
  /// How many may come of it; any number without one.
  std::optional<unsigned> cases;
  /// Locals that are neither eliminated nor defined as a division.
  llvm::SmallVector<bool, 8> unknown;
  /// Divisions in the order of their definition.
  llvm::SmallVector<unsigned, 4> order;
};

} // namespace baton::tasks

static llvm::SmallVector<int64_t> libraryRow(const Conjunction &from,
                                             const Row &row, unsigned locals) {
  llvm::SmallVector<int64_t> result;
  for (unsigned i = 0; i < from.constantColumn(); ++i)
    result.push_back(at(row, i));
  for (unsigned i = 0; i < locals; ++i)
    result.push_back(at(row, from.localColumn() + i));
  result.push_back(at(row, from.constantColumn()));
  return result;
}

IntegerRelation Projection::toLibrary(const Conjunction &from) {
  unsigned locals = from.locals.size();
  IntegerRelation result(PresburgerSpace::getRelationSpace(
      from.domain, from.range, kRelationSymbols, locals));
  for (auto [index, local] : llvm::enumerate(from.locals)) {
    if (local.denominator == 0)
      continue;
    Row quotient =
        scaled(from.variable(from.localColumn() + index), local.denominator);
    result.addInequality(
        libraryRow(from, difference(local.numerator, quotient), locals));
    result.addInequality(libraryRow(from,
                                    sum(difference(quotient, local.numerator),
                                        from.constant(local.denominator - 1)),
                                    locals));
  }
  for (const Row &row : from.inequalities)
    result.addInequality(libraryRow(from, row, locals));
  return result;
}

PresburgerRelation Projection::toLibrary(const Relation &relation) {
  PresburgerRelation result =
      PresburgerRelation::getEmpty(PresburgerSpace::getRelationSpace(
          relation.domain, relation.range, kRelationSymbols));
  for (const Conjunction &disjunct : relation.disjuncts)
    result.unionInPlace(toLibrary(disjunct));
  return result;
}

Relation Projection::fromLibrary(const IntegerRelation &from) {
  Conjunction result(from.getNumDomainVars(), from.getNumRangeVars());
  for (unsigned i = 0, e = from.getNumLocalVars(); i < e; ++i)
    result.addLocal();
  // The library's columns are variables, locals, constant.
  auto take = [&](llvm::ArrayRef<DynamicAPInt> row) {
    Row ours;
    unsigned last = row.size() - 1;
    for (unsigned i = 0; i <= last; ++i) {
      if (row[i] == 0)
        continue;
      if (row[i] > std::numeric_limits<int64_t>::max() ||
          row[i] < std::numeric_limits<int64_t>::min()) {
        overflowed = true;
        continue;
      }
      unsigned column = i == last                      ? result.constantColumn()
                        : i >= result.constantColumn() ? i + 1
                                                       : i;
      addTo(ours, column, int64_t(row[i]));
    }
    return ours;
  };
  for (unsigned i = 0, e = from.getNumEqualities(); i < e; ++i)
    result.equal(take(from.getEquality(i)), {});
  for (unsigned i = 0, e = from.getNumInequalities(); i < e; ++i)
    result.atLeast(take(from.getInequality(i)), {});
  return Relation(result);
}

//===----------------------------------------------------------------------===//
// Projection
//===----------------------------------------------------------------------===//

/// The same of rows that differ by a constant, the opposite of rows whose sum
/// is one: so most pairs of rows are told apart without a look at them.
static uint64_t coefficientsKey(const Row &row, unsigned constantColumn) {
  uint64_t key = 0, factor = 1;
  for (unsigned i = 0, e = row.size(); i < e; ++i) {
    factor *= 0x9e3779b97f4a7c15; // any odd number of many digits
    if (i != constantColumn)
      key += uint64_t(row[i]) * factor;
  }
  return key;
}

/// Divides by common factors, drops what is repeated or always true. The
/// constant is rounded down, which loses no integer point.
Projection::Progress Projection::normalize() {
  unsigned constantColumn = current.constantColumn();
  llvm::SmallVector<Row, 8> kept;
  llvm::SmallVector<uint64_t, 32> keys;
  for (Row &row : current.inequalities) {
    trim(row);
    int64_t divisor = coefficientGcd(row, constantColumn);
    if (divisor == 0) {
      if (at(row, constantColumn) < 0)
        return Progress::empty;
      continue;
    }
    if (divisor > 1)
      for (int64_t &coefficient : row)
        coefficient = floorDivide(coefficient, divisor);
    trim(row);
    uint64_t key = coefficientsKey(row, constantColumn);
    bool stronger = true;
    for (auto [otherKey, other] : llvm::zip_equal(keys, kept)) {
      int64_t gap;
      if (key == otherKey &&
          differByConstant(row, other, -1, constantColumn, gap)) {
        if (gap < 0)
          other = row;
        stronger = false;
        break;
      }
    }
    if (stronger) {
      kept.push_back(std::move(row));
      keys.push_back(key);
    }
  }
  for (unsigned i = 0; i < kept.size(); ++i)
    for (unsigned j = i + 1; j < kept.size(); ++j) {
      int64_t total;
      if (keys[i] == -keys[j] &&
          differByConstant(kept[i], kept[j], 1, constantColumn, total) &&
          total < 0)
        return Progress::empty;
    }
  current.inequalities = std::move(kept);
  return Progress::some;
}

bool Projection::usesOtherUnknown(const Row &row, unsigned column) const {
  for (unsigned i = current.localColumn(); i < row.size(); ++i)
    if (i != column && row[i] != 0 && isUnknown(i))
      return true;
  return false;
}

/// Replaces an unknown that an equality gives with coefficient one.
bool Projection::substituteEquality() {
  auto &rows = current.inequalities;
  for (unsigned i = 0; i < rows.size(); ++i)
    for (unsigned j = i + 1; j < rows.size(); ++j) {
      if (!areOpposite(rows[i], rows[j]))
        continue;
      for (unsigned column = current.localColumn(); column < rows[i].size();
           ++column) {
        int64_t unit = rows[i][column];
        if ((unit != 1 && unit != -1) || !isUnknown(column))
          continue;
        Row equality = rows[i];
        llvm::SmallVector<Row, 8> replaced;
        for (unsigned k = 0; k < rows.size(); ++k) {
          if (k == i || k == j)
            continue;
          replaced.push_back(
              combine(rows[k], 1, equality, -at(rows[k], column) * unit));
        }
        rows = std::move(replaced);
        unknown[column - current.localColumn()] = false;
        return true;
      }
    }
  return false;
}

/// Fourier-Motzkin without the pair (skipLower, skipUpper).
void Projection::eliminate(unsigned column, const Row *skipLower,
                           const Row *skipUpper) {
  llvm::SmallVector<Row, 8> result;
  for (const Row &lower : current.inequalities) {
    int64_t a = at(lower, column);
    if (a == 0)
      result.push_back(lower);
    if (a <= 0)
      continue;
    for (const Row &upper : current.inequalities) {
      int64_t b = -at(upper, column);
      if (b <= 0 || (&lower == skipLower && &upper == skipUpper))
        continue;
      result.push_back(combine(lower, b, upper, a));
    }
  }
  current.inequalities = std::move(result);
  unknown[column - current.localColumn()] = false;
}

/// Bounds of one unknown.
namespace {
struct Bounds {
  llvm::SmallVector<const Row *> lower, upper;
  /// Bounds `c v >= e - s` and `c v <= e` with 0 <= s < c: one value at most.
  const Row *tightLower = nullptr, *tightUpper = nullptr;
  int64_t slack = 0;
};
} // namespace

/// The tight pair is one that `accepts` its rows.
static Bounds findBounds(
    const Conjunction &current, llvm::ArrayRef<Row> inequalities,
    unsigned column,
    llvm::function_ref<bool(const Row &)> accepts = [](const Row &) {
      return true;
    }) {
  Bounds bounds;
  for (const Row &row : inequalities) {
    if (at(row, column) > 0)
      bounds.lower.push_back(&row);
    if (at(row, column) < 0)
      bounds.upper.push_back(&row);
  }
  for (const Row *lower : bounds.lower)
    for (const Row *upper : bounds.upper) {
      int64_t factor = at(*lower, column);
      if (factor == 1 || factor != -at(*upper, column) || !accepts(*upper))
        continue;
      int64_t slack;
      if (!differByConstant(*lower, *upper, 1, current.constantColumn(),
                            slack) ||
          slack < 0 || slack >= factor)
        continue;
      bounds.tightLower = lower;
      bounds.tightUpper = upper;
      bounds.slack = slack;
      return bounds;
    }
  return bounds;
}

/// Removes an unknown where the rational shadow has the integer points of the
/// projection: with unit coefficients on one side, or on all bounds but a pair
/// that always has room for exactly one value.
bool Projection::eliminateExactly() {
  unsigned best = ~0u;
  size_t bestCost = ~size_t(0);
  bool bestSkips = false;
  for (unsigned i = 0; i < unknown.size(); ++i) {
    if (!unknown[i])
      continue;
    unsigned column = current.localColumn() + i;
    Bounds bounds = findBounds(current, current.inequalities, column);
    auto isUnit = [&](const Row *row) {
      return std::abs(at(*row, column)) == 1;
    };
    bool exact = llvm::all_of(bounds.lower, isUnit) ||
                 llvm::all_of(bounds.upper, isUnit);
    bool skips = false;
    if (!exact && bounds.tightLower &&
        bounds.slack + 1 == at(*bounds.tightLower, column)) {
      skips = exact = llvm::all_of(current.inequalities, [&](const Row &row) {
        return at(row, column) == 0 || isUnit(&row) ||
               &row == bounds.tightLower || &row == bounds.tightUpper;
      });
    }
    size_t cost = bounds.lower.size() * bounds.upper.size();
    if (exact && cost < bestCost) {
      best = column;
      bestCost = cost;
      bestSkips = skips;
    }
  }
  if (best == ~0u)
    return false;
  Bounds bounds = findBounds(current, current.inequalities, best);
  eliminate(best, bestSkips ? bounds.tightLower : nullptr,
            bestSkips ? bounds.tightUpper : nullptr);
  return true;
}

/// An unknown with a tight pair of bounds is a division.
bool Projection::defineDivision() {
  for (unsigned i = 0; i < unknown.size(); ++i) {
    if (!unknown[i])
      continue;
    unsigned column = current.localColumn() + i;
    Bounds bounds =
        findBounds(current, current.inequalities, column, [&](const Row &row) {
          return !usesOtherUnknown(row, column);
        });
    if (!bounds.tightUpper)
      continue;
    Row numerator = *bounds.tightUpper;
    int64_t denominator = -numerator[column];
    numerator[column] = 0;
    trim(numerator);
    llvm::SmallVector<Row, 8> kept;
    for (const Row &row : current.inequalities)
      if (&row != bounds.tightUpper &&
          (&row != bounds.tightLower || bounds.slack + 1 != denominator))
        kept.push_back(row);
    current.inequalities = std::move(kept);
    current.locals[i] = {numerator, denominator};
    unknown[i] = false;
    order.push_back(i);
    return true;
  }
  return false;
}

/// Turns an equality between several unknowns into one with a smaller
/// coefficient: `u = u' - q w` changes no other solution (Euclid's algorithm).
bool Projection::reduceEquality() {
  auto &rows = current.inequalities;
  for (unsigned i = 0; i < rows.size(); ++i)
    for (unsigned j = i + 1; j < rows.size(); ++j) {
      if (!areOpposite(rows[i], rows[j]))
        continue;
      unsigned least = ~0u, other = ~0u;
      for (unsigned column = current.localColumn(); column < rows[i].size();
           ++column) {
        if (rows[i][column] == 0 || !isUnknown(column))
          continue;
        if (least == ~0u) {
          least = column;
        } else if (std::abs(rows[i][column]) < std::abs(rows[i][least])) {
          other = least;
          least = column;
        } else {
          other = column;
        }
      }
      if (other == ~0u)
        continue;
      int64_t quotient = rows[i][other] / rows[i][least];
      for (Row &row : rows) {
        if (at(row, least) == 0)
          continue;
        Row change = current.variable(other);
        row = combine(row, 1, change, -quotient * at(row, least));
      }
      return true;
    }
  return false;
}

/// A value lies between `a v >= l` and `b v <= u` whatever the remainders when
/// `a u - b l >= (a - 1)(b - 1)` (Pugh, "The Omega test").
void Projection::takeDarkShadow() {
  unsigned best = ~0u;
  size_t bestPairs = ~size_t(0);
  for (unsigned i = 0; i < unknown.size(); ++i) {
    if (!unknown[i])
      continue;
    Bounds bounds =
        findBounds(current, current.inequalities, current.localColumn() + i);
    if (size_t pairs = bounds.lower.size() * bounds.upper.size();
        pairs < bestPairs) {
      best = i;
      bestPairs = pairs;
    }
  }
  unsigned column = current.localColumn() + best;
  llvm::SmallVector<Row, 8> result;
  for (const Row &lower : current.inequalities) {
    int64_t a = at(lower, column);
    if (a == 0)
      result.push_back(lower);
    if (a <= 0)
      continue;
    for (const Row &upper : current.inequalities)
      if (int64_t b = -at(upper, column); b > 0)
        result.push_back(difference(combine(lower, b, upper, a),
                                    current.constant((a - 1) * (b - 1))));
  }
  current.inequalities = std::move(result);
  unknown[best] = false;
}

/// If there is a value for an unknown, then a least one, which meets one of the
/// lower bounds `c v >= e` up to a remainder below c: a case for each bound, or
/// for each remainder when e has other unknowns.
std::pair<unsigned, int64_t> Projection::findSplit() const {
  unsigned best = ~0u;
  int64_t bestCases = std::numeric_limits<int64_t>::max();
  for (unsigned i = 0; i < unknown.size(); ++i) {
    if (!unknown[i])
      continue;
    unsigned column = current.localColumn() + i;
    int64_t cases = 0;
    for (const Row *row :
         findBounds(current, current.inequalities, column).lower)
      cases += usesOtherUnknown(*row, column) ? at(*row, column) : 1;
    if (cases < bestCases) {
      best = i;
      bestCases = cases;
    }
  }
  return {best, bestCases};
}

void Projection::split(unsigned local,
                       llvm::SmallVectorImpl<Conjunction> &result) {
  unsigned column = current.localColumn() + local;
  for (unsigned k = 0; k < current.inequalities.size(); ++k) {
    Row bound = current.inequalities[k];
    int64_t factor = at(bound, column);
    if (factor <= 0)
      continue;
    if (!usesOtherUnknown(bound, column)) {
      Projection branch = *this;
      branch.current.atLeast(current.constant(factor - 1), bound);
      branch.solve(result);
      continue;
    }
    for (int64_t remainder = 0; remainder < factor; ++remainder) {
      Projection branch = *this;
      branch.current.inequalities.erase(branch.current.inequalities.begin() +
                                        k);
      branch.current.equal(bound, current.constant(remainder));
      branch.solve(result);
    }
  }
}

/// Keeps the divisions that something uses, in the order of their definition.
void Projection::finish() {
  unsigned first = current.localColumn();
  llvm::SmallVector<bool, 8> used(current.locals.size(), false);
  auto mark = [&](const Row &row) {
    for (unsigned i = first; i < row.size(); ++i)
      if (row[i] != 0)
        used[i - first] = true;
  };
  for (const Row &row : current.inequalities)
    mark(row);
  for (unsigned i : llvm::reverse(order))
    if (used[i])
      mark(current.locals[i].numerator);
  llvm::SmallVector<unsigned, 8> position(current.locals.size(), 0);
  auto renumber = [&](const Row &row) {
    Row renamed(row.begin(), row.begin() + std::min<size_t>(row.size(), first));
    for (unsigned i = first; i < row.size(); ++i)
      if (row[i] != 0)
        addTo(renamed, position[i - first], row[i]);
    trim(renamed);
    return renamed;
  };
  llvm::SmallVector<Conjunction::Local, 4> kept;
  for (unsigned i : order) {
    if (!used[i])
      continue;
    position[i] = first + kept.size();
    kept.push_back(
        {renumber(current.locals[i].numerator), current.locals[i].denominator});
  }
  for (Row &row : current.inequalities)
    row = renumber(row);
  current.locals = std::move(kept);
}

void Projection::solve(llvm::SmallVectorImpl<Conjunction> &result) {
  while (true) {
    if (normalize() == Progress::empty)
      return;
    if (llvm::none_of(unknown, [](bool is) { return is; })) {
      finish();
      result.push_back(current);
      return;
    }
    if (substituteEquality() || eliminateExactly() || defineDivision() ||
        reduceEquality())
      continue;
    auto [local, count] = findSplit();
    if (cases && count > *cases) {
      takeDarkShadow();
      continue;
    }
    if (cases)
      *cases /= count;
    split(local, result);
    return;
  }
}

llvm::SmallVector<Conjunction, 1>
Projection::run(const Conjunction &input, std::optional<unsigned> cases) {
  Projection projection(input, cases);
  // Divisions become unknowns with their two bounds, so that those that need
  // not stay are eliminated like any other.
  projection.unknown.assign(input.locals.size(), true);
  for (auto [index, local] : llvm::enumerate(input.locals)) {
    if (local.denominator == 0)
      continue;
    Row quotient =
        scaled(input.variable(input.localColumn() + index), local.denominator);
    projection.current.atLeast(local.numerator, quotient);
    projection.current.less(local.numerator,
                            sum(quotient, input.constant(local.denominator)));
  }
  for (Conjunction::Local &local : projection.current.locals)
    local = {};
  llvm::SmallVector<Conjunction, 1> result;
  projection.solve(result);
  return result;
}

//===----------------------------------------------------------------------===//
// Implication over rational points
//===----------------------------------------------------------------------===//

/// `left` with the divisions of `right` added; `rightRows` are the rows of
/// `right` in its columns.
Conjunction Projection::merged(const Conjunction &left,
                               const Conjunction &right,
                               llvm::SmallVectorImpl<Row> &rightRows) {
  Conjunction result = left;
  unsigned first = left.localColumn();
  llvm::SmallVector<unsigned, 4> position;
  auto renumber = [&](const Row &row) {
    Row renamed(row.begin(), row.begin() + std::min<size_t>(row.size(), first));
    for (unsigned i = first; i < row.size(); ++i)
      if (row[i] != 0)
        addTo(renamed, position[i - first], row[i]);
    trim(renamed);
    return renamed;
  };
  for (const Conjunction::Local &local : right.locals) {
    Conjunction::Local moved{renumber(local.numerator), local.denominator};
    auto found = llvm::find(result.locals, moved);
    position.push_back(first + (found - result.locals.begin()));
    if (found == result.locals.end())
      result.locals.push_back(moved);
  }
  for (const Row &row : right.inequalities)
    rightRows.push_back(renumber(row));
  return result;
}

/// The point that a simplex stands at, rounded down, if it lies inside.
static std::optional<PointValues> pointNear(const Conjunction &conjunction,
                                            const Simplex &simplex) {
  auto sample = simplex.getRationalSample();
  if (!sample)
    return std::nullopt;
  PointValues near;
  for (unsigned i = 0; i < conjunction.constantColumn(); ++i)
    near.push_back(int64_t(mlir::presburger::floor((*sample)[i])));
  if (!conjunction.contains(near))
    return std::nullopt;
  return near;
}

bool Projection::isStated(const Conjunction &conjunction, const Row &row) {
  return llvm::any_of(conjunction.inequalities, [&](const Row &own) {
    int64_t gap;
    return differByConstant(row, own, -1, conjunction.constantColumn(), gap) &&
           gap >= 0;
  });
}

bool Projection::implies(const Conjunction &conjunction,
                         const Conjunction &other,
                         std::optional<PointValues> *found) {
  llvm::SmallVector<Row> rows;
  Conjunction all = merged(conjunction, other, rows);
  // What the conjunction states takes no simplex.
  llvm::erase_if(rows, [&](const Row &row) { return isStated(all, row); });
  if (rows.empty())
    return true;
  Simplex simplex(toLibrary(all));
  if (simplex.isEmpty())
    return true;
  for (const Row &row : rows) {
    llvm::SmallVector<DynamicAPInt> coefficients =
        mlir::presburger::getDynamicAPIntVec(
            libraryRow(all, row, all.locals.size()));
    auto least = simplex.computeOptimum(Simplex::Direction::Down, coefficients);
    if (!least.isBounded() || !(*least > Fraction(-1, 1))) {
      if (found)
        *found = pointNear(conjunction, simplex);
      return false;
    }
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Covers
//===----------------------------------------------------------------------===//

/// An integer that lies where a division does, between two bounds with room for
/// one value, is the division: so say two inequalities more, which hold for all
/// integer points and which rational ones need to be told.
void Projection::identifyDivisions(Conjunction &conjunction) {
  unsigned first = conjunction.localColumn(),
           end = first + conjunction.locals.size();
  for (auto [index, local] : llvm::enumerate(conjunction.locals))
    for (unsigned column = 0; column < end; ++column) {
      if (column == conjunction.constantColumn() || column == first + index)
        continue;
      Row variable = conjunction.variable(column);
      Row rest =
          difference(local.numerator, scaled(variable, local.denominator));
      Row room = difference(conjunction.constant(local.denominator - 1), rest);
      if (isStated(conjunction, rest) && isStated(conjunction, room))
        conjunction.equal(conjunction.variable(first + index), variable);
    }
}

namespace {
using LibraryRow = llvm::SmallVector<int64_t>;

/// Takes the disjuncts of a cover away from what a simplex holds, one after the
/// other. A point that is not in a disjunct violates a first one of its rows;
/// what does so is a part of its own, to be taken away by the others.
class Cover {
public:
  explicit Cover(const IntegerRelation &part) : simplex(part) {}

  /// Rows are in the simplex's columns.
  bool run(llvm::ArrayRef<llvm::SmallVector<LibraryRow>> disjuncts);

private:
  bool hasNoInteger();
  void require(llvm::ArrayRef<int64_t> row) {
    simplex.addInequality(mlir::presburger::getDynamicAPIntVec(row));
  }

  Simplex simplex;
  /// The library is there for what branches more than the parts of a plan.
  unsigned steps = 500;
};
} // namespace

/// Looks at what lies below and above a value that is no integer.
bool Cover::hasNoInteger() {
  auto sample = simplex.getRationalSample();
  if (!sample)
    return true;
  // Divisions come last, and decide most.
  unsigned column = sample->size();
  while (column > 0 && (*sample)[column - 1].den == 1)
    --column;
  if (column == 0 || steps == 0)
    return false;
  --steps;
  LibraryRow above(sample->size() + 1, 0), below = above;
  above[column - 1] = 1;
  above.back() = -int64_t(mlir::presburger::ceil((*sample)[column - 1]));
  below[column - 1] = -1;
  below.back() = int64_t(mlir::presburger::floor((*sample)[column - 1]));
  for (llvm::ArrayRef<int64_t> row : {above, below}) {
    unsigned before = simplex.getSnapshot();
    require(row);
    bool none = simplex.isEmpty() || hasNoInteger();
    simplex.rollback(before);
    if (!none)
      return false;
  }
  return true;
}

bool Cover::run(llvm::ArrayRef<llvm::SmallVector<LibraryRow>> disjuncts) {
  if (simplex.isEmpty())
    return true;
  if (disjuncts.empty())
    return hasNoInteger();
  unsigned whole = simplex.getSnapshot();
  bool covered = true;
  for (llvm::ArrayRef<int64_t> row : disjuncts.front()) {
    if (steps == 0 || simplex.isEmpty())
      break;
    --steps;
    LibraryRow violated;
    for (int64_t coefficient : row)
      violated.push_back(-coefficient);
    --violated.back();
    unsigned before = simplex.getSnapshot();
    require(violated);
    covered = run(disjuncts.drop_front());
    simplex.rollback(before);
    if (!covered)
      break;
    require(row);
  }
  simplex.rollback(whole);
  return covered && steps > 0;
}

bool Projection::covers(const Relation &whole, const Conjunction &conjunction) {
  if (llvm::any_of(whole.disjuncts, [&](const Conjunction &disjunct) {
        return implies(conjunction, disjunct);
      }))
    return true;
  Conjunction all = conjunction;
  llvm::SmallVector<llvm::SmallVector<Row>> disjuncts;
  for (const Conjunction &disjunct : whole.disjuncts)
    all = merged(all, disjunct, disjuncts.emplace_back());
  identifyDivisions(all);
  auto columns = [&](const Row &row) {
    return libraryRow(all, row, all.locals.size());
  };
  llvm::SmallVector<llvm::SmallVector<LibraryRow>> rows;
  for (llvm::ArrayRef<Row> disjunct : disjuncts)
    rows.push_back(llvm::map_to_vector(disjunct, columns));
  return Cover(toLibrary(all)).run(rows);
}

//===----------------------------------------------------------------------===//
// Relations
//===----------------------------------------------------------------------===//

Relation::Relation(const Conjunction &conjunction)
    : domain(conjunction.domainRank()), range(conjunction.rangeRank()) {
  for (Conjunction &disjunct : Projection::run(conjunction))
    add(std::move(disjunct));
}

Relation Relation::universe(unsigned domain, unsigned range) {
  return Relation(Conjunction(domain, range));
}

Relation Relation::identity(unsigned rank) {
  Conjunction same(rank, rank);
  for (unsigned i = 0; i < rank; ++i)
    same.equal(same.variable(i), same.variable(same.rangeColumn() + i));
  return Relation(same);
}

void Relation::add(Conjunction conjunction) {
  for (const Conjunction &disjunct : disjuncts)
    if (Projection::implies(conjunction, disjunct))
      return;
  llvm::erase_if(disjuncts, [&](const Conjunction &disjunct) {
    return Projection::implies(disjunct, conjunction);
  });
  disjuncts.push_back(std::move(conjunction));
}

Relation Relation::disjunct(size_t index) const {
  Relation result(domain, range);
  result.disjuncts.push_back(disjuncts[index]);
  return result;
}

Relation Relation::ofParts(unsigned domain, unsigned range,
                           llvm::ArrayRef<const Relation *> parts) {
  Relation result(domain, range);
  for (const Relation *part : parts)
    result.disjuncts.append(part->disjuncts);
  return result;
}

void Relation::unite(const Relation &other) {
  // None of its disjuncts implies another, so that all would be added.
  if (disjuncts.empty()) {
    disjuncts = other.disjuncts;
    return;
  }
  for (const Conjunction &disjunct : other.disjuncts)
    add(disjunct);
}

Relation Relation::intersect(const Relation &other) const {
  Relation result(domain, range);
  for (const Conjunction &left : disjuncts)
    for (const Conjunction &right : other.disjuncts) {
      llvm::SmallVector<Row> rows;
      Conjunction both = Projection::merged(left, right, rows);
      both.inequalities.append(rows.begin(), rows.end());
      result.unite(Relation(both));
    }
  return result;
}

Relation Relation::compose(const Relation &next) const {
  return compose(next, std::nullopt);
}

Relation Relation::composeWithin(const Relation &next, unsigned cases) const {
  return compose(next, std::optional(cases));
}

Relation Relation::compose(const Relation &next,
                           std::optional<unsigned> cases) const {
  Relation result(domain, next.range);
  for (const Conjunction &left : disjuncts)
    for (const Conjunction &right : next.disjuncts) {
      Conjunction chain(domain, next.range);
      llvm::SmallVector<unsigned> middle;
      for (unsigned i = 0; i < range; ++i)
        middle.push_back(chain.addLocal());
      auto append = [&](const Conjunction &from, bool isLeft) {
        llvm::SmallVector<unsigned> locals;
        for (unsigned i = 0, e = from.locals.size(); i < e; ++i)
          locals.push_back(chain.addLocal());
        auto move = [&](const Row &row) {
          Row moved;
          for (unsigned column = 0; column < row.size(); ++column) {
            if (row[column] == 0)
              continue;
            unsigned target;
            if (column >= from.localColumn())
              target = locals[column - from.localColumn()];
            else if (column == from.constantColumn())
              target = chain.constantColumn();
            else if (column >= from.symbolColumn())
              target = chain.symbolColumn() + column - from.symbolColumn();
            else if (isLeft)
              target =
                  column < from.domain ? column : middle[column - from.domain];
            else
              target = column < from.domain
                           ? middle[column]
                           : chain.rangeColumn() + column - from.domain;
            addTo(moved, target, row[column]);
          }
          return moved;
        };
        for (auto [index, local] : llvm::enumerate(from.locals))
          chain.locals[locals[index] - chain.localColumn()] = {
              move(local.numerator), local.denominator};
        for (const Row &row : from.inequalities)
          chain.inequalities.push_back(move(row));
      };
      append(left, true);
      append(right, false);
      for (Conjunction &disjunct : Projection::run(chain, cases))
        result.add(std::move(disjunct));
    }
  return result;
}

/// The conjunction with its variables in other columns: `place` maps a domain
/// or range column, nothing else moves but by the shift of the symbols.
template <typename Place>
static Row placeRow(const Conjunction &from, const Conjunction &to,
                    const Row &row, Place place) {
  Row moved;
  for (unsigned column = 0; column < row.size(); ++column) {
    if (row[column] == 0)
      continue;
    unsigned target = column < from.symbolColumn()
                          ? place(column)
                          : column - from.symbolColumn() + to.symbolColumn();
    addTo(moved, target, row[column]);
  }
  return moved;
}

Relation Relation::inverse() const {
  Relation result(range, domain);
  for (const Conjunction &from : disjuncts) {
    Conjunction to(range, domain);
    auto place = [&](unsigned column) {
      return column < domain ? column + range : column - domain;
    };
    for (const Conjunction::Local &local : from.locals)
      to.locals.push_back(
          {placeRow(from, to, local.numerator, place), local.denominator});
    for (const Row &row : from.inequalities)
      to.inequalities.push_back(placeRow(from, to, row, place));
    result.disjuncts.push_back(std::move(to));
  }
  return result;
}

Relation Relation::rangeUnder(unsigned newDomain) const {
  Relation result(newDomain, range);
  for (const Conjunction &from : disjuncts) {
    Conjunction to(newDomain, range);
    llvm::SmallVector<unsigned> hidden;
    for (unsigned i = 0; i < domain; ++i)
      hidden.push_back(to.addLocal());
    unsigned shift = domain;
    auto move = [&](const Row &row) {
      Row moved;
      for (unsigned column = 0; column < row.size(); ++column) {
        if (row[column] == 0)
          continue;
        unsigned target;
        if (column < domain)
          target = hidden[column];
        else if (column < from.symbolColumn())
          target = to.rangeColumn() + column - domain;
        else
          target = column - from.symbolColumn() + to.symbolColumn() +
                   (column >= from.localColumn() ? shift : 0);
        addTo(moved, target, row[column]);
      }
      return moved;
    };
    for (const Conjunction::Local &local : from.locals)
      to.locals.push_back({move(local.numerator), local.denominator});
    for (const Row &row : from.inequalities)
      to.inequalities.push_back(move(row));
    result.unite(Relation(to));
  }
  return result;
}

Relation Relation::simplifiedIn(const Relation &context) const {
  if (context.disjuncts.size() != 1)
    return *this;
  Relation result(domain, range);
  for (const Conjunction &disjunct : disjuncts) {
    llvm::SmallVector<Row> rows;
    Conjunction all =
        Projection::merged(context.disjuncts.front(), disjunct, rows);
    auto coefficients = [&](const Row &row) {
      return mlir::presburger::getDynamicAPIntVec(
          libraryRow(all, row, all.locals.size()));
    };
    Simplex simplex(Projection::toLibrary(all));
    unsigned contextOnly = simplex.getSnapshot();
    for (const Row &row : rows)
      simplex.addInequality(coefficients(row));
    if (simplex.isEmpty())
      continue;
    simplex.rollback(contextOnly);
    Conjunction kept = disjunct;
    kept.inequalities.clear();
    for (auto [row, own] : llvm::zip(rows, disjunct.inequalities)) {
      if (Projection::isStated(all, row))
        continue;
      auto least =
          simplex.computeOptimum(Simplex::Direction::Down, coefficients(row));
      if (!least.isBounded() || !(*least > Fraction(-1, 1)))
        kept.inequalities.push_back(own);
    }
    result.unite(Relation(kept));
  }
  return result;
}

size_t Relation::hash() const {
  llvm::hash_code code = llvm::hash_combine(domain, range);
  for (const Conjunction &disjunct : disjuncts)
    code = llvm::hash_combine(code, disjunct.hash());
  return code;
}

bool Relation::isEmpty() const {
  return llvm::all_of(disjuncts, [&](const Conjunction &disjunct) {
    IntegerRelation library = Projection::toLibrary(disjunct);
    Simplex simplex(library);
    if (simplex.isEmpty())
      return true;
    // An integer point near a rational one saves the search for one.
    if (pointNear(disjunct, simplex))
      return false;
    return library.isIntegerEmpty();
  });
}

bool Relation::implies(const Relation &other,
                       std::optional<PointValues> &found) const {
  return Projection::implies(disjuncts.front(), other.disjuncts.front(),
                             &found);
}

bool Relation::isWithin(const Relation &other) const {
  return llvm::all_of(disjuncts, [&](const Conjunction &disjunct) {
    return Projection::covers(other, disjunct);
  });
}

bool Relation::isSubsetOf(const Relation &other) const {
  std::optional<PresburgerRelation> whole;
  for (const Conjunction &disjunct : disjuncts) {
    if (Projection::covers(other, disjunct))
      continue;
    if (!whole)
      whole = Projection::toLibrary(other);
    if (!PresburgerRelation(Projection::toLibrary(disjunct))
             .subtract(*whole)
             .isIntegerEmpty())
      return false;
  }
  return true;
}

Relation Relation::subtract(const Relation &other) const {
  Relation result(domain, range);
  std::optional<PresburgerRelation> whole;
  for (const Conjunction &disjunct : disjuncts) {
    if (Projection::covers(other, disjunct))
      continue;
    if (!whole)
      whole = Projection::toLibrary(other);
    PresburgerRelation rest =
        PresburgerRelation(Projection::toLibrary(disjunct)).subtract(*whole);
    for (const IntegerRelation &piece : rest.getAllDisjuncts()) {
      if (piece.isIntegerEmpty())
        continue;
      result.unite(Projection::fromLibrary(piece));
    }
  }
  return result;
}

std::optional<RelationPoint> Relation::sample() const {
  for (const Conjunction &disjunct : disjuncts) {
    auto found = Projection::toLibrary(disjunct).findIntegerSample();
    if (!found)
      continue;
    RelationPoint point;
    for (unsigned i = 0; i < disjunct.constantColumn(); ++i) {
      int64_t value = int64_t((*found)[i]);
      if (i < domain)
        point.domain.push_back(value);
      else if (i < domain + range)
        point.range.push_back(value);
      else
        point.symbols.push_back(value);
    }
    return point;
  }
  return std::nullopt;
}

bool Relation::contains(llvm::ArrayRef<int64_t> domainPoint,
                        llvm::ArrayRef<int64_t> rangePoint,
                        llvm::ArrayRef<int64_t> symbols) const {
  PointValues point(domainPoint);
  point.append(rangePoint.begin(), rangePoint.end());
  point.append(symbols.begin(), symbols.end());
  return contains(point);
}

bool Relation::contains(const PointValues &point) const {
  return llvm::any_of(disjuncts, [&](const Conjunction &disjunct) {
    return disjunct.contains(point);
  });
}

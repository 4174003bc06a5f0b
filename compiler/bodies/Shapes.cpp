//===- Shapes.cpp - shapes that a task body may get
//------------------------===//

#include "compiler/bodies/Shapes.h"

#include "compiler/bodies/Walks.h"

#include "llvm/ADT/StringExtras.h"

#include <map>
#include <numeric>

using namespace mlir;
using namespace baton;
using namespace baton::checks;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;

Expected<GivenSize> checks::parseGivenSize(llvm::StringRef text) {
  GivenSize given;
  auto [place, numbers] = text.split('=');
  auto [name, dimension] = place.rsplit('.');
  llvm::SmallVector<llvm::StringRef> sizes;
  numbers.split(sizes, ',');
  bool fits = !name.empty() && !dimension.getAsInteger(10, given.dimension);
  given.argument = name.ltrim('@').str();
  for (llvm::StringRef size : sizes) {
    int64_t value = 0;
    fits &= !size.getAsInteger(10, value) && value >= 1 && value <= 65536;
    given.sizes.push_back(value);
  }
  if (!fits)
    return createStringError("--size=" + text +
                             ": expected ARGUMENT.DIMENSION=SIZE,..., such as "
                             "x.1=8,16, of sizes from 1 to 65536");
  return given;
}

/// Where the boxes of all tasks end in a dimension, and where they begin at
/// most; nothing when there are no tasks. Corners of the grid are enough: boxes
/// move one way along each coordinate.
static std::optional<std::pair<int64_t, int64_t>>
reach(const Body &body, event::AccessAttr access, unsigned dimension,
      const Step &step) {
  std::vector<Index> corners = {Index()};
  for (int64_t extent : event::evaluate(body.grid, {}, step.symbols())) {
    if (extent < 1)
      return std::nullopt;
    std::vector<Index> more;
    for (const Index &corner : corners)
      for (int64_t at : {int64_t(0), extent - 1}) {
        more.push_back(corner);
        more.back().push_back(at);
      }
    corners = std::move(more);
  }
  std::pair<int64_t, int64_t> most = {0, 0};
  for (const Index &corner : corners) {
    Box box = Body::uncut(access, corner, step);
    most.first = std::max(most.first, box.high[dimension]);
    most.second = std::max(most.second, box.low[dimension]);
  }
  return most;
}

static const Step kSteps[] = {{1, 0, 1},        {7, 3, 2},
                              {16, 0, 16},      {33, 5, 1},
                              {5000, 70000, 4}, {4999, 123456, 4999}};

void Shapes::state(const Body &body) {
  for (const Argument &argument : body.arguments) {
    names.push_back(argument.name);
    offsets.push_back(dimensions.size());
    for (unsigned d = 0; d < argument.rank(); ++d) {
      Dimension dimension;
      dimension.parent = dimensions.size();
      auto depends = [&](AffineExpr expression) {
        for (unsigned i = 0; i < body.grid.getNumResults(); ++i)
          if (expression.isFunctionOfDim(i))
            return true;
        return false;
      };
      bool moves = false, holdsRows = true, holdsOutputs = true,
           holdsPositions = true;
      int64_t end = 0;
      llvm::SmallVector<event::AccessAttr, 2> accesses(argument.reads);
      llvm::append_range(accesses, argument.writes);
      for (event::AccessAttr access : accesses)
        dimension.isTiled |= depends(access.getLow().getResult(d)) ||
                             depends(access.getHigh().getResult(d));
      for (const Step &step : kSteps) {
        std::optional<int64_t> high;
        for (event::AccessAttr access : accesses)
          if (auto most = reach(body, access, d, step)) {
            high = std::max(high.value_or(0), most->first);
            dimension.least = std::max(dimension.least, most->second + 1);
          }
        if (!high)
          continue;
        moves |= end && *high != end;
        end = *high;
        holdsRows &= step.rows <= *high;
        holdsOutputs &= step.outputs <= *high;
        holdsPositions &= step.past + step.rows <= *high;
      }
      dimension.most = end;
      if (moves) {
        dimension.kind = holdsPositions ? Kind::positions
                         : holdsRows    ? Kind::rows
                         : holdsOutputs ? Kind::outputs
                                        : Kind::free;
        dimension.least = 1;
      }
      if (dimension.isTiled) {
        Box first = Body::uncut(argument.first,
                                Index(body.grid.getNumResults(), 0), kSteps[2]);
        dimension.tile = first.high[d] - first.low[d];
      }
      dimensions.push_back(dimension);
    }
  }
}

Shapes::Part Shapes::find(unsigned dimension) const {
  Part part = {dimension, 1, 1};
  while (dimensions[part.root].parent != part.root) {
    const Dimension &at = dimensions[part.root];
    part = {at.parent, part.numerator * at.numerator,
            part.denominator * at.denominator};
  }
  int64_t common = std::gcd(part.numerator, part.denominator);
  return {part.root, part.numerator / common, part.denominator / common};
}

void Shapes::tie(unsigned one, unsigned other, int64_t numerator,
                 int64_t denominator) {
  const Dimension &a = dimensions[one], &b = dimensions[other];
  // Sizes of tiles say nothing of the values' extents, unless the tiles are
  // the same.
  if (a.isTiled != b.isTiled || a.tile != b.tile)
    return;
  Part left = find(one), right = find(other);
  if (left.root == right.root)
    return;
  // left.root * left = right.root * right * numerator / denominator; what the
  // step sizes stays a root.
  if (dimensions[left.root].kind != Kind::free) {
    std::swap(left, right);
    std::swap(numerator, denominator);
  }
  Dimension &child = dimensions[left.root];
  if (child.kind != Kind::free)
    return;
  child.parent = right.root;
  child.numerator = right.numerator * numerator * left.denominator;
  child.denominator = right.denominator * denominator * left.numerator;
}

Error Shapes::learnFrom(const Body &other, llvm::ArrayRef<unsigned> like) {
  auto walks = findWalks(other);
  if (!walks)
    return walks.takeError();
  auto place = [&](ArgumentDimension at) {
    return number(like[at.argument], at.dimension);
  };
  for (const Walk &walk : walks->walks)
    tie(place(walk.walked), place(walk.bound), walk.numerator,
        walk.denominator);
  for (const Division &division : walks->divisions) {
    int64_t &divisor = dimensions[place(division.divided)].divisor;
    divisor = std::lcm(divisor, division.divisor);
  }
  return Error::success();
}

Expected<Shapes> Shapes::of(const Body &body) {
  Shapes shapes;
  shapes.state(body);
  llvm::SmallVector<unsigned> all(body.arguments.size());
  std::iota(all.begin(), all.end(), 0);
  if (Error error = shapes.learnFrom(body, all))
    return std::move(error);
  return std::move(shapes);
}

Error Shapes::give(llvm::ArrayRef<GivenSize> sizes) {
  for (const GivenSize &size : sizes)
    if (Error error = give(size))
      return error;
  return Error::success();
}

Error Shapes::give(const GivenSize &given) {
  auto found = llvm::find(names, given.argument);
  std::string which = given.argument + "." + std::to_string(given.dimension);
  if (found == names.end())
    return createStringError("--size=" + which +
                             ": there is no such argument; there is " +
                             llvm::join(names, ", "));
  unsigned argument = found - names.begin();
  size_t end =
      argument + 1 < offsets.size() ? offsets[argument + 1] : dimensions.size();
  if (offsets[argument] + given.dimension >= end)
    return createStringError("--size=" + which + ": @" + given.argument +
                             " has dimensions 0 to " +
                             std::to_string(end - offsets[argument] - 1));
  unsigned place = number(argument, given.dimension);
  Part part = find(place);
  Dimension &root = dimensions[part.root];
  if (root.kind != Kind::free)
    return createStringError("--size=" + which +
                             ": the step says how large it is");
  dimensions[place].given = given.sizes;
  if (!root.givenOfAll.empty())
    return Error::success();
  for (int64_t size : given.sizes)
    root.givenOfAll.push_back(
        std::max<int64_t>(1, size * part.denominator / part.numerator));
  return Error::success();
}

Shape Shapes::draw(unsigned count, Random &random, bool small) const {
  Shape shape;
  // Borders of tiles, of rows and of others.
  int64_t rowTile = 0;
  for (const Dimension &dimension : dimensions)
    if (dimension.kind != Kind::free && dimension.isTiled)
      rowTile = std::max(rowTile, dimension.tile);
  rowTile = std::min<int64_t>(std::max<int64_t>(rowTile, 1), small ? 8 : 128);
  std::vector<int64_t> rows = {2 * rowTile + 3,
                               1,
                               rowTile,
                               rowTile + 1,
                               std::max<int64_t>(1, rowTile - 1),
                               3 * rowTile};
  shape.step.rows =
      count < rows.size() ? rows[count] : 1 + random.below(4 * rowTile);
  const int64_t pasts[] = {0, 5, 0, 1, 63};
  shape.step.past = count < 5 ? pasts[count] : random.below(100);
  shape.step.outputs =
      count % 2 ? 1 + random.below(shape.step.rows) : shape.step.rows;

  std::map<unsigned, int64_t> divisors;
  for (unsigned i = 0; i < dimensions.size(); ++i) {
    Part part = find(i);
    int64_t &divisor = divisors.try_emplace(part.root, 1).first->second;
    divisor = std::lcm(divisor, part.denominator);
    // A part of its class is divided: the class by as much more.
    divisor =
        std::lcm(divisor, dimensions[i].divisor * part.denominator /
                              std::gcd(part.numerator, dimensions[i].divisor));
  }
  std::map<unsigned, int64_t> sizes;
  for (unsigned i = 0; i < dimensions.size(); ++i) {
    const Dimension &root = dimensions[i];
    if (root.parent != i)
      continue;
    int64_t &size = sizes[i];
    switch (root.kind) {
    case Kind::rows:
      size = shape.step.rows;
      continue;
    case Kind::outputs:
      size = shape.step.outputs;
      continue;
    case Kind::positions:
      size = shape.step.past + shape.step.rows;
      continue;
    case Kind::free:
      break;
    }
    if (!root.givenOfAll.empty()) {
      size = root.givenOfAll[count % root.givenOfAll.size()];
      continue;
    }
    std::vector<int64_t> usual = {5, 1, 17, 16, 3, 33, 2, 48};
    if (small)
      usual = {5, 3, 2, 4};
    if (root.tile > 0 && root.tile <= 256 && !small)
      usual.insert(usual.begin(), {root.tile, root.tile + 1, 2 * root.tile + 5,
                                   std::max<int64_t>(1, root.tile - 1)});
    if (root.most <= 256 && !small)
      usual.insert(usual.begin(), root.most);
    // Different ones for different dimensions.
    size = count < usual.size() ? usual[(count + i) % usual.size()]
                                : 1 + random.below(small ? 6 : 70);
    size = std::clamp(size, root.least, std::max(root.least, root.most));
    size = llvm::divideCeil(size, divisors[i]) * divisors[i];
  }
  for (auto [argument, offset] : llvm::enumerate(offsets)) {
    size_t end = argument + 1 < offsets.size() ? offsets[argument + 1]
                                               : dimensions.size();
    Index &extents = shape.extents.emplace_back();
    for (size_t i = offset; i < end; ++i) {
      Part part = find(i);
      const std::vector<int64_t> &given = dimensions[i].given;
      extents.push_back(
          !given.empty()
              ? given[count % given.size()]
              : std::max<int64_t>(1, sizes[part.root] * part.numerator /
                                         part.denominator));
    }
  }
  return shape;
}

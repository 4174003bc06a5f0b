//===- Ranks.cpp - all ranks of a sharded program: parts and structure ----===//

#include "Ranks.h"

#include "passes/sharding/Passes.h"

#include "llvm/ADT/TypeSwitch.h"

#include <limits>
#include <random>

using namespace mlir;
using namespace baton;
using namespace baton::dist;
using namespace baton::model;
using namespace baton::sharding::test;

static int64_t countElements(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

Tensor::Tensor(ArrayRef<int64_t> shape)
    : shape(shape), data(countElements(shape)) {}

double &Tensor::at(int64_t i, int64_t j, int64_t k) {
  int64_t index = i;
  if (shape.size() > 1)
    index = index * shape[1] + j;
  if (shape.size() > 2)
    index = index * shape[2] + k;
  return data[index];
}

Ranks::Ranks(ProgramOp program, int64_t sequences, int64_t length)
    : program(program), mesh(findMesh(program)), sequences(sequences),
      length(length) {
  if (mesh)
    for (int64_t size : mesh.getSizes())
      numRanks *= size;
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

/// The last axis first.
int64_t Ranks::coordinate(unsigned rank, StringAttr axis) {
  for (auto [name, size] :
       llvm::reverse(llvm::zip_equal(mesh.getNames(), mesh.getSizes()))) {
    if (name == axis)
      return rank % size;
    rank /= size;
  }
  llvm_unreachable("a placement has axes of the mesh");
}

Shape Ranks::wholeShape(Value value) {
  Shape shape(cast<StepTensorType>(value.getType()).getShape());
  for (int64_t &size : shape)
    if (isSymbol(size))
      size = sequences * length;
  return shape;
}

Box Ranks::boxOf(PlacementAttr placement, ArrayRef<int64_t> whole,
                 unsigned rank) {
  Box box{Shape(whole.size(), 0), Shape(whole)};
  for (auto [i, dimension] : llvm::enumerate(placement.getDimensions())) {
    if (dimension.isRagged()) {
      int64_t place = 0, first = 0;
      for (StringAttr axis : dimension.getAxes())
        place = place * mesh.getSize(axis) + coordinate(rank, axis);
      for (int64_t before = 0; before < place; ++before)
        first += dimension.getUnits()[before] * dimension.getGranularity();
      int64_t size = dimension.getUnits()[place] * dimension.getGranularity();
      box.offsets[i] = first;
      box.sizes[i] = std::min(size, whole[i] - first);
      continue;
    }
    for (StringAttr axis : dimension.getAxes()) {
      box.sizes[i] /= mesh.getSize(axis);
      box.offsets[i] += coordinate(rank, axis) * box.sizes[i];
    }
  }
  return box;
}

Box Ranks::boxOf(Value value, unsigned rank) {
  return boxOf(dist::placementOf(value), wholeShape(value), rank);
}

/// Calls back with every place in a box, counted from its corner.
template <typename Visit>
static void forEach(ArrayRef<int64_t> sizes, Visit visit) {
  Shape place(sizes.size(), 0);
  for (int64_t n = 0, count = countElements(sizes); n < count; ++n) {
    int64_t rest = n;
    for (size_t i = sizes.size(); i-- > 0;) {
      place[i] = rest % sizes[i];
      rest /= sizes[i];
    }
    visit(n, place);
  }
}

static int64_t indexOf(ArrayRef<int64_t> place, ArrayRef<int64_t> sizes) {
  int64_t index = 0;
  for (auto [at, size] : llvm::zip(place, sizes))
    index = index * size + at;
  return index;
}

Ranks::Parts Ranks::cut(Value value, const Tensor &whole) {
  Parts parts;
  for (unsigned rank = 0; rank < numRanks; ++rank) {
    Box box = boxOf(value, rank);
    Tensor &part = parts.emplace_back(box.sizes);
    forEach(box.sizes, [&](int64_t n, Shape place) {
      for (auto [at, offset] : llvm::zip(place, box.offsets))
        at += offset;
      part.data[n] = whole.data[indexOf(place, whole.shape)];
    });
  }
  return parts;
}

/// Every element of a rank's new part is what the ranks have of it that are in
/// the same place on all axes but those that the old placement shards, or that
/// are summed.
Ranks::Parts Ranks::move(const Parts &parts, ArrayRef<int64_t> whole,
                         PlacementAttr from, PlacementAttr to) {
  SmallVector<StringAttr> open, added;
  for (DimensionAttr dimension : from.getDimensions())
    llvm::append_range(open, dimension.getAxes());
  for (StringAttr axis : from.getPartialAxes())
    if (!llvm::is_contained(to.getPartialAxes(), axis))
      open.push_back(axis);
  for (StringAttr axis : to.getPartialAxes())
    if (!llvm::is_contained(from.getPartialAxes(), axis))
      added.push_back(axis);
  bool isMaximum = from.isPartial() && from.getReduction() == Reduction::max;
  Parts moved;
  for (unsigned rank = 0; rank < numRanks; ++rank) {
    Box box = boxOf(to, whole, rank);
    Tensor &part = moved.emplace_back(box.sizes);
    bool isFirst = llvm::all_of(
        added, [&](StringAttr axis) { return coordinate(rank, axis) == 0; });
    if (!isFirst)
      continue;
    std::vector<bool> seen(part.data.size());
    for (unsigned other = 0; other < numRanks; ++other) {
      bool takesPart = llvm::all_of(
          mesh.getNames().getAsRange<StringAttr>(), [&](StringAttr axis) {
            return llvm::is_contained(open, axis) ||
                   coordinate(rank, axis) == coordinate(other, axis);
          });
      if (!takesPart)
        continue;
      Box source = boxOf(from, whole, other);
      forEach(box.sizes, [&](int64_t n, Shape place) {
        for (unsigned i = 0; i < place.size(); ++i) {
          place[i] += box.offsets[i] - source.offsets[i];
          if (place[i] < 0 || place[i] >= source.sizes[i])
            return;
        }
        double element = parts[other].data[indexOf(place, source.sizes)];
        double &result = part.data[n];
        if (!seen[n])
          result = element;
        else
          result = isMaximum ? std::max(result, element) : result + element;
        seen[n] = true;
      });
    }
  }
  return moved;
}

Tensor Ranks::assemble(Value value) {
  PlacementAttr placement = dist::placementOf(value);
  return move(values[value], wholeShape(value), placement,
              replicated(value.getContext(), placement.getDimensions().size()))
      .front();
}

/// Parts have their sizes, and ranks that nothing tells apart have the same.
void Ranks::check(Value value) {
  if (!mesh || !problem.empty())
    return;
  PlacementAttr placement = dist::placementOf(value);
  SmallVector<StringAttr> different(placement.getPartialAxes());
  for (DimensionAttr dimension : placement.getDimensions())
    llvm::append_range(different, dimension.getAxes());
  auto report = [&](const char *what) {
    llvm::raw_string_ostream stream(problem);
    stream << what << ": " << value;
  };
  std::map<std::vector<int64_t>, const Tensor *> first;
  for (unsigned rank = 0; rank < numRanks; ++rank) {
    const Tensor &part = values[value][rank];
    if (part.shape != boxOf(value, rank).sizes)
      return report("a part of another size");
    std::vector<int64_t> place;
    for (StringAttr axis : different)
      place.push_back(coordinate(rank, axis));
    const Tensor *&same = first[place];
    if (!same)
      same = &part;
    else if (same->data != part.data)
      return report("ranks disagree");
  }
}

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

/// Numbers that depend on the name alone.
static Tensor random(StringRef name, ArrayRef<int64_t> shape) {
  Tensor tensor(shape);
  uint32_t seed = 2166136261u;
  for (char letter : name)
    seed = (seed ^ uint8_t(letter)) * 16777619u;
  std::mt19937 generator(seed);
  for (double &element : tensor.data)
    element = double(generator()) / 4294967296.0 - 0.5;
  return tensor;
}

static std::string nameOf(ParameterOp op, int64_t layer) {
  std::string name = cast<StringAttr>(op.getSources()[0]).getValue().str();
  size_t at = name.find("{layer}");
  if (at != std::string::npos)
    name.replace(at, 7, std::to_string(layer));
  return name;
}

void Ranks::runStack(StackOp stack) {
  for (auto [init, argument] :
       llvm::zip(stack.getInits(), stack.getBody().getArguments()))
    set(argument, values[init]);
  int64_t repeat = stack.getRepeatAttr().getInt();
  for (int64_t i = 0; i < repeat && problem.empty(); ++i) {
    for (Value argument : stack.getBody().getArguments())
      check(argument);
    int64_t iteration = stack.getReverse() ? repeat - 1 - i : i;
    runBlock(stack.getBody().front(),
             layerOffset + stack.getFirstLayer() +
                 iteration * stack.getLayersPerIteration());
    std::vector<Parts> carried;
    for (Value value : stack.getYield().getOperands())
      carried.push_back(values[value]);
    for (auto [argument, parts] :
         llvm::zip(stack.getBody().getArguments(), carried))
      set(argument, parts);
  }
  for (auto [result, argument] :
       llvm::zip(stack.getResults(), stack.getBody().getArguments()))
    set(result, values[argument]);
}

void Ranks::runOp(Operation &op, int64_t layer) {
  if (auto stack = dyn_cast<StackOp>(op))
    return runStack(stack);
  if (auto parameter = dyn_cast<ParameterOp>(op)) {
    std::string name = nameOf(parameter, layer);
    Tensor whole = random(name, wholeShape(op.getResult(0)));
    if (adjust)
      adjust(name, whole);
    set(op.getResult(0), cut(op.getResult(0), whole));
  } else if (auto save = dyn_cast<SaveOp>(op)) {
    saved[{save.getName().str(), layer}] = values[save.getX()];
  } else if (auto read = dyn_cast<SavedOp>(op)) {
    set(op.getResult(0), saved[{read.getName().str(), layer}]);
  } else if (auto gradient = dyn_cast<GradientOp>(op)) {
    auto parameter = gradient.getParameter().getDefiningOp<ParameterOp>();
    Tensor whole = mesh ? assemble(gradient.getGradient())
                        : values[gradient.getGradient()].front();
    Tensor &sum = outcome.try_emplace(nameOf(parameter, layer), whole.shape)
                      .first->second;
    for (auto [total, part] : llvm::zip(sum.data, whole.data))
      total += part;
  } else if (isa<ReturnOp>(op)) {
    outcome["loss"] =
        mesh ? assemble(op.getOperand(0)) : values[op.getOperand(0)].front();
  } else if (auto to = op.getAttrOfType<PlacementAttr>("to")) {
    Value x = op.getOperand(0);
    if (&op == forgotten)
      set(op.getResult(0), values[x]);
    else
      set(op.getResult(0), move(values[x], wholeShape(x),
                                op.getAttrOfType<PlacementAttr>("from"), to));
  } else if (!isa<YieldOp>(op)) {
    SmallVector<Parts> results(op.getNumResults());
    for (unsigned rank = 0; rank < numRanks; ++rank)
      for (auto [parts, tensor] : llvm::zip(results, compute(op, rank)))
        parts.push_back(tensor);
    for (auto [result, parts] : llvm::zip(op.getResults(), results))
      set(result, parts);
  }
  for (Value result : op.getResults())
    check(result);
}

void Ranks::runBlock(Block &block, int64_t layer) {
  for (Operation &op : block)
    if (problem.empty())
      runOp(op, layer);
}

void baton::sharding::test::addSharding(PassManager &passes,
                                        StringRef tactics) {
  SmallVector<StringRef> names;
  tactics.split(names, ',', -1, /*KeepEmpty=*/false);
  auto list = llvm::map_to_vector(names, [](StringRef n) { return n.str(); });
  ShardingPropagationOptions options;
  options.tactics = list;
  passes.addPass(createShardingPropagation(options));
  passes.addPass(createInsertReshards());
  passes.addPass(createVerifySharding());
  passes.addPass(createLowerReshards());
  passes.addPass(createVerifySharding());
}

double
baton::sharding::test::difference(const std::map<std::string, Tensor> &one,
                                  const std::map<std::string, Tensor> &other) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (one.size() != other.size())
    return kInfinity;
  double worst = 0;
  for (auto [a, b] : llvm::zip_equal(one, other)) {
    if (a.first != b.first || a.second.shape != b.second.shape)
      return kInfinity;
    for (auto [x, y] : llvm::zip_equal(a.second.data, b.second.data))
      worst = std::max(worst, std::abs(x - y));
  }
  return worst;
}

std::vector<Tensor> baton::sharding::test::makeArguments(int64_t sequences,
                                                         int64_t length) {
  int64_t rows = sequences * length;
  Tensor tokens({rows}), positions({rows}), targets({rows});
  for (int64_t row = 0; row < rows; ++row) {
    tokens.data[row] = (row * row + 1) % 9;
    positions.data[row] = row % length;
    targets.data[row] = (3 * row + 2) % 9;
  }
  return {tokens, positions, targets, random("weights", {rows})};
}

std::map<std::string, Tensor> Ranks::run() {
  Block &block = program.getBody().front();
  unsigned index = 0;
  for (const Tensor &whole : makeArguments(sequences, length)) {
    Value argument = block.getArgument(index++);
    set(argument, cut(argument, whole));
  }
  runBlock(block, 0);
  return outcome;
}

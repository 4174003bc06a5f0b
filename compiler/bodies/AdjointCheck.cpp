//===- AdjointCheck.cpp - adjoints against differences
//---------------------===//
//
// Of the results of a body a sum with random factors is made. The gradients
// that the adjoint makes of these factors are compared with central
// differences of the sum, all in F64, element by element. Two step sizes, and
// both sides, tell where the results have a kink: nothing is compared there.
//
//===----------------------------------------------------------------------===//

#include "codegen/plan/BodyFunctions.h"
#include "compiler/bodies/Checks.h"
#include "compiler/bodies/Child.h"
#include "compiler/bodies/Compiled.h"
#include "compiler/bodies/Memory.h"
#include "passes/tiling/DoublePrecision.h"

#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstring>
#include <map>

using namespace baton;
using namespace baton::checks;
using llvm::ArrayRef;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;

/// Relative errors above it are faults. Differences have about 1e-8.
static constexpr double kBound = 1e-5;
/// Of the largest gradient, what counts as small: its own relative error is
/// that of rounding.
static constexpr double kSmall = 1e-3;
static constexpr double kStep = 1e-4;
/// Of an operand, in one shape.
static constexpr int64_t kMostElements = 300;

static std::string printed(double number) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.3g", number);
  return text;
}

namespace {

/// Which arguments of a body and its adjoint are what.
struct Roles {
  /// Of the body.
  std::vector<unsigned> operands, results;
  /// For each argument of the adjoint the argument of the body that is shaped
  /// like it; the last ones are gradients of these operands.
  llvm::SmallVector<unsigned> like;
  std::vector<unsigned> gradients;
};

/// A body that can be called, with memory for its arguments.
class Runner {
public:
  Runner(const Body &body, Call &call) : body(body), call(call) {}
  void run(const Step &step, ArrayRef<Memory *> memories) {
    for (const Index &task : body.tasks(step)) {
      std::vector<int64_t> words;
      for (auto [argument, memory] : llvm::zip(body.arguments, memories))
        memory->append(Body::cut(argument.first, task, step, memory->extents),
                       words);
      call(words);
    }
  }

private:
  const Body &body;
  Call &call;
};

/// What comparing found.
struct Comparison {
  std::map<std::string, double> worst;
  std::string fault;
  int64_t compared = 0, kinks = 0;
  bool isFinite = true;
};

class Check {
public:
  Check(const Body &body, Call &call, const Body &adjoint, Call &adjointCall,
        const Roles &roles, Random &random)
      : body(body), adjoint(adjoint), roles(roles), forward(body, call),
        backward(adjoint, adjointCall), random(random) {}

  void run(const Shape &shape, Comparison &comparison);

private:
  /// The sum of the results, each times its factor.
  double sum();
  /// Draws operands such that results are finite; false if none are.
  bool draw();
  void compare(unsigned result, Comparison &comparison);
  double *at(Memory &memory, ArrayRef<int64_t> index) {
    return reinterpret_cast<double *>(memory.element(memory.numberOf(index)));
  }

  const Body &body, &adjoint;
  const Roles &roles;
  Runner forward, backward;
  Random &random;
  const Shape *shape = nullptr;
  /// Of the body's arguments, and of the adjoint's that are no operands.
  std::vector<Memory> values, gradients;
};

} // namespace

/// All indices of a value.
static std::vector<Index> indicesOf(ArrayRef<int64_t> extents) {
  std::vector<Index> all = {Index()};
  for (int64_t extent : extents) {
    std::vector<Index> longer;
    for (const Index &index : all)
      for (int64_t i = 0; i < extent; ++i) {
        longer.push_back(index);
        longer.back().push_back(i);
      }
    all = std::move(longer);
  }
  return all;
}

double Check::sum() {
  for (unsigned result : roles.results)
    std::memset(values[result].data(), 0, values[result].sizeInBytes());
  std::vector<Memory *> memories;
  for (Memory &value : values)
    memories.push_back(&value);
  forward.run(shape->step, memories);
  double sum = 0;
  for (auto [result, factors] : llvm::zip(roles.results, gradients))
    for (const Index &index : indicesOf(values[result].extents))
      sum += *at(values[result], index) * *at(factors, index);
  return sum;
}

bool Check::draw() {
  for (bool positive : {false, true}) {
    for (unsigned operand : roles.operands)
      for (const Index &index : indicesOf(values[operand].extents)) {
        double number = 2 * random.number();
        *at(values[operand], index) =
            positive ? 0.1 + std::abs(number) : number;
      }
    if (std::isfinite(sum()))
      return true;
  }
  return false;
}

void Check::run(const Shape &of, Comparison &comparison) {
  shape = &of;
  values.clear();
  gradients.clear();
  for (auto [argument, extents] : llvm::zip(body.arguments, of.extents))
    values.emplace_back(argument, extents, /*spread=*/false, random);
  size_t operands = roles.operands.size();
  for (size_t i = operands; i < adjoint.arguments.size(); ++i)
    gradients.emplace_back(adjoint.arguments[i], of.extents[roles.like[i]],
                           /*spread=*/false, random);
  for (size_t i = 0; i < roles.results.size(); ++i)
    for (const Index &index : indicesOf(gradients[i].extents))
      *at(gradients[i], index) = random.number();
  if (!draw()) {
    comparison.isFinite = false;
    return;
  }
  std::vector<Memory *> memories;
  for (unsigned operand : roles.operands)
    memories.push_back(&values[operand]);
  for (Memory &gradient : gradients)
    memories.push_back(&gradient);
  backward.run(of.step, memories);
  for (unsigned i = 0; i < roles.gradients.size(); ++i)
    compare(i, comparison);
}

void Check::compare(unsigned result, Comparison &comparison) {
  const unsigned operand = roles.gradients[result];
  Memory &value = values[operand];
  Memory &gradient = gradients[roles.results.size() + result];
  struct Difference {
    Index index;
    double made, expected;
    bool isKink;
    double sides;
  };
  std::vector<Difference> differences;
  std::vector<Index> indices = indicesOf(value.extents);
  double largest = 0;
  for (const Index &index : indices) {
    if (int64_t(indices.size()) > kMostElements &&
        random.below(indices.size()) >= kMostElements)
      continue;
    double *element = at(value, index), old = *element;
    const double step = kStep * std::max(1.0, std::abs(old));
    auto moved = [&](double by) {
      *element = old + by;
      double moved = sum();
      *element = old;
      return moved;
    };
    const double here = sum(), up = moved(step / 2), down = moved(-step / 2),
                 wide = (moved(step) - moved(-step)) / (2 * step),
                 narrow = (up - down) / step;
    const double sides = std::abs((up - here) - (here - down)) / (step / 2);
    bool isKink = !std::isfinite(wide) || !std::isfinite(narrow) ||
                  std::abs(wide - narrow) > kBound * std::abs(narrow);
    differences.push_back({index, *at(gradient, index), narrow, isKink, sides});
    if (!isKink)
      largest = std::max(largest, std::abs(narrow));
  }
  double &worst = comparison.worst.try_emplace(body.arguments[operand].name, 0)
                      .first->second;
  for (const Difference &difference : differences) {
    // Small ones differ by roundings alone.
    bool isSmall = std::abs(difference.expected) <= kSmall * largest;
    if ((difference.isKink && !isSmall) ||
        difference.sides >
            0.01 * std::max(std::abs(difference.expected), largest / 10)) {
      ++comparison.kinks;
      continue;
    }
    ++comparison.compared;
    double scale = std::max({std::abs(difference.expected),
                             std::abs(difference.made), kSmall * largest});
    double error = std::abs(difference.made - difference.expected);
    error = error == 0 ? 0 : error / scale;
    if (!(error <= kBound) && comparison.fault.empty())
      comparison.fault =
          "argument " +
          std::to_string(roles.operands.size() + roles.results.size() +
                         result) +
          ", @" + gradient.argument.name + ": the gradient of @" +
          body.arguments[operand].name + text(difference.index) + " is " +
          printed(difference.made) + ", by differences " +
          printed(difference.expected) + "; " + body.text(*shape);
    worst = error >= worst || std::isnan(error) ? error : worst;
  }
}

//===----------------------------------------------------------------------===//
// Who is whose gradient
//===----------------------------------------------------------------------===//

/// The operands whose gradients an adjoint's results are, by the results'
/// names, or in order where there is one for each candidate.
static Expected<std::vector<unsigned>>
matchResults(const Body &body, ArrayRef<unsigned> candidates,
             ArrayRef<Argument> results, bool inOrder) {
  std::vector<unsigned> byName;
  for (const Argument &result : results)
    for (unsigned operand : candidates)
      if (result.name == "d" + body.arguments[operand].name)
        byName.push_back(operand);
  if (byName.size() == results.size()) {
    if (!llvm::is_sorted(byName))
      return createStringError("makes gradients in another order than its "
                               "body reads the operands");
    return byName;
  }
  if (inOrder && candidates.size() == results.size())
    return std::vector<unsigned>(candidates);
  return createStringError(
      "cannot tell whose gradients it makes: name its results @d and the "
      "operand's name, as @d" +
      body.arguments[candidates.empty() ? 0 : candidates.front()].name +
      ", or say --parameters");
}

static Expected<Roles> rolesOf(const Body &body, const Body &adjoint,
                               bool ofWeights, bool isOnlyOne,
                               const std::vector<std::string> &parameters) {
  Roles roles;
  for (auto [i, argument] : llvm::enumerate(body.arguments)) {
    if (!argument.reads.empty() && !argument.writes.empty())
      return createStringError("cannot be checked: @" + body.name +
                               " reads and writes @" + argument.name);
    (argument.writes.empty() ? roles.operands : roles.results).push_back(i);
  }
  for (unsigned i : roles.operands)
    roles.like.push_back(i);
  for (unsigned i : roles.results)
    roles.like.push_back(i);
  size_t reads = llvm::count_if(adjoint.arguments, [](const Argument &one) {
    return one.writes.empty();
  });
  if (reads != roles.like.size())
    return createStringError(
        "reads " + std::to_string(reads) + " values, expected " +
        std::to_string(roles.like.size()) + ": what @" + body.name +
        " reads, then the gradient of each value that it makes");
  for (const Argument &argument : ArrayRef(adjoint.arguments).take_front(reads))
    if (!argument.writes.empty())
      return createStringError("writes @" + argument.name +
                               " before it has read all; results come last");
  std::vector<unsigned> candidates;
  for (unsigned i : roles.operands)
    if (parameters.empty() ||
        llvm::is_contained(parameters, body.arguments[i].name) == ofWeights)
      candidates.push_back(i);
  auto gradients = matchResults(body, candidates,
                                ArrayRef(adjoint.arguments).drop_front(reads),
                                isOnlyOne || !parameters.empty());
  if (!gradients)
    return gradients.takeError();
  roles.gradients = std::move(*gradients);
  llvm::append_range(roles.like, roles.gradients);
  for (auto [argument, like] : llvm::zip(adjoint.arguments, roles.like))
    if (argument.rank() != body.arguments[like].rank())
      return createStringError("@" + argument.name + " has " +
                               std::to_string(argument.rank()) +
                               " dimensions, expected " +
                               std::to_string(body.arguments[like].rank()) +
                               ", as @" + body.arguments[like].name + " has");
  return roles;
}

/// A body in F64, in a module of its own.
static Expected<mlir::OwningOpRef<mlir::ModuleOp>>
inDouble(mlir::Operation *op) {
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::ModuleOp::create(op->getLoc());
  module->getBody()->push_back(op->clone());
  if (Error error = plan::compileBodies(*module, [&] {
        return tasks::makeDouble(*module->getOps<event::BodyOp>().begin());
      }))
    return std::move(error);
  return module;
}

static std::string textOf(const Comparison &comparison) {
  std::string text;
  for (auto &[operand, error] : comparison.worst)
    text += (text.empty() ? "worst relative errors @" : ", @") + operand + " " +
            printed(error);
  text += "; bound " + printed(kBound);
  if (comparison.kinks)
    text += "; " + std::to_string(comparison.kinks) + " of " +
            std::to_string(comparison.kinks + comparison.compared) +
            " elements left out, next to which the results have a kink";
  return text;
}

Expected<Verdict> checks::checkAdjoint(const Body &body, const Body &adjoint,
                                       bool ofWeights, bool isOnlyOne,
                                       const Options &options) {
  auto at = [&](const std::string &what) {
    return "@" + adjoint.name + ": " + what;
  };
  auto roles = rolesOf(body, adjoint, ofWeights, isOnlyOne, options.parameters);
  if (!roles)
    return Verdict{Verdict::fault, at(llvm::toString(roles.takeError()))};
  auto module = inDouble(body.op);
  if (!module)
    return module.takeError();
  auto adjointModule = inDouble(adjoint.op);
  if (!adjointModule)
    return adjointModule.takeError();
  Body wide(*(*module)->getOps<event::BodyOp>().begin()),
      wideAdjoint(*(*adjointModule)->getOps<event::BodyOp>().begin());
  for (const Body *one : {&wide, &wideAdjoint})
    for (const Argument &argument : one->arguments)
      if (!argument.type.getElementType().isF64())
        return Verdict{Verdict::skipped,
                       "@" + one->name + ": @" + argument.name + " is of " +
                           std::to_string(8 * argument.elementBytes()) +
                           " bits, which differences need more of"};
  auto shapes = Shapes::of(wide);
  if (!shapes)
    return shapes.takeError();
  if (Error error = shapes->learnFrom(wideAdjoint, roles->like))
    return std::move(error);
  if (Error error = shapes->give(options.sizes))
    return std::move(error);
  auto call = compileForCpu(wide, options.libraries),
       adjointCall = compileForCpu(wideAdjoint, options.libraries);
  if (!call || !adjointCall)
    return llvm::joinErrors(call ? Error::success() : call.takeError(),
                            adjointCall ? Error::success()
                                        : adjointCall.takeError());
  auto outcome = runInChild([&](Say say) {
    Random random(options.seed);
    Check check(wide, *call, wideAdjoint, *adjointCall, *roles, random);
    Comparison comparison;
    for (unsigned i = 0; i < std::min(options.shapes, 3u); ++i) {
      Shape shape = shapes->draw(i, random, /*small=*/true);
      say(wide.text(shape));
      check.run(shape, comparison);
    }
    Verdict::Kind kind = !comparison.fault.empty() ? Verdict::fault
                         : comparison.compared     ? Verdict::ok
                                                   : Verdict::skipped;
    std::string said =
        kind == Verdict::fault ? at(comparison.fault) + "; " : "";
    if (kind == Verdict::skipped && !comparison.isFinite)
      said = at("the results are not finite, whatever is read; ");
    return nlohmann::json({{"kind", kind}, {"text", said + textOf(comparison)}})
        .dump();
  });
  if (!outcome)
    return outcome.takeError();
  if (!outcome->crash.empty())
    return Verdict{Verdict::fault,
                   at("in F64, " + outcome->crash + "; " + outcome->where)};
  auto result = nlohmann::json::parse(outcome->result);
  return Verdict{result["kind"].get<Verdict::Kind>(), result["text"]};
}

//===- Communication.cpp - what ranks exchange, in numbers ----------------===//

#include "passes/planning/Communication.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace baton;
using namespace baton::dist;
using namespace baton::model;
using namespace baton::planning;
using namespace baton::sharding;

double Sizes::of(int64_t symbol) const {
  return symbol == kRows ? rows : symbol == kOutputs ? outputs : kv;
}

double planning::bytesOf(StepTensorType type, PlacementAttr placement,
                         MeshOp mesh, const Sizes &sizes) {
  // Quantised numbers are of about a byte; none are ever exchanged.
  Type element = type.getElementType();
  double bytes =
      element.isIntOrFloat() ? element.getIntOrFloatBitWidth() / 8 : 1;
  for (auto [size, dimension] :
       llvm::zip(type.getShape(), placement.getDimensions())) {
    int64_t parts = mesh.countRanks(dimension.getAxes());
    if (dimension.isRagged())
      bytes *= std::min(size, dimension.getGranularity() *
                                  *llvm::max_element(dimension.getUnits()));
    else if (isSymbol(size))
      bytes *= sizes.of(size) / parts;
    else
      bytes *= size / parts;
  }
  return bytes;
}

Communication &Communication::operator+=(const Communication &other) {
  collectives += other.collectives;
  payload += other.payload;
  sent += other.sent;
  return *this;
}

Communication Communication::operator*(double times) const {
  return {collectives * times, payload * times, sent * times};
}

Communication planning::communicationOf(double payload, int64_t ranks,
                                        bool isAllReduce) {
  if (ranks < 2)
    return {};
  double part = double(ranks - 1) / double(ranks);
  return {1, payload, (isAllReduce ? 2 : 1) * part * payload};
}

Communication planning::communicationOf(const ReshardStep &step,
                                        StepTensorType type, MeshOp mesh,
                                        const Sizes &sizes) {
  if (!step.communicates())
    return {};
  return communicationOf(bytesOf(type, step.payload(), mesh, sizes),
                         mesh.countRanks(step.axes),
                         step.kind == ReshardStep::allReduce);
}

double planning::repeatsOf(Block *block) {
  double times = 1;
  for (Operation *op = block->getParentOp(); op; op = op->getParentOp())
    if (auto stack = dyn_cast<StackOp>(op))
      times *= double(stack.getRepeat());
  return times;
}

/// The number that a payload such as "4 * rows/2 * 60" is.
static std::optional<double> evaluate(StringRef text, const Sizes &sizes) {
  double product = 1;
  SmallVector<StringRef> factors;
  text.split(factors, " * ");
  for (StringRef factor : factors) {
    auto [name, parts] = factor.split('/');
    int64_t divisor = 1;
    double number = 0;
    if (!parts.empty() && parts.getAsInteger(10, divisor))
      return std::nullopt;
    if (int64_t whole; !name.getAsInteger(10, whole))
      number = double(whole);
    else if (name == dimensionName(kRows))
      number = sizes.rows;
    else if (name == dimensionName(kOutputs))
      number = sizes.outputs;
    else if (name == dimensionName(kKv))
      number = sizes.kv;
    else
      return std::nullopt;
    product *= number / double(divisor);
  }
  return product;
}

llvm::Expected<Communication> planning::countCommunication(ProgramOp program,
                                                           MeshOp mesh,
                                                           const Sizes &sizes) {
  Communication sum;
  std::string problem;
  program.walk([&](Operation *op) {
    auto payload = op->getAttrOfType<StringAttr>("payload");
    if (!payload || !problem.empty())
      return;
    auto axes = op->getAttrOfType<ArrayAttr>("axes");
    auto bytes = evaluate(payload, sizes);
    if (!axes || !bytes ||
        !isa<AllReduceOp, AllGatherOp, ReduceScatterOp, AllToAllOp>(op)) {
      problem = (op->getName().getStringRef() + " with payload '" +
                 payload.getValue() + "' cannot be counted")
                    .str();
      return;
    }
    int64_t ranks = 1;
    for (auto axis : axes.getAsRange<StringAttr>())
      ranks *= mesh.getSize(axis);
    sum += communicationOf(*bytes, ranks, isa<AllReduceOp>(op)) *
           repeatsOf(op->getBlock());
  });
  if (!problem.empty())
    return llvm::createStringError(problem);
  return sum;
}

//===- Costs.cpp - what tasks compute and move ----------------------------===//

#include "compiler/explain/BodyCosts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <limits>
#include <map>

using namespace baton;
using namespace baton::explain;
using llvm::ArrayRef;
using llvm::SmallVector;

//===----------------------------------------------------------------------===//
// Bodies of the task library
//===----------------------------------------------------------------------===//

size_t CallOperands::size() const {
  event::CallOp op = call;
  return op.getOperands_().size();
}

int64_t CallOperands::integer(unsigned index) const {
  event::CallOp op = call;
  mlir::Attribute operand = op.getOperands_()[index];
  if (auto count = mlir::dyn_cast<event::CountAttr>(operand)) {
    auto values = event::evaluate(count.getMap(), coordinates, symbols);
    return std::max<int64_t>(0, *llvm::min_element(values));
  }
  if (auto integer = mlir::dyn_cast<mlir::IntegerAttr>(operand))
    return integer.getInt();
  return 0;
}

bool CallOperands::isNull(unsigned index) const {
  event::CallOp op = call;
  return mlir::isa<event::NullAttr>(op.getOperands_()[index]);
}

event::WeightAttr CallOperands::weight(unsigned index) const {
  event::CallOp op = call;
  return mlir::dyn_cast<event::WeightAttr>(op.getOperands_()[index]);
}

/// Columns of packed weights, which lie in panels of 16.
static int64_t packedColumns(int64_t columns) {
  return static_cast<int64_t>(llvm::alignTo(columns, 16));
}

double explain::positionsSeen(int64_t rows, int64_t position, int64_t window,
                              int64_t begin, int64_t end) {
  double sum = 0;
  for (int64_t row = 0; row < rows; ++row) {
    int64_t seen = position + row + 1;
    int64_t first = window > 0 ? std::max<int64_t>(0, seen - window) : 0;
    sum += static_cast<double>(
        std::max<int64_t>(0, std::min(seen, end) - std::max(first, begin)));
  }
  return sum;
}

static BodyCost linear(const CallOperands &call) {
  int64_t rows = call.integer(8), k = call.integer(9),
          columns = call.integer(10);
  BodyCost cost;
  cost.flops = 2.0 * rows * k * columns;
  cost.weights.push_back({4, packedColumns(columns) * k});
  if (!call.isNull(5))
    cost.weights.push_back({5, columns});
  return cost;
}

static BodyCost gatedLinear(const CallOperands &call) {
  int64_t rows = call.integer(7), k = call.integer(8),
          columns = call.integer(9);
  BodyCost cost;
  // Two products of as many columns.
  cost.flops = 2.0 * rows * k * 2 * columns;
  cost.weights.push_back({4, 2 * packedColumns(columns) * k});
  for (unsigned bias : {5u, 6u})
    if (!call.isNull(bias))
      cost.weights.push_back({bias, columns});
  return cost;
}

/// Attention of the positions [begin, end).
static BodyCost attentionTo(const CallOperands &call, int64_t begin,
                            int64_t end) {
  int64_t rows = call.integer(8), position = call.integer(9),
          group = call.integer(10), width = call.integer(11),
          valueWidth = call.integer(12), window = call.integer(15);
  BodyCost cost;
  // Scores, and the sum of values that they weigh.
  cost.flops = 2.0 * positionsSeen(rows, position, window, begin, end) * group *
               static_cast<double>(width + valueWidth);
  if (window > 0)
    cost.firstStateRow = std::max<int64_t>(0, position + 1 - window);
  return cost;
}

static BodyCost attention(const CallOperands &call) {
  return attentionTo(call, 0, std::numeric_limits<int64_t>::max());
}

static BodyCost attentionPartial(const CallOperands &call) {
  int64_t begin = call.integer(16);
  return attentionTo(call, begin, begin + call.integer(17));
}

/// A product and a fused multiply-add for each element of a block.
static BodyCost attentionMerge(const CallOperands &call) {
  int64_t rows = call.integer(4), position = call.integer(5),
          width = call.integer(6), window = call.integer(7);
  int64_t blocks = 0;
  for (int64_t seen = position + 1; seen <= position + rows; ++seen)
    blocks += llvm::divideCeil(seen, 64) -
              (window > 0 ? std::max<int64_t>(0, seen - window) / 64 : 0);
  return {3.0 * static_cast<double>(blocks * width), {}};
}

static BodyCost embedding(const CallOperands &call) {
  int64_t rows = call.integer(4), width = call.integer(5);
  return {static_cast<double>(rows * width),
          {{3, rows * width, /*gathered=*/true}}};
}

static BodyCost positionEmbedding(const CallOperands &call) {
  return {0, {{2, call.integer(4) * call.integer(5), /*gathered=*/true}}};
}

/// x * x and its sum, the factor, the weight.
static BodyCost rmsNorm(const CallOperands &call) {
  int64_t rows = call.integer(5), width = call.integer(6);
  return {4.0 * rows * width, {{4, width}}};
}

/// Two sums, the difference, its square, the factor, weight and bias.
static BodyCost layerNorm(const CallOperands &call) {
  int64_t rows = call.integer(6), width = call.integer(7);
  BodyCost cost{7.0 * rows * width, {{4, width}}};
  if (!call.isNull(5))
    cost.weights.push_back({5, width});
  return cost;
}

static BodyCost ropeTable(const CallOperands &call) {
  int64_t half = call.integer(3), rows = call.integer(5);
  // The angle, its cosine and sine, and their scales.
  return {5.0 * rows * half, {{2, half}}};
}

/// Four products and two sums for each pair of elements.
static BodyCost rope(const CallOperands &call) {
  return {6.0 * call.integer(6) * call.integer(7) * call.integer(9), {}};
}

static BodyCost matmul(const CallOperands &call) {
  return {2.0 * call.integer(7) * call.integer(8) * call.integer(9), {}};
}

static BodyCost gate(const CallOperands &call) {
  return {2.0 * call.integer(6) * call.integer(7) * call.integer(8), {}};
}

double explain::mapsCost(int64_t streams, int32_t mixing, int64_t iterations) {
  double cost = 6.0 * (mixing == 0 ? streams : 2 * streams);
  if (mixing >= 2)
    cost += 2.0 * streams * streams;
  if (mixing == 3)
    cost += 4.0 * iterations * streams * streams;
  return cost;
}

int64_t explain::mapsOf(int64_t streams, int32_t mixing) {
  return streams + (mixing >= 1 ? streams : 0) +
         (mixing >= 2 ? streams * streams : 0);
}

/// The squares, and the products with a row of phi each.
static BodyCost hyperProject(const CallOperands &call) {
  int64_t rows = call.integer(5), width = call.integer(6),
          outputs = call.integer(7);
  return {2.0 * rows * width * (outputs + 1), {{4, width * outputs}}};
}

static BodyCost hyperMaps(const CallOperands &call) {
  int64_t rows = call.integer(6), streams = call.integer(7);
  auto mixing = static_cast<int32_t>(call.integer(8));
  return {rows * mapsCost(streams, mixing, call.integer(9)),
          {{4, mixing >= 2 ? 3 : mixing + 1}, {5, mapsOf(streams, mixing)}}};
}

static BodyCost hyperPre(const CallOperands &call) {
  return {2.0 * call.integer(6) * call.integer(7) * call.integer(8), {}};
}

/// What is written, and how streams mix if they do.
static BodyCost hyperPost(const CallOperands &call) {
  int64_t streams = call.integer(9);
  return {2.0 * call.integer(8) * streams * call.integer(10) *
              (call.integer(11) ? streams + 1 : 1),
          {}};
}

/// hyper_project, hyper_maps and hyper_pre, whose operands begin with phi at
/// `phi`; hyper_turn has one more among them.
static BodyCost hyperEntry(const CallOperands &call, unsigned phi,
                           unsigned norm) {
  int64_t rows = call.integer(phi + 3), streams = call.integer(phi + 4),
          width = call.integer(phi + 5) * streams;
  auto mixing = static_cast<int32_t>(call.integer(norm + 1));
  int64_t maps = mapsOf(streams, mixing);
  return {rows * (2.0 * width * (maps + 2) +
                  mapsCost(streams, mixing, call.integer(norm + 2))),
          {{phi, width * maps},
           {phi + 1, mixing >= 2 ? 3 : mixing + 1},
           {phi + 2, maps}}};
}

static BodyCost hyperEnter(const CallOperands &call) {
  return hyperEntry(call, 6, 12);
}

static BodyCost hyperTurn(const CallOperands &call) {
  BodyCost cost = hyperEntry(call, 12, 19);
  int64_t streams = call.integer(16);
  cost.flops += 2.0 * call.integer(15) * streams * call.integer(17) *
                (call.integer(18) ? streams + 1 : 1);
  return cost;
}

/// `operations` for each element of a body whose rows and width stand at
/// `rows` and behind it.
template <int operations, unsigned rows>
static BodyCost elements(const CallOperands &call) {
  return {1.0 * operations * call.integer(rows) * call.integer(rows + 1), {}};
}

std::optional<BodyCost> explain::bodyCost(llvm::StringRef callee,
                                          const CallOperands &operands) {
  static const llvm::StringMap<BodyFormula> table = {
      {"linear", {linear, 12}},
      {"gated_linear", {gatedLinear, 11}},
      {"attention", {attention, 20}},
      {"attention_partial", {attentionPartial, 20}},
      {"attention_merge", {attentionMerge, 11}},
      {"embedding", {embedding, 8}},
      {"embedding_panels", {embedding, 8}},
      {"position_embedding", {positionEmbedding, 6}},
      {"rms_norm", {rmsNorm, 8}},
      {"layer_norm", {layerNorm, 9}},
      {"norm_begin", {elements<3, 7>, 9}},
      {"norm_end", {elements<1, 6>, 10}},
      {"rope_table", {ropeTable, 7}},
      {"rope", {rope, 10}},
      {"matmul", {matmul, 10}},
      {"gate", {gate, 10}},
      {"hyper_project", {hyperProject, 9}},
      {"hyper_maps", {hyperMaps, 11}},
      {"hyper_pre", {hyperPre, 9}},
      {"hyper_post", {hyperPost, 12}},
      {"hyper_enter", {hyperEnter, 16}},
      {"hyper_turn", {hyperTurn, 23}},
      // The comparison with a row's own position.
      {"mask_causal", {elements<1, 4>, 8}},
      // Maximum, difference, exponential, sum, quotient.
      {"softmax", {elements<5, 4>, 6}},
      {"copy", {elements<0, 4>, 6}},
      {"append_keys", {elements<0, 4>, 6}},
      {"append_values", {elements<0, 4>, 6}},
      {"scale", {elements<1, 4>, 7}},
      {"add", {elements<1, 6>, 8}},
      {"mul", {elements<1, 6>, 8}},
      {"tanh", {elements<1, 4>, 6}},
      {"silu", {elements<4, 4>, 6}},
      {"gelu", {elements<5, 4>, 6}},
      {"gelu_tanh", {elements<8, 4>, 6}},
      {"relu", {elements<1, 4>, 6}},
  };
  llvm::StringRef name = callee;
  for (llvm::StringRef type : {"_f32", "_f64", "_bf16", "_f16"})
    if (name.consume_back(type))
      break;
  if (auto cost = lookUpBody(table, name, operands))
    return cost;
  return trainingBodyCost(name, operands);
}

//===----------------------------------------------------------------------===//
// Phases
//===----------------------------------------------------------------------===//

std::vector<SmallVector<int64_t, 3>> explain::tasksOf(event::PhaseOp phase,
                                                      const Step &step) {
  auto symbols = step.symbols();
  SmallVector<int64_t> extents = event::evaluate(phase.getGrid(), {}, symbols);
  std::vector<SmallVector<int64_t, 3>> tasks;
  if (llvm::any_of(extents, [](int64_t extent) { return extent < 1; }))
    return tasks;
  SmallVector<int64_t, 3> coordinates(extents.size());
  while (true) {
    tasks.push_back(coordinates);
    size_t d = extents.size();
    while (d > 0 && ++coordinates[d - 1] == extents[d - 1])
      coordinates[--d] = 0;
    if (d == 0)
      return tasks;
  }
}

static double bytesOf(mlir::Type element) {
  const unsigned bytes = element.getIntOrFloatBitWidth() / 8;
  return bytes;
}

template <typename OpT>
static OpT lookup(mlir::Operation *from, mlir::FlatSymbolRefAttr symbol) {
  return mlir::SymbolTable::lookupNearestSymbolFrom<OpT>(from, symbol);
}

namespace {

/// [low, high) in each dimension of a buffer.
struct Box {
  SmallVector<int64_t, 4> low, high;

  double elements() const {
    double product = 1;
    for (auto [from, to] : llvm::zip(low, high))
      product *= static_cast<double>(std::max<int64_t>(0, to - from));
    return product;
  }
  bool operator<(const Box &other) const {
    return std::tie(low, high) < std::tie(other.low, other.high);
  }
};

/// Sums what a phase's tasks read and write, and what of it is the same.
class PhaseSum {
public:
  PhaseSum(event::PhaseOp phase, const Step &step)
      : phase(phase), symbols(step.symbols()) {}

  PhaseCost run(const std::vector<SmallVector<int64_t, 3>> &tasks);

private:
  Cost task(ArrayRef<int64_t> coordinates);
  void addCalls(ArrayRef<int64_t> coordinates, Cost &cost);
  void addWeight(event::CallOp call, event::WeightAttr weight, int64_t elements,
                 bool gathered, ArrayRef<int64_t> coordinates, Cost &cost);
  void addAccess(unsigned index, event::AccessAttr access,
                 ArrayRef<int64_t> coordinates, Cost &cost);

  event::PhaseOp phase;
  std::array<int64_t, event::kStepSymbols> symbols;
  PhaseCost result;
  int64_t firstStateRow = 0;
  double gatheredBytes = 0;
  /// Of each parameter, the bytes from each offset that is read.
  std::map<std::pair<const void *, int64_t>, double> weights;
  /// Of each access, the smallest box that holds those of all tasks.
  std::vector<std::optional<Box>> hulls;
  /// First coordinates for which invariant calls were counted.
  std::map<int64_t, double> invariant;
};

} // namespace

void PhaseSum::addWeight(event::CallOp call, event::WeightAttr weight,
                         int64_t elements, bool gathered,
                         ArrayRef<int64_t> coordinates, Cost &cost) {
  auto parameter = lookup<event::ParameterOp>(call, weight.getParameter());
  double bytes = elements * bytesOf(parameter.getElement());
  int64_t offset =
      event::evaluate(weight.getOffset(), coordinates, symbols).front();
  cost.weightBytes += bytes;
  if (gathered) {
    gatheredBytes += bytes;
    return;
  }
  auto &largest = weights[{weight.getParameter().getAsOpaquePointer(), offset}];
  largest = std::max(largest, bytes);
}

/// Products with BF16 weights, and in training those of sides that are rounded
/// to 16 bits.
static bool mayUseTensorCores(llvm::StringRef callee) {
  if (callee.contains("linear"))
    return callee.ends_with("_bf16");
  return callee.starts_with("product") &&
         (callee.ends_with("_bf16") || callee.ends_with("_f16"));
}

void PhaseSum::addCalls(ArrayRef<int64_t> coordinates, Cost &cost) {
  for (auto call : phase.getBody().getOps<event::CallOp>()) {
    CallOperands operands(call, coordinates, symbols);
    std::optional<BodyCost> body = bodyCost(call.getCallee(), operands);
    if (!body) {
      cost.flopsKnown = false;
      // What the body reads of a weight is not stated: at most all of it.
      for (mlir::Attribute operand : call.getOperands_())
        if (auto weight = mlir::dyn_cast<event::WeightAttr>(operand)) {
          auto parameter =
              lookup<event::ParameterOp>(call, weight.getParameter());
          if (std::optional<int64_t> all = parameter.countElements())
            addWeight(call, weight, *all, /*gathered=*/false, coordinates,
                      cost);
        }
      continue;
    }
    firstStateRow = std::max(firstStateRow, body->firstStateRow);
    for (const WeightRead &read : body->weights)
      if (event::WeightAttr weight = operands.weight(read.operand))
        addWeight(call, weight, read.elements, read.gathered, coordinates,
                  cost);
    if (call.getInvariant()) {
      result.invariantFlops = std::max(result.invariantFlops, body->flops);
      invariant[coordinates.empty() ? 0 : coordinates[0]] = body->flops;
    } else {
      cost.flops += body->flops;
      if (mayUseTensorCores(call.getCallee()))
        cost.bf16Flops += body->flops;
    }
  }
}

/// A parameter of a program that trains.
static bool isKeptWeight(event::BufferOp buffer) {
  std::optional<mlir::DictionaryAttr> description = buffer.getDescription();
  auto role = description ? description->getAs<mlir::StringAttr>("role")
                          : mlir::StringAttr();
  return role && role.getValue() == "parameter";
}

void PhaseSum::addAccess(unsigned index, event::AccessAttr access,
                         ArrayRef<int64_t> coordinates, Cost &cost) {
  auto buffer = lookup<event::BufferOp>(phase, access.getBuffer());
  bool isState = buffer.getKind() == event::BufferKind::state;
  bool isWeight = isKeptWeight(buffer) && !access.getWrite();
  Box box;
  SmallVector<int64_t> low =
      event::evaluate(access.getLow(), coordinates, symbols);
  SmallVector<int64_t> high =
      event::evaluate(access.getHigh(), coordinates, symbols);
  SmallVector<int64_t> extents =
      event::evaluate(buffer.getExtents(), {}, symbols);
  for (size_t d = 0; d < low.size(); ++d) {
    int64_t least = d == 0 && isState && !access.getWrite() ? firstStateRow : 0;
    box.low.push_back(std::max(least, low[d]));
    box.high.push_back(std::min(extents[d], high[d]));
  }
  if (box.elements() == 0)
    return;
  double bytes = box.elements() * bytesOf(buffer.getElement());
  double &part =
      isWeight ? cost.weightBytes
      : isState
          ? (access.getWrite() ? cost.stateWrittenBytes : cost.stateReadBytes)
          : (access.getWrite() ? cost.writtenBytes : cost.readBytes);
  part += bytes;
  std::optional<Box> &hull = hulls[index];
  if (!hull) {
    hull = box;
    return;
  }
  for (size_t d = 0; d < low.size(); ++d) {
    hull->low[d] = std::min(hull->low[d], box.low[d]);
    hull->high[d] = std::max(hull->high[d], box.high[d]);
  }
}

PhaseCost PhaseSum::run(const std::vector<SmallVector<int64_t, 3>> &tasks) {
  hulls.resize(phase.getAccesses().size());
  double allWeightBytes = 0;
  for (ArrayRef<int64_t> coordinates : tasks) {
    Cost cost;
    firstStateRow = 0;
    addCalls(coordinates, cost);
    for (auto [index, access] : llvm::enumerate(phase.getAccessAttrs()))
      addAccess(index, access, coordinates, cost);
    allWeightBytes += cost.weightBytes;
    result.once.flops += cost.flops;
    result.once.bf16Flops += cost.bf16Flops;
    result.once.flopsKnown &= cost.flopsKnown;
    result.tasks.push_back(cost);
  }
  for (auto [first, flops] : invariant)
    result.once.flops += flops;
  result.once.weightBytes = gatheredBytes;
  for (auto [key, bytes] : weights)
    result.once.weightBytes += bytes;
  // Two accesses to the same elements read them once.
  std::map<std::pair<std::pair<const void *, bool>, Box>, bool> seen;
  for (auto [index, access] : llvm::enumerate(phase.getAccessAttrs())) {
    if (!hulls[index])
      continue;
    auto key = std::pair(
        std::pair(access.getBuffer().getAsOpaquePointer(), access.getWrite()),
        *hulls[index]);
    if (!seen.insert({key, true}).second)
      continue;
    auto buffer = lookup<event::BufferOp>(phase, access.getBuffer());
    double bytes = hulls[index]->elements() * bytesOf(buffer.getElement());
    bool isState = buffer.getKind() == event::BufferKind::state;
    if (isKeptWeight(buffer) && !access.getWrite()) {
      result.once.weightBytes += bytes;
      continue;
    }
    (isState ? (access.getWrite() ? result.once.stateWrittenBytes
                                  : result.once.stateReadBytes)
             : (access.getWrite() ? result.once.writtenBytes
                                  : result.once.readBytes)) += bytes;
  }
  if (result.once.weightBytes > 0)
    result.weightReads = allWeightBytes / result.once.weightBytes;
  return std::move(result);
}

PhaseCost explain::phaseCost(event::PhaseOp phase, const Step &step) {
  return PhaseSum(phase, step).run(tasksOf(phase, step));
}

//===----------------------------------------------------------------------===//
// Linear layers
//===----------------------------------------------------------------------===//

/// The packed weight that a call multiplies by, if there is one.
static event::ParameterOp panelsOf(event::CallOp call) {
  for (mlir::Attribute operand : call.getOperands_()) {
    auto weight = mlir::dyn_cast<event::WeightAttr>(operand);
    if (!weight)
      continue;
    auto parameter = lookup<event::ParameterOp>(call, weight.getParameter());
    auto kind = parameter.getDescription().getAs<mlir::StringAttr>("kind");
    if (kind && kind.getValue() == "panels")
      return parameter;
  }
  return {};
}

LinearCosts &LinearCosts::operator+=(const LinearCosts &other) {
  bytes += other.bytes;
  flops += other.flops;
  flopsPerOutput += other.flopsPerOutput;
  for (auto [window, more] : other.attentionFlops)
    attentionFlops[window] += more;
  dtype = other.dtype;
  return *this;
}

LinearCosts explain::linearCosts(event::ProgramOp program) {
  // One row, which gets logits.
  const Step step{1, 0, 1};
  auto symbols = step.symbols();
  LinearCosts costs;
  for (event::PhaseOp phase : event::phasesOf(program)) {
    double repeat = static_cast<double>(
        mlir::cast<event::SegmentOp>(phase->getParentOp()).getRepeat());
    bool outputsOnly = phase.getGrid().isFunctionOfSymbol(event::kOutputs);
    for (auto call : phase.getBody().getOps<event::CallOp>()) {
      // One row at position 0 sees one, in the first part.
      if (call.getCallee() == "attention" ||
          call.getCallee() == "attention_partial")
        for (ArrayRef<int64_t> task : tasksOf(phase, step)) {
          CallOperands operands(call, task, symbols);
          costs.attentionFlops[operands.integer(15)] +=
              repeat * attention(operands).flops;
        }
      event::ParameterOp panels = panelsOf(call);
      // An embedding reads a few rows of what a linear reads whole.
      if (!panels || call.getCallee().starts_with("embedding"))
        continue;
      if (std::optional<int64_t> elements = panels.countElements())
        costs.bytes += repeat * *elements * bytesOf(panels.getElement());
      if (auto dtype = panels.getDescription().getAs<mlir::StringAttr>("dtype"))
        costs.dtype = dtype.str();
      double flops = 0;
      for (ArrayRef<int64_t> task : tasksOf(phase, step))
        if (std::optional<BodyCost> body =
                bodyCost(call.getCallee(), {call, task, symbols}))
          flops += body->flops;
      costs.flops += repeat * flops;
      if (outputsOnly)
        costs.flopsPerOutput += repeat * flops;
    }
  }
  return costs;
}

//===- Costs.cpp - what tasks compute and move ----------------------------===//

#include "compiler/explain/Costs.h"

#include "codegen/bodies/BodyCosts.h"
#include "dialects/Event/LayerFormats.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ScopedPrinter.h"

#include <map>
#include <set>

using namespace baton;
using namespace baton::explain;
using llvm::ArrayRef;
using llvm::SmallVector;

/// The value of an operand that is a number, for one task; 0 of others.
static int64_t valueAt(mlir::Attribute operand, ArrayRef<int64_t> coordinates,
                       ArrayRef<int64_t> symbols) {
  if (auto count = mlir::dyn_cast<event::CountAttr>(operand)) {
    auto values = event::evaluate(count.getMap(), coordinates, symbols);
    return std::max<int64_t>(0, *llvm::min_element(values));
  }
  auto integer = mlir::dyn_cast<mlir::IntegerAttr>(operand);
  return integer ? integer.getInt() : 0;
}

static std::optional<bodies::BodyCost> costOfTask(event::CallOp call,
                                                  ArrayRef<int64_t> coordinates,
                                                  ArrayRef<int64_t> symbols) {
  return bodies::bodyCost(call, [&](mlir::Attribute operand) {
    return valueAt(operand, coordinates, symbols);
  });
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

std::optional<explain::BatchLimits> explain::batchOf(event::ProgramOp program) {
  auto batch = program->getAttrOfType<mlir::DictionaryAttr>("event.batch");
  if (!batch)
    return std::nullopt;
  auto number = [&](llvm::StringRef name) {
    return batch.getAs<mlir::IntegerAttr>(name).getInt();
  };
  return BatchLimits{number("sequences"), number("longest_sequence")};
}

bool explain::hasRole(event::BufferOp buffer, llvm::StringRef role) {
  std::optional<mlir::DictionaryAttr> description = buffer.getDescription();
  auto own = description ? description->getAs<mlir::StringAttr>("role")
                         : mlir::StringAttr();
  return own && own.getValue() == role;
}

bool explain::isTrained(event::BufferOp buffer) {
  return hasRole(buffer, "parameter");
}

/// A task's coordinates, and the numbers that tables may have for it.
static SmallVector<int64_t> withEntries(event::PhaseOp phase,
                                        ArrayRef<int64_t> task,
                                        ArrayRef<int64_t> symbols) {
  SmallVector<int64_t> coordinates(task);
  llvm::append_range(coordinates, event::typicalEntries(phase, task, symbols));
  return coordinates;
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

/// What an access touches, the same for all tasks. Looked up once: a phase may
/// have many thousand tasks, and a program a hundred buffers.
struct AccessedBuffer {
  event::BufferKind kind;
  bool isTrained;
  double bytesOfElement;
  SmallVector<int64_t> extents;
};

/// Sums what a phase's tasks read and write, and what of it is the same.
class PhaseSum {
public:
  PhaseSum(event::PhaseOp phase, const Step &step)
      : phase(phase), symbols(step.symbols()) {
    for (event::AccessAttr access : phase.getAccessAttrs()) {
      auto buffer = lookup<event::BufferOp>(phase, access.getBuffer());
      buffers.push_back({buffer.getKind(), explain::isTrained(buffer),
                         bytesOf(buffer.getElement()),
                         event::evaluate(buffer.getExtents(), {}, symbols)});
    }
  }

  PhaseCost run(const std::vector<SmallVector<int64_t, 3>> &tasks);

private:
  Cost task(ArrayRef<int64_t> coordinates);
  void addCalls(ArrayRef<int64_t> coordinates, Cost &cost);
  /// Adds what a body of the user's reads of weights, by the memrefs it gets.
  void addStatedWeights(event::CallOp call, ArrayRef<int64_t> coordinates,
                        Cost &cost);
  void addWeight(event::CallOp call, event::WeightAttr weight, int64_t elements,
                 bool gathered, ArrayRef<int64_t> coordinates, Cost &cost);
  void addAccess(unsigned index, event::AccessAttr access,
                 ArrayRef<int64_t> coordinates, Cost &cost);

  event::PhaseOp phase;
  std::array<int64_t, event::kStepSymbols> symbols;
  /// In the order of the phase's accesses.
  std::vector<AccessedBuffer> buffers;
  /// Bytes of an element of each parameter that calls read.
  llvm::DenseMap<mlir::Attribute, double> elementBytes;
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

/// Bytes of a layer, on average, over those by which offsets count.
static double shareOfRoom(event::ParameterOp parameter) {
  const std::optional<int64_t> layer = parameter.countElements(),
                               all = event::countAllElements(parameter);
  return all ? double(*all) / (double(*layer) * double(parameter.getLayers()))
             : 1;
}

void PhaseSum::addWeight(event::CallOp call, event::WeightAttr weight,
                         int64_t elements, bool gathered,
                         ArrayRef<int64_t> coordinates, Cost &cost) {
  auto [known, isNew] = elementBytes.try_emplace(weight.getParameter());
  if (isNew) {
    auto parameter = lookup<event::ParameterOp>(call, weight.getParameter());
    known->second = bytesOf(parameter.getElement()) * shareOfRoom(parameter);
    // A row that is looked up has so many weights, whose elements are bytes.
    if (auto blocks = mlir::dyn_cast_if_present<event::BlocksAttr>(
            parameter.getFormAttr());
        blocks && gathered)
      known->second *=
          1.0 + double(blocks.countOverhead()) / double(blocks.getInputs());
  }
  double bytes = elements * known->second;
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

static bool isProduct(event::CallOp call) {
  std::optional<bodies::BodyFunction> function = bodies::lookUp(call);
  return function && bodies::signatureOf(function->kind).isProduct;
}

/// Products with BF16 and quantised weights, and in training those of sides
/// that are rounded to 16 bits.
static bool mayUseTensorCores(event::CallOp call) {
  return isProduct(call) &&
         (bodies::isTuned(call.getCallee(), "cuda", "matrix") ||
          bodies::isTuned(call.getCallee(), "cuda", "bytes"));
}

void PhaseSum::addStatedWeights(event::CallOp call,
                                ArrayRef<int64_t> coordinates, Cost &cost) {
  auto module = call->getParentOfType<mlir::ModuleOp>();
  auto body = module ? module.lookupSymbol<event::BodyOp>(call.getCallee())
                     : event::BodyOp();
  if (!body)
    return;
  ArrayRef<mlir::Attribute> operands = call.getOperands_().getValue();
  for (mlir::Type type : body.getBody().getArgumentTypes()) {
    const auto rank =
        static_cast<size_t>(mlir::cast<mlir::MemRefType>(type).getRank());
    // Two pointers and an offset, sizes, strides.
    const size_t words = 3 + 2 * rank;
    if (operands.size() < words)
      return;
    if (auto weight = mlir::dyn_cast<event::WeightAttr>(operands.front())) {
      int64_t elements = 1;
      for (mlir::Attribute size : operands.slice(3, rank))
        elements *= valueAt(size, coordinates, symbols);
      addWeight(call, weight, elements, /*gathered=*/false, coordinates, cost);
    }
    operands = operands.drop_front(words);
  }
}

void PhaseSum::addCalls(ArrayRef<int64_t> coordinates, Cost &cost) {
  for (auto call : phase.getBody().getOps<event::CallOp>()) {
    std::optional<bodies::BodyCost> body =
        costOfTask(call, coordinates, symbols);
    if (!body) {
      cost.flopsKnown = false;
      addStatedWeights(call, coordinates, cost);
      continue;
    }
    firstStateRow = std::max(firstStateRow, body->firstStateRow);
    // Where no row goes to an expert, nobody reads its weights.
    if (isProduct(call) && body->flops == 0)
      continue;
    for (const bodies::WeightRead &read : body->weights)
      addWeight(call, read.weight, read.elements, read.isGathered, coordinates,
                cost);
    if (call.getInvariant()) {
      result.invariantFlops = std::max(result.invariantFlops, body->flops);
      invariant[coordinates.empty() ? 0 : coordinates[0]] = body->flops;
    } else {
      cost.flops += body->flops;
      if (mayUseTensorCores(call))
        cost.bf16Flops += body->flops;
    }
  }
}

void PhaseSum::addAccess(unsigned index, event::AccessAttr access,
                         ArrayRef<int64_t> coordinates, Cost &cost) {
  const AccessedBuffer &buffer = buffers[index];
  bool isState = buffer.kind == event::BufferKind::state;
  bool isWeight = buffer.isTrained && !access.getWrite();
  Box box;
  SmallVector<int64_t> low =
      event::evaluate(access.getLow(), coordinates, symbols);
  SmallVector<int64_t> high =
      event::evaluate(access.getHigh(), coordinates, symbols);
  for (size_t d = 0; d < low.size(); ++d) {
    int64_t least = d == 0 && isState && !access.getWrite() ? firstStateRow : 0;
    box.low.push_back(std::max(least, low[d]));
    box.high.push_back(std::min(buffer.extents[d], high[d]));
  }
  if (box.elements() == 0)
    return;
  double bytes = box.elements() * buffer.bytesOfElement;
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
  for (ArrayRef<int64_t> task : tasks) {
    SmallVector<int64_t> coordinates = withEntries(phase, task, symbols);
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
    const AccessedBuffer &buffer = buffers[index];
    double bytes = hulls[index]->elements() * buffer.bytesOfElement;
    bool isState = buffer.kind == event::BufferKind::state;
    if (buffer.isTrained && !access.getWrite()) {
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
    if (event::WeightForm form = parameter.getFormAttr();
        form && form.isPacked())
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
  for (auto [experts, more] : other.expertBytes)
    expertBytes[experts] += more;
  dtypes.insert(other.dtypes.begin(), other.dtypes.end());
  inputs.insert(other.inputs.begin(), other.inputs.end());
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
      mlir::Attribute window;
      if (auto attention = bodies::dynCall<bodies::AttentionCall>(call))
        window = attention.window();
      else if (auto part = bodies::dynCall<bodies::AttentionPartialCall>(call))
        window = part.window();
      else if (auto paged = bodies::dynCall<bodies::PagedAttentionCall>(call))
        window = paged.window();
      else if (auto latent =
                   bodies::dynCall<bodies::PagedLatentAttentionCall>(call))
        window = latent.window();
      if (window)
        for (ArrayRef<int64_t> task : tasksOf(phase, step))
          costs.attentionFlops[valueAt(window, task, symbols)] +=
              repeat * costOfTask(call, task, symbols)->flops;
      event::ParameterOp panels = panelsOf(call);
      // An embedding reads a few rows of what a linear reads whole.
      if (!panels || (bodies::lookUp(call) && !isProduct(call)))
        continue;
      // A row reads the weights of its own experts.
      const bool isGrouped = !phase.getEntries().empty();
      std::optional<int64_t> elements = panels.countElements();
      if (elements && !isGrouped)
        costs.bytes += repeat * *elements * bytesOf(panels.getElement()) *
                       shareOfRoom(panels);
      auto blocks = mlir::dyn_cast<event::BlocksAttr>(panels.getFormAttr());
      costs.dtypes.insert(blocks ? blocks.getFormats().str()
                                 : llvm::to_string(panels.getElement()));
      if (bodies::dynCall<bodies::IntegerLinearCall>(call) ||
          bodies::dynCall<bodies::PartlyIntegerLinearCall>(call) ||
          bodies::dynCall<bodies::IntegerGatedLinearCall>(call))
        costs.inputs.insert("int8");
      if (bodies::dynCall<bodies::RoundedLinearCall>(call) ||
          bodies::dynCall<bodies::RoundedGatedLinearCall>(call))
        costs.inputs.insert("bf16");
      if (bodies::dynCall<bodies::AmxLinearCall>(call) ||
          bodies::dynCall<bodies::AmxGatedLinearCall>(call))
        costs.inputs.insert("bf16-amx");
      double flops = 0, expertBytes = 0;
      std::set<int64_t> experts, own;
      for (ArrayRef<int64_t> task : tasksOf(phase, step)) {
        if (isGrouped)
          experts.insert(task[0]);
        std::optional<bodies::BodyCost> body =
            costOfTask(call, withEntries(phase, task, symbols), symbols);
        if (!body)
          continue;
        flops += body->flops;
        if (!isGrouped || body->flops == 0)
          continue;
        own.insert(task[0]);
        for (const bodies::WeightRead &read : body->weights)
          expertBytes += repeat * read.elements * bytesOf(panels.getElement()) *
                         shareOfRoom(panels);
      }
      if (expertBytes > 0) {
        costs.bytes += expertBytes;
        costs.expertBytes[{own.size(), experts.size()}] += expertBytes;
      }
      costs.flops += repeat * flops;
      if (outputsOnly)
        costs.flopsPerOutput += repeat * flops;
    }
  }
  return costs;
}

static double productFlops(event::ProgramOp program, const Step &step) {
  auto symbols = step.symbols();
  double sum = 0;
  for (event::PhaseOp phase : event::phasesOf(program)) {
    auto repeat = static_cast<double>(
        mlir::cast<event::SegmentOp>(phase->getParentOp()).getRepeat());
    for (auto call : phase.getBody().getOps<event::CallOp>()) {
      if (!isProduct(call))
        continue;
      for (ArrayRef<int64_t> task : tasksOf(phase, step))
        if (std::optional<bodies::BodyCost> body =
                costOfTask(call, withEntries(phase, task, symbols), symbols))
          sum += repeat * body->flops;
    }
  }
  return sum;
}

double explain::productFlopsOfRow(event::ProgramOp program) {
  const auto most =
      std::min<int64_t>(128, static_cast<int64_t>(program.getMaxRows()));
  const int64_t fewer = most / 2;
  return (productFlops(program, {most, 0, 1}) -
          productFlops(program, {fewer, 0, 1})) /
         static_cast<double>(most - fewer);
}

/// The operand that says how many of the last rows one sees; null where a phase
/// has no attention.
static mlir::Attribute windowOf(event::CallOp call) {
  return bodies::lookUp(call) ? bodies::operandNamed(call, "window")
                              : mlir::Attribute();
}

static const char *kindOf(event::PhaseOp phase) {
  if (phase.getGrid().isFunctionOfSymbol(event::kOutputs))
    return "updates";
  auto calls = phase.getBody().getOps<event::CallOp>();
  if (llvm::any_of(calls, windowOf))
    return "attention";
  return llvm::any_of(calls, isProduct) ? "products" : "rest";
}

TrainingCosts explain::trainingCosts(event::ProgramOp program) {
  const auto most =
      std::min<int64_t>(128, static_cast<int64_t>(program.getMaxRows()));
  const int64_t fewer = most / 2;
  const Step one{1, 0, 1};
  TrainingCosts costs;
  for (event::PhaseOp phase : event::phasesOf(program)) {
    auto repeat = static_cast<double>(
        mlir::cast<event::SegmentOp>(phase->getParentOp()).getRepeat());
    const char *name = kindOf(phase);
    TrainingCosts::Kind &kind = costs.kinds[name];
    const Cost large = phaseCost(phase, {most, 0, 1}).once;
    // An update is of tensors, not of rows.
    const bool isUpdate = name == llvm::StringRef("updates");
    const Cost small = isUpdate ? large : phaseCost(phase, {fewer, 0, 1}).once;
    auto add = [&](double atMost, double atFewer, double &step, double &row) {
      const double slope = (atMost - atFewer) / double(most - fewer);
      row += repeat * slope;
      step += repeat * (atMost - slope * double(most));
    };
    add(large.bytes(), small.bytes(), kind.step.bytes, kind.row.bytes);
    if (name != llvm::StringRef("attention")) {
      add(large.flops, small.flops, kind.step.flops, kind.row.flops);
      continue;
    }
    // One row sees one.
    for (auto call : phase.getBody().getOps<event::CallOp>())
      if (mlir::Attribute window = windowOf(call))
        for (ArrayRef<int64_t> task : tasksOf(phase, one))
          if (auto body = costOfTask(call, task, one.symbols()))
            costs.attentionFlops[valueAt(window, task, one.symbols())] +=
                repeat * body->flops;
  }
  return costs;
}

//===- SourceEmitter.cpp - from a proved plan to CUDA C++ -----------------===//

#include "codegen/cuda/SourceEmitter.h"

#include "codegen/cuda/BodyPrinter.h"
#include "codegen/cuda/TunedBodies.h"
#include "codegen/plan/ProgramLayout.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace baton;
using namespace baton::event;

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

static StringRef symbolName(unsigned position) {
  static constexpr StringRef names[kStepSymbols] = {"rows", "past", "outputs"};
  return names[position];
}

/// In C++: dimensions are t0, t1, ..., symbols rows, past and outputs.
static std::string spell(mlir::AffineExpr expression) {
  if (auto constant = mlir::dyn_cast<mlir::AffineConstantExpr>(expression))
    return std::to_string(constant.getValue());
  if (auto dimension = mlir::dyn_cast<mlir::AffineDimExpr>(expression))
    return "t" + std::to_string(dimension.getPosition());
  if (auto symbol = mlir::dyn_cast<mlir::AffineSymbolExpr>(expression))
    return symbolName(symbol.getPosition()).str();
  auto binary = mlir::cast<mlir::AffineBinaryOpExpr>(expression);
  std::string left = spell(binary.getLHS()), right = spell(binary.getRHS());
  switch (binary.getKind()) {
  case mlir::AffineExprKind::Add:
    return "(" + left + " + " + right + ")";
  case mlir::AffineExprKind::Mul:
    return left + " * " + right;
  case mlir::AffineExprKind::FloorDiv:
    return "baton_floor_div(" + left + ", " + right + ")";
  case mlir::AffineExprKind::CeilDiv:
    return "baton_ceil_div(" + left + ", " + right + ")";
  case mlir::AffineExprKind::Mod:
    return "baton_mod(" + left + ", " + right + ")";
  default:
    llvm_unreachable("every binary affine expression is one of the above");
  }
}

static SmallVector<std::string> spell(mlir::AffineMap map) {
  SmallVector<std::string> results;
  for (mlir::AffineExpr expression : map.getResults())
    results.push_back(spell(expression));
  return results;
}

/// A sum of terms of which some are 0 or have the factor 1.
class Sum {
public:
  void add(const std::string &term, int64_t factor = 1) {
    if (term == "0" || factor == 0)
      return;
    bool product = StringRef(term).contains(' ') && term.front() != '(';
    terms.push_back(factor == 1 ? term
                                : (product ? "(" + term + ")" : term) + " * " +
                                      std::to_string(factor));
  }
  void add(int64_t constant) { add(std::to_string(constant)); }
  std::string text() const { return terms.empty() ? "0" : join(terms, " + "); }
  bool isZero() const { return terms.empty(); }

private:
  SmallVector<std::string> terms;
};

static std::string braces(ArrayRef<std::string> items) {
  return "{" + join(items, ", ") + "}";
}
static std::string braces(ArrayRef<int64_t> items) {
  return braces(
      map_to_vector(items, [](int64_t item) { return std::to_string(item); }));
}

static std::string spell(const APFloat &value) {
  if (!value.isFinite())
    return formatv("__uint_as_float({0:x}u)",
                   value.bitcastToAPInt().getZExtValue());
  // Hexadecimal: exact.
  char digits[64];
  value.convertToHexString(digits, 0, false, APFloat::rmNearestTiesToEven);
  return std::string(digits) + "f";
}

/// The C++ type of elements in memory; narrow floating-point numbers are bits.
static StringRef elementType(mlir::Type element) {
  if (element.isF32())
    return "float";
  unsigned width = element.getIntOrFloatBitWidth();
  if (width == 16)
    return "uint16_t";
  return width == 64 ? "int64_t" : "int32_t";
}

static std::string identifier(StringRef name) {
  std::string result;
  for (char c : name)
    result += isAlnum(c) ? c : '_';
  return result;
}

//===----------------------------------------------------------------------===//
// Phases
//===----------------------------------------------------------------------===//

/// Whether the program keeps what it computes from step to step.
static bool trains(ProgramOp program) {
  return any_of(program.getBody().getOps<BufferOp>(), [](BufferOp buffer) {
    return buffer.getKind() == BufferKind::persistent;
  });
}

/// Which copy of layered buffers and parameters the iteration works on.
static std::string layerOf(PhaseOp phase) {
  auto segment = mlir::cast<SegmentOp>(phase->getParentOp());
  if (!segment.getReverse())
    return "iteration";
  return "(" + std::to_string(int64_t(segment.getRepeat()) - 1) +
         " - iteration)";
}

namespace {

class PhaseEmitter {
public:
  PhaseEmitter(PhaseOp phase, uint32_t rank, const plan::ProgramLayout &layout,
               const cuda::PrintedBodies &bodies,
               const cuda::SourceOptions &options, bool onTensorCores,
               const char *operandType, raw_ostream &os)
      : phase(phase), segment(mlir::cast<SegmentOp>(phase->getParentOp())),
        rank(rank), layout(layout), bodies(bodies), os(os) {
    mostRows = mlir::cast<ProgramOp>(segment->getParentOp()).getMaxRows();
    phasesAreCalled = trains(mlir::cast<ProgramOp>(segment->getParentOp()));
    bool hasRing = options.ringStages > 0 && options.firstRows == 1;
    for (auto call : phase.getBody().getOps<CallOp>()) {
      if (hasRing && cuda::canStream(call))
        streaming = call;
      if (auto body = cuda::productBody(call, options))
        matrices.insert({call, *body});
      else if (onTensorCores && mostRows > 1)
        if (auto body = cuda::matrixBody(call, options))
          matrices.insert({call, *body});
      if (auto body = cuda::sequenceAttention(call, operandType, options))
        matrices.insert({call, *body});
    }
  }

  void emit();
  /// The cases of the ring's source (emitRing) for a phase whose weights flow.
  bool isStreaming() const { return bool(streaming); }
  /// Bytes of shared memory for bodies that take it.
  int64_t matrixBytes() const {
    int64_t bytes = 0;
    for (auto &[call, body] : matrices)
      bytes = std::max(bytes, body.sharedBytes);
    return bytes;
  }
  /// Whether such a body reads scratch, which is global memory then.
  bool hasMatrixOfScratch() const {
    return any_of(matrices, [](auto &entry) {
      return any_of(mlir::cast<CallOp>(entry.first).getOperands_(),
                    llvm::IsaPred<ScratchAttr>);
    });
  }
  void emitStreamTiles();
  void emitStreamPanels();

  uint32_t number() const { return rank; }
  std::string function() {
    return "phase_" + std::to_string(rank) + "_" + identifier(phase.getName());
  }

private:
  std::string parameter(mlir::StringAttr symbol, StringRef worker);
  std::string share(StringRef worker);
  void emitExtents(StringRef indent);
  void emitCoordinates(StringRef indent);
  void emitPointers();
  void emitTiles();
  void emitPrefetches();
  void emitWait(WaitAttr wait);
  void emitCalls();

  std::string operand(mlir::Attribute operand);
  std::string address(AddressAttr address);
  std::string weight(WeightAttr weight);
  std::string base(mlir::StringAttr symbol) { return names.lookup(symbol); }

  PhaseOp phase;
  SegmentOp segment;
  uint32_t rank;
  const plan::ProgramLayout &layout;
  /// Rows of a step, at most.
  int64_t mostRows;
  /// Phases of training are many, and their tasks long: one by one they have
  /// enough registers, together they would spill them. They ask the step for
  /// its numbers, which nobody then keeps across their calls.
  bool phasesAreCalled;
  const cuda::PrintedBodies &bodies;
  raw_ostream &os;
  /// The call whose weights flow through the ring when a step has one row.
  CallOp streaming;
  /// Calls whose bodies take shared memory, on tensor cores when a step has
  /// more rows.
  DenseMap<mlir::Operation *, cuda::MatrixBody> matrices;
  /// The local pointers of buffers and parameters.
  DenseMap<mlir::Attribute, std::string> names;
};

} // namespace

void PhaseEmitter::emit() {
  os << "\n// " << phase.getName() << ", tasks ("
     << join(spell(phase.getGrid()), ", ") << ")\n"
     << (phasesAreCalled ? "BATON_CALLED" : "static __device__") << " bool "
     << function() << "(BatonWorkerState &worker, "
     << (isStreaming() ? "Ring &ring, " : "")
     << "const BatonDeviceStep &step,\n"
     << "    "
     << (phasesAreCalled ? "" : "int64_t rows, int64_t past, int64_t outputs, ")
     << "int64_t iteration) {\n";
  if (phasesAreCalled)
    os << "  const int64_t rows = step.rows, past = step.past, outputs = "
          "step.outputs;\n";
  os << "  worker.begin_phase(" << rank << ", iteration);\n";
  emitPointers();
  emitTiles();
  os << "  worker.end_phase();\n"
     << "  return true;\n"
     << "}\n";
}

/// Pointers that all tiles share.
void PhaseEmitter::emitPointers() {
  SmallSetVector<mlir::StringAttr, 8> buffers, parameters;
  for (auto call : phase.getBody().getOps<CallOp>())
    for (mlir::Attribute operand : call.getOperands_()) {
      if (auto address = mlir::dyn_cast<AddressAttr>(operand))
        buffers.insert(address.getBuffer().getAttr());
      else if (auto weight = mlir::dyn_cast<WeightAttr>(operand))
        parameters.insert(weight.getParameter().getAttr());
    }
  for (auto advance : phase.getBody().getOps<AdvanceOp>())
    buffers.insert(advance.getLogitsAttr().getAttr());
  StringSet<> taken;
  auto fresh = [&](const Twine &name) {
    std::string unique = name.str();
    for (int i = 2; !taken.insert(unique).second; ++i)
      unique = (name + "_" + Twine(i)).str();
    return unique;
  };
  for (mlir::StringAttr symbol : buffers) {
    BufferOp op = layout.buffers.find(symbol)->second;
    std::string local = names[symbol] =
        fresh("b_" + identifier(symbol.getValue()));
    StringRef type = elementType(op.getElement());
    if (op.getKind() == BufferKind::input) {
      os << "  const " << type << " *const " << local
         << " = worker.device->tokens;\n";
      continue;
    }
    int64_t index =
        layout.storages.find(op.getStorageAttr().getAttr())->second.index;
    Sum offset;
    offset.add(op.getOffset());
    if (op.getLayers() > 1)
      offset.add(layerOf(phase), op.getLayerStride());
    os << "  " << type << " *const " << local << " = worker.storage<" << type
       << ">(" << index << ")";
    if (!offset.isZero())
      os << " + " << offset.text();
    os << ";\n";
  }
  for (mlir::StringAttr symbol : parameters) {
    std::string local = names[symbol] =
        fresh("w_" + identifier(symbol.getValue()));
    ParameterOp op = layout.parameters.find(symbol)->second.op;
    os << "  const " << elementType(op.getElement()) << " *const " << local
       << " = " << parameter(symbol, "worker.") << ";\n";
  }
}

/// The parameter's first element, in the iteration's layer.
std::string PhaseEmitter::parameter(mlir::StringAttr symbol, StringRef worker) {
  const auto &found = layout.parameters.find(symbol)->second;
  ParameterOp op = found.op;
  Sum index;
  index.add(found.first);
  if (op.getLayers() > 1)
    index.add(layerOf(phase));
  return (worker + "parameter<" + elementType(op.getElement()) + ">(" +
          index.text() + ")")
      .str();
}

/// The worker's tiles; the grid's extents are declared.
std::string PhaseEmitter::share(StringRef worker) {
  std::string columns;
  for (int64_t dimension = 1; dimension < phase.getRank(); ++dimension)
    columns +=
        (columns.empty() ? "extent" : " * extent") + std::to_string(dimension);
  if (phase.getDistribution() == Distribution::cyclic) {
    std::string tiles = phase.getRank() ? "extent0" : "1";
    return (worker + "cyclic(" + tiles +
            (columns.empty() ? "" : " * " + columns) + ")")
        .str();
  }
  auto [rows, size] = phase.getRowTiles();
  return (worker + "blocked(" + spell(rows) + ", " + Twine(size) + ", " +
          (columns.empty() ? "1" : columns) + ")")
      .str();
}

/// Row-major: the last coordinate moves fastest.
void PhaseEmitter::emitCoordinates(StringRef indent) {
  std::string rest = "tile";
  for (int64_t dimension = phase.getRank(); dimension-- > 1;) {
    std::string extent = "extent" + std::to_string(dimension);
    os << indent << "const int64_t t" << dimension << " = " << rest << " % "
       << extent << ";\n";
    rest = (rest == "tile" ? rest : "(" + rest + ")") + " / " + extent;
  }
  if (phase.getRank())
    os << indent << "const int64_t t0 = " << rest << ";\n";
}

void PhaseEmitter::emitExtents(StringRef indent) {
  for (auto [dimension, extent] : enumerate(spell(phase.getGrid())))
    os << indent << "const int64_t extent" << dimension << " = baton_max("
       << extent << ", 0);\n";
}

void PhaseEmitter::emitTiles() {
  emitExtents("  ");
  os << "  const BatonTiles tiles = " << share("worker.") << ";\n";
  bool invariant = any_of(phase.getBody().getOps<CallOp>(),
                          [](CallOp call) { return call.getInvariant(); });
  if (invariant)
    os << "  int64_t previous = -1;\n";
  os << "  for (int64_t tile = tiles.first; tile < tiles.last; tile += "
        "tiles.stride) {\n";
  emitCoordinates("    ");
  os << "    worker.begin_task(tile);\n";
  emitPrefetches();
  for (WaitAttr wait : phase.getWaitAttrs())
    emitWait(wait);
  if (!phase.getWaits().empty())
    os << "    if (!worker.ready())\n"
          "      return false;\n";
  if (invariant)
    os << "    const bool changed = " << (phase.getRank() ? "t0" : "0")
       << " != previous;\n"
          "    previous = "
       << (phase.getRank() ? "t0" : "0") << ";\n";
  emitCalls();
  if (std::optional<NotifyAttr> notify = phase.getNotify()) {
    const auto &tensor =
        layout.events.find(notify->getEvent().getAttr())->second;
    TensorOp op = tensor.op;
    Sum word;
    word.add(tensor.firstWord);
    SmallVector<std::string> index = spell(notify->getIndex());
    int64_t stride = 1;
    SmallVector<std::pair<std::string, int64_t>> terms;
    for (size_t i = index.size(); i-- > 0; stride *= op.getCapacity()[i])
      terms.push_back({index[i], stride});
    for (auto &[term, factor] : reverse(terms))
      word.add(term, factor);
    os << "    worker.notify(" << word.text() << ");\n"
       << "    worker.end_task(/*notified=*/true);\n";
  } else {
    os << "    worker.end_task(/*notified=*/false);\n";
  }
  os << "  }\n";
}

/// Loads that wait for nothing go first: the task's weights start moving to the
/// second-level cache before the wait.
void PhaseEmitter::emitPrefetches() {
  if (phase.getWaits().empty() || !phase.getPrefetchBytes())
    return;
  SmallSetVector<mlir::Attribute, 4> weights;
  for (auto call : phase.getBody().getOps<CallOp>())
    for (mlir::Attribute operand : call.getOperands_())
      if (mlir::isa<WeightAttr>(operand))
        weights.insert(operand);
  for (mlir::Attribute operand : weights) {
    bool isStreamed =
        streaming && operand == streaming.getOperands_()[cuda::kPanels];
    if (isStreamed && mostRows == 1)
      continue;
    os << "    " << (isStreamed ? "if (rows != 1)\n      " : "")
       << "baton_prefetch(" << weight(mlir::cast<WeightAttr>(operand)) << ", "
       << phase.getPrefetchBytes() << ");\n";
  }
}

void PhaseEmitter::emitWait(WaitAttr wait) {
  const auto &tensor = layout.events.find(wait.getEvent().getAttr())->second;
  TensorOp op = tensor.op;
  SegmentOp notifier = tensor.notifier;
  SmallVector<std::string> low, high;
  for (auto [first, last, extent] :
       zip_equal(wait.getLow().getResults(), wait.getHigh().getResults(),
                 op.getShape().getResults())) {
    auto constant = mlir::dyn_cast<mlir::AffineConstantExpr>(first);
    bool natural = mlir::isa<mlir::AffineDimExpr>(first) ||
                   (constant && constant.getValue() >= 0);
    low.push_back(natural ? spell(first)
                          : "baton_max(" + spell(first) + ", 0)");
    high.push_back(last == extent ? spell(last)
                                  : "baton_min(" + spell(last) + ", " +
                                        spell(extent) + ")");
  }
  std::string count = spell(op.getCount().getResult(0)), complete;
  if (notifier == segment)
    complete = wait.getDistance() == 1 ? "iteration" : "(iteration + 1)";
  else
    complete = std::to_string(notifier.getRepeat());
  os << "    worker.wait(BatonBox<" << low.size() << ">{" << tensor.firstWord
     << ", " << braces(low) << ", " << braces(high) << ", "
     << braces(op.getCapacity()) << "}, uint32_t("
     << (count == "1" ? complete : complete + " * " + count) << "));\n";
}

void PhaseEmitter::emitCalls() {
  bool first = true;
  for (mlir::Operation &op : phase.getBody().front()) {
    if (!first)
      os << "    worker.between();\n";
    first = false;
    if (auto advance = mlir::dyn_cast<AdvanceOp>(op)) {
      mlir::StringAttr logits = advance.getLogitsAttr().getAttr();
      BufferOp buffer = layout.buffers.find(logits)->second;
      os << "    worker.advance(step, " << base(logits) << ", "
         << spell(buffer.getExtents().getResult(1)) << ");\n";
      continue;
    }
    auto call = mlir::cast<CallOp>(op);
    SmallVector<std::string> arguments;
    for (mlir::Attribute attribute : call.getOperands_())
      arguments.push_back(operand(attribute));
    std::string list = join(arguments, ", ");
    auto body = bodies.functions.find(call.getCallee());
    std::string task = (body == bodies.functions.end()
                            ? ("baton_task_" + call.getCallee()).str()
                            : body->second) +
                       "(" + list;
    if (auto matrix = matrices.find(call); matrix != matrices.end())
      task = matrix->second.name + "(worker.shared, " + list;
    if (call == streaming) {
      os << (mostRows == 1 ? "    " : "    if (rows == 1)\n      ")
         << "baton_stream_" << call.getCallee() << "(ring, " << list << ");\n";
      if (mostRows == 1)
        continue;
      os << "    else\n      ";
    } else {
      os << (call.getInvariant() ? "    if (changed)\n      " : "    ");
    }
    os << task << ");\n";
  }
}

void PhaseEmitter::emitStreamTiles() {
  os << "    case " << rank << ": {\n";
  emitExtents("      ");
  os << "      tiles = " << share("worker->") << ";\n"
     << "      break;\n"
     << "    }\n";
}

void PhaseEmitter::emitStreamPanels() {
  auto panels = mlir::cast<WeightAttr>(streaming.getOperands_()[cuda::kPanels]);
  mlir::StringAttr symbol = panels.getParameter().getAttr();
  names[symbol] = parameter(symbol, "worker->");
  os << "    case " << rank << ": {\n";
  emitExtents("      ");
  emitCoordinates("      ");
  os << "      panels = {" << weight(panels) << ", baton_ceil_div("
     << operand(cuda::columnsOf(streaming)) << ", 16)"
     << (cuda::sidesOf(streaming) == 2 ? " * 2" : "") << ", "
     << operand(cuda::depthOf(streaming)) << "};\n"
     << "      break;\n"
     << "    }\n";
}

std::string PhaseEmitter::operand(mlir::Attribute operand) {
  if (auto buffer = mlir::dyn_cast<AddressAttr>(operand))
    return address(buffer);
  if (auto parameter = mlir::dyn_cast<WeightAttr>(operand))
    return weight(parameter);
  if (auto count = mlir::dyn_cast<CountAttr>(operand)) {
    std::string least;
    for (const std::string &value : spell(count.getMap()))
      least = least.empty() ? value : "baton_min(" + least + ", " + value + ")";
    return least;
  }
  if (auto stride = mlir::dyn_cast<StrideAttr>(operand)) {
    int64_t elements = 0;
    BufferOp buffer = layout.buffers.find(stride.getBuffer().getAttr())->second;
    for (auto [steps, length] :
         zip_equal(stride.getSteps(), buffer.getStrides()))
      elements += steps * length;
    return std::to_string(elements);
  }
  if (auto scratch = mlir::dyn_cast<ScratchAttr>(operand))
    return "worker.scratch_at<float>(" + std::to_string(scratch.getOffset()) +
           ")";
  if (auto integer = mlir::dyn_cast<mlir::IntegerAttr>(operand))
    return std::to_string(integer.getValue().getSExtValue());
  if (auto real = mlir::dyn_cast<mlir::FloatAttr>(operand))
    return spell(real.getValue());
  return "nullptr";
}

std::string PhaseEmitter::address(AddressAttr address) {
  BufferOp op = layout.buffers.find(address.getBuffer().getAttr())->second;
  Sum position;
  for (auto [value, stride] :
       zip_equal(spell(address.getIndex()), op.getStrides()))
    position.add(value, stride);
  std::string pointer = base(op.getSymNameAttr());
  return position.isZero() ? pointer : pointer + " + " + position.text();
}

std::string PhaseEmitter::weight(WeightAttr weight) {
  std::string pointer = base(weight.getParameter().getAttr());
  Sum offset;
  offset.add(spell(weight.getOffset().getResult(0)));
  return offset.isZero() ? pointer : pointer + " + " + offset.text();
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

/// Every word of `tensor` in use grows by what its notifier gives it in a step.
static void emitCountUp(const plan::ProgramLayout::EventTensor &tensor,
                        raw_ostream &os) {
  if (!tensor.notifier)
    return;
  TensorOp op = tensor.op;
  SegmentOp notifier = tensor.notifier;
  std::string count = spell(op.getCount().getResult(0));
  SmallVector<std::string> low(op.getCapacity().size(), "0");
  os << "    worker.count_up(BatonBox<" << low.size() << ">{"
     << tensor.firstWord << ", " << braces(low) << ", "
     << braces(spell(op.getShape())) << ", " << braces(op.getCapacity())
     << "}, uint32_t(" << count;
  if (notifier.getRepeat() != 1)
    os << " * " << notifier.getRepeat();
  os << "));\n";
}

static void emitCountUps(const plan::ProgramLayout &layout, raw_ostream &os) {
  os << "    // Thresholds are running sums over steps.\n";
  for (const auto &[name, tensor] : layout.events)
    emitCountUp(tensor, os);
}

/// The ring's source: the weights of the worker's tasks of a step, phase by
/// phase, layer by layer, tile by tile.
static void emitRing(ProgramOp program, ArrayRef<PhaseEmitter *> streams,
                     ArrayRef<PhaseOp> phases,
                     const cuda::SourceOptions &options, raw_ostream &os) {
  os << "\n// The weights that this worker's tasks read in a step of one row, "
        "in "
        "order.\n"
        "struct Weights {\n"
        "  const BatonWorkerState *worker;\n"
        "  int64_t rows, past, outputs;\n"
        "  int phase;\n"
        "  int64_t iteration;\n"
        "  BatonTiles tiles;\n\n"
        "  __device__ bool next(BatonPanels &panels) {\n"
        "    while (tiles.first >= tiles.last)\n"
        "      if (!enter())\n"
        "        return false;\n"
        "    const int64_t tile = tiles.first;\n"
        "    tiles.first += tiles.stride;\n"
        "    switch (phase) {\n";
  for (PhaseEmitter *stream : streams)
    stream->emitStreamPanels();
  os << "    }\n"
        "    return true;\n"
        "  }\n\n"
        "  /// The next phase; false behind the last.\n"
        "  __device__ bool enter() {\n"
        "    switch (phase) {\n"
        "    case -1:\n"
     << "      phase = " << streams.front()->number() << ";\n"
     << "      break;\n";
  for (auto [i, stream] : enumerate(streams)) {
    mlir::Operation *segment = phases[i]->getParentOp();
    bool lastOfSegment =
        i + 1 == streams.size() || phases[i + 1]->getParentOp() != segment;
    int64_t repeat = mlir::cast<SegmentOp>(segment).getRepeat();
    os << "    case " << stream->number() << ":\n";
    if (lastOfSegment && repeat > 1) {
      size_t first = i;
      while (first > 0 && phases[first - 1]->getParentOp() == segment)
        --first;
      os << "      if (++iteration < " << repeat << ") {\n"
         << "        phase = " << streams[first]->number() << ";\n"
         << "        break;\n"
         << "      }\n"
         << "      iteration = 0;\n";
    }
    if (i + 1 == streams.size())
      os << "      phase = -2;\n"
         << "      return false;\n";
    else
      os << "      phase = " << streams[i + 1]->number() << ";\n"
         << "      break;\n";
  }
  os << "    default:\n"
        "      return false;\n"
        "    }\n"
        "    switch (phase) {\n";
  for (PhaseEmitter *stream : streams)
    stream->emitStreamTiles();
  os << "    }\n"
        "    return true;\n"
        "  }\n"
        "};\n"
        "using Ring = BatonRing<Weights, "
     << options.ringStages << ", " << options.threads << ">;\n";
}

Expected<cuda::Source> cuda::emitSource(const plan::ProgramLayout &layout,
                                        const SourceOptions &options,
                                        plan::Signatures signatures) {
  ProgramOp program = layout.program;
  if (Error error = plan::checkProgram(program))
    return std::move(error);
  Expected<PrintedBodies> bodies = printBodies(program);
  if (!bodies)
    return bodies.takeError();
  for (PhaseOp phase : phasesOf(program))
    if (Error error = plan::checkPhase(phase, layout, signatures))
      return std::move(error);

  Source source;
  source.kernel = options.kernel;
  source.threads = options.threads;
  source.architecture = options.architecture;
  raw_string_ostream os(source.text);
  std::vector<std::unique_ptr<PhaseEmitter>> emitters;
  SmallVector<PhaseEmitter *> streams;
  SmallVector<PhaseOp> streamPhases;
  bool onTensorCores = hasMatrixLinears(program, options);
  const char *operandType = operandTypeOf(program, options);
  int64_t matrixBytes = 0;
  bool matrixOfScratch = false;
  for (PhaseOp phase : phasesOf(program)) {
    auto &emitter = emitters.emplace_back(std::make_unique<PhaseEmitter>(
        phase, layout.firstPhase + emitters.size(), layout, *bodies, options,
        onTensorCores, operandType, os));
    matrixBytes = std::max(matrixBytes, emitter->matrixBytes());
    matrixOfScratch |= emitter->hasMatrixOfScratch();
    if (emitter->isStreaming()) {
      streams.push_back(emitter.get());
      streamPhases.push_back(phase);
    }
  }
  bool hasRing = !streams.empty();
  int64_t ring = hasRing ? options.ringStages * options.threads * 16 : 0;
  if (ring > options.sharedLimit)
    return createStringError(
        "the target's ring of " + Twine(options.ringStages) + " stages takes " +
        Twine(ring) + " bytes of shared memory, and a block has " +
        Twine(options.sharedLimit));
  int64_t scratch = alignTo(program.getScratchBytes(), 128);
  source.scratchBytes = scratch;
  // Steps take one or the other.
  int64_t tuned = alignTo(std::max(ring, matrixBytes), 128);
  source.scratchIsShared =
      !matrixOfScratch && tuned + scratch <= options.sharedLimit;
  source.sharedBytes = tuned + (source.scratchIsShared ? scratch : 0);

  os << "// The plan @" << program.getSymName()
     << " as one persistent kernel. Workers are blocks; each runs its tiles "
        "of\n"
        "// every phase in order, and events order the rest.\n\n"
        "#include \"codegen/cuda/library/kernel.h\"\n"
        "#include \"codegen/cuda/library/library.h\"\n"
     << (trains(program) ? "#include \"codegen/cuda/library/training.h\"\n"
                         : "")
     << bodies->text;
  if (hasRing)
    emitRing(program, streams, streamPhases, options, os);
  for (auto &emitter : emitters)
    emitter->emit();

  bool phasesAreCalled = trains(program);
  if (phasesAreCalled) {
    os << "\nBATON_CALLED bool end_step(BatonWorkerState &worker, const "
          "BatonDeviceStep &step,\n"
          "    uint32_t number) {\n"
          "    const int64_t rows = step.rows, past = step.past, outputs = "
          "step.outputs;\n";
    emitCountUps(layout, os);
    os << "    return worker.border((number + 1) * worker.count);\n"
          "}\n";
  }
  int64_t mostRows = program.getMaxRows();
  os << "\nextern \"C\" __global__ void __launch_bounds__(" << options.threads
     << ", 1) " << options.kernel
     << "(BatonDevice *device) {\n"
        "  BATON_DYNAMIC_SHARED(shared);\n"
        "  BatonWorkerState worker(device, "
     << layout.words << ", shared, "
     << (source.scratchIsShared ? "shared + " + std::to_string(tuned)
                                : "device->scratch + blockIdx.x * int64_t(" +
                                      std::to_string(scratch) + ")")
     << ");\n";
  if (hasRing)
    os << "  Ring ring(shared, {});\n";
  os << "  for (uint32_t number = 0;; ++number) {\n"
        "    const BatonDeviceStep step = device->steps[number & 1];\n"
        "    if (step.rows < "
     << options.firstRows << " || step.rows > " << mostRows
     << ")\n"
        "      return worker.leave(step);\n"
        "    worker.next = &device->steps[(number + 1) & 1];\n";
  if (!phasesAreCalled)
    os << "    const int64_t rows = " << (mostRows == 1 ? "1" : "step.rows")
       << ", past = step.past, outputs = step.outputs;\n";
  if (hasRing)
    os << (mostRows == 1 ? "    " : "    if (rows == 1)\n      ")
       << "ring.begin({&worker, rows, past, outputs, -1, 0, {0, 0, 1}});\n";
  size_t next = 0;
  for (auto segment : program.getBody().getOps<SegmentOp>()) {
    bool loop = segment.getRepeat() > 1;
    os << "    // " << segment.getName() << "\n";
    if (loop)
      os << "#pragma unroll 1\n"
            "    for (int64_t iteration = 0; iteration < "
         << segment.getRepeat() << "; ++iteration)";
    else
      os << "    if (const int64_t iteration = 0; true)";
    os << " {\n";
    for ([[maybe_unused]] auto phase : segment.getBody().getOps<PhaseOp>()) {
      PhaseEmitter &emitter = *emitters[next++];
      os << "      if (!" << emitter.function() << "(worker, "
         << (emitter.isStreaming() ? "ring, " : "") << "step, "
         << (phasesAreCalled ? "" : "rows, past, outputs, ")
         << "iteration))\n"
            "        return;\n";
    }
    os << "    }\n";
  }
  if (phasesAreCalled) {
    os << "    if (!end_step(worker, step, number))\n"
          "      return;\n";
  } else {
    emitCountUps(layout, os);
    os << "    if (!worker.border((number + 1) * worker.count))\n"
          "      return;\n";
  }
  os << "  }\n"
        "}\n";
  return source;
}

//===- SourceEmitter.cpp - from a proved plan to CUDA C++ -----------------===//

#include "codegen/cuda/SourceEmitter.h"

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

namespace {

class PhaseEmitter {
public:
  PhaseEmitter(PhaseOp phase, uint32_t rank, const plan::ProgramLayout &layout,
               raw_ostream &os)
      : phase(phase), segment(mlir::cast<SegmentOp>(phase->getParentOp())),
        rank(rank), layout(layout), os(os) {}

  void emit();

  static std::string name(PhaseOp phase, uint32_t rank) {
    return "phase_" + std::to_string(rank) + "_" + identifier(phase.getName());
  }

private:
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
  raw_ostream &os;
  /// The local pointers of buffers and parameters.
  DenseMap<mlir::Attribute, std::string> names;
};

} // namespace

void PhaseEmitter::emit() {
  os << "\n// " << phase.getName() << ", tasks ("
     << join(spell(phase.getGrid()), ", ") << ")\n"
     << "static __device__ bool " << name(phase, rank)
     << "(BatonWorkerState &worker, const BatonDeviceStep &step,\n"
     << "    int64_t rows, int64_t past, int64_t outputs, int64_t iteration) "
        "{\n"
     << "  worker.begin_phase(" << rank << ", iteration);\n";
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
      offset.add("iteration", op.getLayerStride());
    os << "  " << type << " *const " << local << " = worker.storage<" << type
       << ">(" << index << ")";
    if (!offset.isZero())
      os << " + " << offset.text();
    os << ";\n";
  }
  for (mlir::StringAttr symbol : parameters) {
    const auto &[op, first] = layout.parameters.find(symbol)->second;
    ParameterOp parameter = op;
    std::string local = names[symbol] =
        fresh("w_" + identifier(symbol.getValue()));
    StringRef type = elementType(parameter.getElement());
    Sum index;
    index.add(first);
    if (parameter.getLayers() > 1)
      index.add("iteration");
    os << "  const " << type << " *const " << local << " = worker.parameter<"
       << type << ">(" << index.text() << ");\n";
  }
}

void PhaseEmitter::emitTiles() {
  SmallVector<std::string> extents = spell(phase.getGrid());
  std::string columns = "1", tiles = "1";
  for (auto [dimension, extent] : enumerate(extents)) {
    std::string name = "extent" + std::to_string(dimension);
    os << "  const int64_t " << name << " = baton_max(" << extent << ", 0);\n";
    if (dimension > 0)
      columns = columns == "1" ? name : columns + " * " + name;
    tiles = dimension == 0 ? name : "extent0 * " + columns;
  }
  os << "  const BatonTiles tiles = worker.";
  if (phase.getDistribution() == Distribution::blocked) {
    auto [rows, size] = phase.getRowTiles();
    os << "blocked(" << spell(rows) << ", " << size << ", " << columns << ")";
  } else {
    os << "cyclic(" << tiles << ")";
  }
  os << ";\n";
  bool invariant = any_of(phase.getBody().getOps<CallOp>(),
                          [](CallOp call) { return call.getInvariant(); });
  if (invariant)
    os << "  int64_t previous = -1;\n";
  os << "  for (int64_t tile = tiles.first; tile < tiles.last; tile += "
        "tiles.stride) {\n";
  // Row-major: the last coordinate moves fastest.
  std::string rest = "tile";
  for (size_t dimension = extents.size(); dimension-- > 1;) {
    std::string extent = "extent" + std::to_string(dimension);
    os << "    const int64_t t" << dimension << " = " << rest << " % " << extent
       << ";\n";
    rest = (rest == "tile" ? rest : "(" + rest + ")") + " / " + extent;
  }
  if (!extents.empty())
    os << "    const int64_t t0 = " << rest << ";\n";
  os << "    worker.begin_task(tile);\n";
  emitPrefetches();
  for (WaitAttr wait : phase.getWaitAttrs())
    emitWait(wait);
  if (!phase.getWaits().empty())
    os << "    if (!worker.ready())\n"
          "      return false;\n";
  if (invariant)
    os << "    const bool changed = t0 != previous;\n"
          "    previous = t0;\n";
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
  for (mlir::Attribute operand : weights)
    os << "    baton_prefetch(" << weight(mlir::cast<WeightAttr>(operand))
       << ", " << phase.getPrefetchBytes() << ");\n";
}

void PhaseEmitter::emitWait(WaitAttr wait) {
  const auto &tensor = layout.events.find(wait.getEvent().getAttr())->second;
  TensorOp op = tensor.op;
  SegmentOp notifier = tensor.notifier;
  SmallVector<std::string> low, high;
  for (auto [first, last, extent] :
       zip_equal(wait.getLow().getResults(), wait.getHigh().getResults(),
                 op.getShape().getResults())) {
    bool natural = mlir::isa<mlir::AffineDimExpr>(first) ||
                   mlir::isa<mlir::AffineConstantExpr>(first);
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
    os << (call.getInvariant() ? "    if (changed)\n      " : "    ")
       << "baton_task_" << call.getCallee() << "(" << join(arguments, ", ")
       << ");\n";
  }
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

Expected<cuda::Source> cuda::emitSource(ProgramOp program, int64_t threads,
                                        int64_t sharedLimit,
                                        plan::Signatures signatures) {
  if (Error error = plan::checkProgram(program))
    return std::move(error);
  if (auto module = program->getParentOfType<mlir::ModuleOp>())
    for (auto body : module.getOps<BodyOp>())
      return createStringError("body @" + body.getSymName() +
                               ": bodies beside a program are compiled for the "
                               "CPU only so far; use --target=cpu");
  plan::ProgramLayout layout(program);
  for (PhaseOp phase : phasesOf(program))
    if (Error error = plan::checkPhase(phase, layout, signatures))
      return std::move(error);

  int64_t scratch = alignTo(program.getScratchBytes(), 128);
  Source source;
  source.threads = threads;
  source.sharedBytes = scratch <= sharedLimit ? scratch : 0;
  raw_string_ostream os(source.text);
  os << "// The plan @" << program.getSymName()
     << " as one persistent kernel. Workers are blocks; each runs its tiles "
        "of\n"
        "// every phase in order, and events order the rest.\n\n"
        "#include \"codegen/cuda/library/kernel.h\"\n"
        "#include \"codegen/cuda/library/library.h\"\n";
  uint32_t rank = 0;
  for (PhaseOp phase : phasesOf(program))
    PhaseEmitter(phase, rank++, layout, os).emit();

  os << "\nextern \"C\" __global__ void __launch_bounds__(" << threads
     << ") baton_kernel(BatonDevice *device) {\n"
        "  BATON_DYNAMIC_SHARED(shared);\n"
        "  BatonWorkerState worker(device, "
     << layout.words << ", " << scratch
     << ", shared);\n"
        "  for (uint32_t number = 0;; ++number) {\n"
        "    const BatonDeviceStep step = device->steps[number & 1];\n"
        "    if (step.rows == 0)\n"
        "      return;\n"
        "    worker.next = &device->steps[(number + 1) & 1];\n"
        "    const int64_t rows = step.rows, past = step.past, outputs = "
        "step.outputs;\n";
  rank = 0;
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
    for (auto phase : segment.getBody().getOps<PhaseOp>())
      os << "      if (!" << PhaseEmitter::name(phase, rank++)
         << "(worker, step, rows, past, outputs, iteration))\n"
            "        return;\n";
    os << "    }\n";
  }
  os << "    // Thresholds are running sums over steps.\n";
  for (const auto &[name, tensor] : layout.events)
    emitCountUp(tensor, os);
  os << "    if (!worker.border((number + 1) * worker.count))\n"
        "      return;\n"
        "  }\n"
        "}\n";
  return source;
}

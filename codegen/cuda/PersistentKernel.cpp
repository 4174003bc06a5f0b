//===- PersistentKernel.cpp - all phases in one kernel --------------------===//

#include "codegen/cuda/KernelForms.h"
#include "codegen/cuda/OverlappedExchanges.h"
#include "codegen/cuda/Spelling.h"

#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace baton;
using namespace baton::event;
using namespace baton::cuda;

/// Phases of training are many, and their tasks long: one by one they have
/// enough registers, together they would spill them. They ask the step for its
/// numbers, which nobody then keeps across their calls.
static void emitPhase(PhaseEmitter &phase, bool isCalled,
                      const KernelBodies &kernelBodies, raw_ostream &os) {
  bool handsOver = phase.handsOver();
  os << "\n"
     << phase.title() << (isCalled ? "BATON_CALLED " : "static __device__ ")
     << "bool " << phase.function() << "(BatonWorkerState &worker, "
     << (phase.isStreaming() ? "Ring &ring, " : "")
     << "const BatonDeviceStep &step,\n"
     << "    "
     << (isCalled ? "" : "int64_t rows, int64_t past, int64_t outputs, ")
     << "int64_t iteration"
     << (handsOver ? ", BatonPlace &place, Calls &calls" : "") << ") {\n";
  if (isCalled)
    os << "  const int64_t rows = step.rows, past = step.past, outputs = "
          "step.outputs;\n";
  os << "  worker.begin_phase(" << phase.number() << ", iteration);\n";
  phase.emitPointers();
  phase.emitProductChoice();
  phase.emitShare();
  if (handsOver)
    phase.emitTilesFromPlace(/*withEvents=*/true, kernelBodies);
  else
    phase.emitTiles(/*withEvents=*/true);
  os << "  worker.end_phase();\n"
     << "  return true;\n"
     << "}\n";
}

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

static void emitCountUps(const KernelParts &parts) {
  parts.os << "    // Thresholds are running sums over steps.\n";
  for (const auto &[name, tensor] : parts.layout.events)
    emitCountUp(tensor, parts.os);
  for (auto &phase : parts.phases)
    phase->emitTicketCount(parts.os);
}

/// A step ends behind what streams beside the kernel do.
static void emitExchangeWaits(const KernelParts &parts) {
  for (auto &phase : parts.phases) {
    if (!phase->isOverlapped())
      continue;
    SegmentOp segment = phase->parent();
    std::optional<NotifyAttr> notify = phase->op().getNotify();
    TensorOp tensor =
        parts.layout.events.find(notify->getEvent().getAttr())->second.op;
    parts.os << "    baton_wait_for_exchange(worker, "
             << exchangeWord(phase->op(), parts.layout) << ", uint32_t("
             << spell(tensor.getCount().getResult(0));
    if (segment.getRepeat() != 1)
      parts.os << " * " << segment.getRepeat();
    parts.os << "));\n";
  }
}

/// How the ring's source goes on to the next phase of those that stream.
static void emitEnter(ArrayRef<PhaseEmitter *> streams, raw_ostream &os) {
  os << "  /// The next phase; false behind the last.\n"
        "  __device__ bool enter() {\n"
        "    switch (phase) {\n"
        "    case -1:\n"
     << "      phase = " << streams.front()->number() << ";\n"
     << "      break;\n";
  for (auto [i, stream] : enumerate(streams)) {
    SegmentOp segment = stream->parent();
    bool lastOfSegment =
        i + 1 == streams.size() || streams[i + 1]->parent() != segment;
    int64_t repeat = segment.getRepeat();
    os << "    case " << stream->number() << ":\n";
    // Another table's, or another layer's, is not known yet.
    const bool isLastOfTable =
        stream->streamsSegments() &&
        (lastOfSegment || !streams[i + 1]->streamsSegments() ||
         streams[i + 1]->segmentTable() != stream->segmentTable());
    if (isLastOfTable)
      os << "      admitted = -1;\n";
    if (lastOfSegment && repeat > 1) {
      size_t first = i;
      while (first > 0 && streams[first - 1]->parent() == segment)
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
  for (PhaseEmitter *stream : streams) {
    os << "    case " << stream->number() << ": {\n";
    stream->emitStreamTiles("      ");
    os << "      break;\n"
          "    }\n";
  }
  os << "    }\n"
        "    return true;\n"
        "  }\n";
}

/// The ring's source: the weights of the worker's tasks of a step, phase by
/// phase, layer by layer, tile by tile.
static void emitRing(const KernelParts &parts) {
  raw_ostream &os = parts.os;
  SmallVector<PhaseEmitter *> streams;
  for (auto &phase : parts.phases)
    if (phase->isStreaming())
      streams.push_back(phase.get());
  const bool hasSegments = any_of(
      streams, [](PhaseEmitter *stream) { return stream->streamsSegments(); });
  const StringRef panels = streams.front()->panelsType();
  os << "\n// The weights that this worker's tasks read in a step of one row, "
        "in "
        "order.\n"
        "struct Weights {\n"
        "  BatonWorker worker;\n"
        "  int64_t rows, past, outputs;\n"
        "  int phase;\n"
        "  int64_t iteration;\n"
        "  BatonTiles tiles;\n"
     << (hasSegments
             ? "  /// The table that may be read, and rows of the tile that "
               "have had their\n"
               "  /// panels.\n"
               "  int32_t admitted = -1;\n"
               "  int64_t row = 0;\n"
               "  /// What the worker's tasks have let in last, behind which "
               "this may be by now.\n"
               "  int32_t last_table = -1;\n"
               "  int64_t last_iteration = 0;\n\n"
               "  /// Whether that is new.\n"
               "  __device__ bool admit(int32_t table, int64_t now) {\n"
               "    if (table == last_table && now == last_iteration)\n"
               "      return false;\n"
               "    admitted = last_table = table;\n"
               "    last_iteration = now;\n"
               "    return true;\n"
               "  }\n\n"
             : "\n")
     << "  __device__ bool next(" << panels
     << " &next) {\n"
        "    next = behind();\n"
        "    return next.count > 0;\n"
        "  }\n\n"
        "  /// None at the end. Called: it is long, and asked once a task in\n"
        "  /// several places.\n"
        "  __device__ __noinline__ "
     << panels << " behind() {\n"
     << "    " << panels << " panels = {};\n"
     << (hasSegments ? "    // Of experts without rows there are none.\n"
                       "    do {\n"
                     : "");
  const std::string indent(hasSegments ? 6 : 4, ' '), deeper = indent + "  ";
  os << indent << "while (tiles.first >= tiles.last)\n"
     << indent << "  if (!enter())\n"
     << indent << "    return panels;\n"
     << indent << "const int64_t tile = tiles.first;\n"
     << indent
     << (hasSegments ? "bool again = false;\n"
                     : "tiles.first += tiles.stride;\n")
     << indent << "switch (phase) {\n";
  for (PhaseEmitter *stream : streams) {
    os << indent << "case " << stream->number() << ": {\n";
    if (stream->streamsSegments())
      os << deeper << "if (admitted != " << stream->segmentTable() << ")\n"
         << deeper << "  return panels;\n";
    stream->emitStreamPanels(deeper);
    os << deeper << "break;\n" << indent << "}\n";
  }
  os << indent << "}\n";
  if (hasSegments)
    os << "      if (!again) {\n"
          "        row = 0;\n"
          "        tiles.first += tiles.stride;\n"
          "      }\n"
          "    } while (panels.count == 0);\n";
  os << "    return panels;\n"
        "  }\n\n";
  emitEnter(streams, os);
  os << "};\n"
        "using Ring = "
     << streams.front()->ringType("Weights") << ";\n";
}

/// Phases with all their iterations: where cuBLASLt computes some products, or
/// ranks exchange tensors, a launch is of a part of a step, from one place to
/// another one.
int64_t cuda::placesOf(SegmentOp segment) {
  auto phases = segment.getBody().getOps<PhaseOp>();
  return std::distance(phases.begin(), phases.end()) * segment.getRepeat();
}

static int64_t placesOfAll(ProgramOp program) {
  int64_t places = 0;
  for (auto segment : program.getBody().getOps<SegmentOp>())
    places += cuda::placesOf(segment);
  return places;
}

/// Says for each segment which of its places are the part's.
static void emitPartsOfSegments(StringRef indent, ProgramOp program,
                                raw_ostream &os) {
  int64_t place = 0;
  for (auto [number, segment] :
       enumerate(program.getBody().getOps<SegmentOp>())) {
    int64_t places = cuda::placesOf(segment);
    os << indent << "const baton::cuda::PartOfSegment part_" << number
       << " = {part, " << place << ", " << places / segment.getRepeat() << ", "
       << segment.getRepeat() << "};\n";
    place += places;
  }
}

/// The phases of a step, in order, around the layers' loop.
static void emitPhaseCalls(const KernelParts &parts, bool phasesAreCalled,
                           bool hasParts) {
  raw_ostream &os = parts.os;
  size_t next = 0;
  if (hasParts)
    emitPartsOfSegments("    ", parts.program(), os);
  for (auto [number, segment] :
       enumerate(parts.program().getBody().getOps<SegmentOp>())) {
    std::string part = "part_" + std::to_string(number);
    os << "    // " << segment.getName() << "\n";
    if (hasParts)
      os << "#pragma unroll 1\n"
            "    for (int64_t iteration = "
         << part << ".begin(); iteration < " << part << ".end(); ++iteration)";
    else if (segment.getRepeat() > 1)
      os << "#pragma unroll 1\n"
            "    for (int64_t iteration = 0; iteration < "
         << segment.getRepeat() << "; ++iteration)";
    else
      os << "    if (const int64_t iteration = 0; true)";
    os << " {\n";
    for (size_t first = next;
         [[maybe_unused]] auto phase : segment.getBody().getOps<PhaseOp>()) {
      PhaseEmitter &emitter = *parts.phases[next];
      os << "      if (";
      if (hasParts)
        os << part << ".has(iteration, " << next - first << ") && ";
      os << "!" << emitter.function() << "(worker, "
         << (emitter.isStreaming() ? "ring, " : "") << "step, "
         << (phasesAreCalled ? "" : "rows, past, outputs, ")
         << "iteration))\n"
            "        return;\n";
      ++next;
    }
    os << "    }\n";
  }
}

/// The same as a function that begins where `place` says, and returns when a
/// body of the kernel is next. Where phases are functions it is the kernel's
/// code, which asks for nothing that would have to be kept across their calls.
static void emitPhasesFromPlace(const KernelParts &parts, bool phasesAreCalled,
                                bool hasRing, bool hasParts) {
  raw_ostream &os = parts.os;
  os << "\n// All phases of a step, from `place` on. Bodies on tensor cores "
        "are "
        "the kernel's.\n"
     << (phasesAreCalled ? "BATON_DEVICE" : "BATON_CALLED")
     << " void run_phases(BatonWorkerState &worker, "
     << (hasRing ? "Ring &ring, " : "")
     << "const BatonDeviceStep &step,\n"
        "    "
     << (hasParts ? "BatonPart part, " : "")
     << "BatonPlace &place, Calls &calls) {\n"
        "  place.body = BatonPlace::failed;\n";
  if (!phasesAreCalled)
    os << "  const int64_t rows = step.rows, past = step.past, outputs = "
          "step.outputs;\n";
  if (hasParts)
    emitPartsOfSegments("  ", parts.program(), os);
  os << "  for (;;)\n"
        "    switch (place.phase) {\n";
  size_t next = 0;
  for (auto [number, segment] :
       enumerate(parts.program().getBody().getOps<SegmentOp>())) {
    size_t first = next;
    os << "    // " << segment.getName() << "\n";
    for ([[maybe_unused]] auto phase : segment.getBody().getOps<PhaseOp>()) {
      PhaseEmitter &emitter = *parts.phases[next];
      if (next == first || emitter.handsOver())
        os << (next ? "      [[fallthrough]];\n" : "") << "    case "
           << emitter.number() << ":\n";
      os << "      if (";
      if (hasParts)
        os << "part_" << number << ".has(place.iteration, " << next - first
           << ") && ";
      os << "!" << emitter.function() << "(worker, "
         << (emitter.isStreaming() ? "ring, " : "") << "step, "
         << (phasesAreCalled ? "" : "rows, past, outputs, ")
         << "place.iteration" << (emitter.handsOver() ? ", place, calls" : "")
         << "))\n"
            "        return;\n";
      ++next;
    }
    if (segment.getRepeat() > 1)
      os << "      if (++place.iteration < " << segment.getRepeat() << ") {\n"
         << "        place.phase = " << parts.phases[first]->number() << ";\n"
         << "        break;\n"
            "      }\n"
            "      place.iteration = 0;\n";
  }
  os << "      place.body = BatonPlace::ended;\n"
        "      return;\n"
        "    }\n"
        "}\n";
}

/// A step's phases, and the bodies that they leave off for.
static void emitKernelsBodies(const KernelBodies &kernelBodies, bool hasRing,
                              bool hasParts, uint32_t firstPhase,
                              raw_ostream &os) {
  os << "    BatonPlace place = {BatonPlace::ended, " << firstPhase << "};\n"
     << "    for (;;) {\n"
     << "      run_phases(worker, " << (hasRing ? "ring, " : "") << "step, "
     << (hasParts ? "part, " : "")
     << "place, calls);\n"
        "      if (place.body == BatonPlace::ended)\n"
        "        break;\n"
        "      if (place.body == BatonPlace::failed)\n"
        "        return;\n";
  emitKernelsBody("      ", kernelBodies, os);
  os << "    }\n";
}

void cuda::emitPersistentKernel(KernelParts &parts, Source &source) {
  ProgramOp program = parts.program();
  const plan::ProgramLayout &layout = parts.layout;
  const SourceOptions &options = parts.options;
  raw_ostream &os = parts.os;
  BlockMemory memory(parts, map_to_vector(parts.phases, [](auto &phase) {
                       return phase.get();
                     }));
  source.sharedBytes = memory.sharedBytes;
  source.scratchIsShared = memory.scratchIsShared;
  bool hasRing = memory.hasRing;
  if (hasRing)
    emitRing(parts);
  bool phasesAreCalled = trains(program);
  bool hasParts = source.takesPart;
  bool hasBorders =
      !layout.collectives.empty() && !parts.options.overlapsExchanges;
  KernelBodies kernelBodies;
  for (auto &phase : parts.phases)
    phase->collect(kernelBodies);
  if (!kernelBodies.empty()) {
    os << "\n// What phases hand to the kernel.\n";
    emitCalls("Calls", kernelBodies, os);
  }
  for (auto &phase : parts.phases)
    emitPhase(*phase, phasesAreCalled, kernelBodies, os);
  if (!kernelBodies.empty())
    emitPhasesFromPlace(parts, phasesAreCalled, hasRing, hasParts);

  if (phasesAreCalled) {
    os << "\nBATON_CALLED bool end_step(BatonWorkerState &worker, const "
          "BatonDeviceStep &step,\n"
          "    uint32_t number) {\n"
          "    const int64_t rows = step.rows, past = step.past, outputs = "
          "step.outputs;\n";
    emitExchangeWaits(parts);
    emitCountUps(parts);
    os << "    return worker.border((number + 1) * worker.count);\n"
          "}\n";
  }
  int64_t mostRows = program.getMaxRows();
  os << "\nextern \"C\" __global__ void __launch_bounds__(" << options.threads
     << ", 1) " << options.kernel << "(BatonDevice *device"
     << (hasParts ? ", BatonPart part" : "")
     << ") {\n"
        "  BATON_DYNAMIC_SHARED(shared);\n"
        "  BatonWorkerState worker(device, "
     << layout.words << ", shared, " << memory.scratch(parts) << ");\n";
  if (hasRing)
    os << "  Weights weights;\n"
          "  Ring ring(shared, &weights);\n";
  if (!kernelBodies.empty())
    os << "  Calls calls;\n";
  os << "  uint32_t number = 0;\n";
  // Products of training take all registers there are.
  if (phasesAreCalled)
    os << "  baton_keep_in_memory(&number);\n";
  os << "  for (;; ++number) {\n"
        "    const BatonDeviceStep step = worker.device->steps[number & 1];\n"
        "    if (step.rows < "
     << options.firstRows << " || step.rows > " << mostRows
     << (hasBorders ? " || number != 0"
         : hasParts ? " ||\n        (number != 0 && device->has_cublaslt)"
                    : "")
     << ")\n"
        "      return worker.leave(step);\n"
        "    worker.next = &worker.device->steps[(number + 1) & 1];\n";
  if (!phasesAreCalled)
    os << "    const int64_t rows = " << (mostRows == 1 ? "1" : "step.rows")
       << ", past = step.past, outputs = step.outputs;\n";
  if (hasRing)
    os << "    weights = {worker, rows, past, outputs, -1, 0, {0, 0, 1}};\n"
       << (mostRows == 1 ? "    " : "    if (rows == 1)\n      ")
       << "ring.begin();\n";
  if (kernelBodies.empty())
    emitPhaseCalls(parts, phasesAreCalled, hasParts);
  else
    emitKernelsBodies(kernelBodies, hasRing, hasParts, layout.firstPhase, os);
  if (hasParts)
    os << "    if (part.last < " << placesOfAll(program) << ")\n"
       << "      return;\n";
  if (phasesAreCalled) {
    os << "    if (!end_step(worker, step, number))\n"
          "      return;\n";
  } else {
    emitCountUps(parts);
    os << "    if (!worker.border((number + 1) * worker.count))\n"
          "      return;\n";
  }
  os << "  }\n"
        "}\n";
}

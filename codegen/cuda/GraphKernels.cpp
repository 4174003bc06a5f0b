//===- GraphKernels.cpp - each phase as a kernel of a graph ---------------===//

#include "codegen/cuda/KernelForms.h"
#include "codegen/cuda/Spelling.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace baton;
using namespace baton::event;
using namespace baton::cuda;

/// The most tiles that a step may have.
static int64_t mostTiles(PhaseOp phase, ProgramOp program) {
  std::optional<int64_t> least[kStepSymbols], most[kStepSymbols];
  least[kRows] = least[kPast] = least[kOutputs] = 0;
  most[kRows] = program.getMaxRows();
  most[kPast] = program.getMaxSeq();
  most[kOutputs] = program.getMaxOutputs();
  int64_t tiles = 1;
  for (mlir::AffineExpr extent : phase.getGrid().getResults()) {
    std::optional<int64_t> bound = mlir::getBoundForAffineExpr(
        extent, /*numDims=*/0, kStepSymbols, least, most, /*isUpper=*/true);
    // Of what has no such bound all workers take a share.
    if (!bound)
      return std::numeric_limits<int32_t>::max();
    tiles *= std::max<int64_t>(*bound, 0);
  }
  return std::clamp<int64_t>(tiles, 1, std::numeric_limits<int32_t>::max());
}

/// The source of a kernel's ring: the weights of a block's tasks, in order.
static void emitRing(PhaseEmitter &phase, const KernelParts &parts) {
  raw_ostream &os = parts.os;
  os << formatv("struct Weights_{0} {{\n", phase.number())
     << "  BatonWorker worker;\n"
        "  int64_t rows, past, outputs, iteration;\n"
        "  BatonTiles tiles;\n";
  if (!phase.streamsSegments()) {
    os << "\n"
          "  __device__ bool next("
       << phase.panelsType()
       << " &panels) {\n"
          "    if (tiles.first >= tiles.last)\n"
          "      return false;\n"
          "    const int64_t tile = tiles.first;\n"
          "    tiles.first += tiles.stride;\n";
    phase.emitStreamPanels("    ");
    os << "    return true;\n";
  } else {
    // Experts without rows have none.
    os << "  int64_t row = 0;\n\n"
          "  __device__ bool next("
       << phase.panelsType()
       << " &panels) {\n"
          "    for (panels.count = 0; tiles.first < tiles.last && "
          "panels.count == 0;) {\n"
          "      const int64_t tile = tiles.first;\n"
          "      bool again = false;\n";
    phase.emitStreamPanels("      ");
    os << "      if (!again) {\n"
          "        row = 0;\n"
          "        tiles.first += tiles.stride;\n"
          "      }\n"
          "    }\n"
          "    return panels.count > 0;\n";
  }
  os << "  }\n"
        "};\n";
}

/// Products on tensor cores are the kernel's own code, and whatever else there
/// is to a task a function's, so that all registers are for the products.
static void emitFunction(PhaseEmitter &phase, const KernelBodies &kernelBodies,
                         const KernelParts &parts) {
  raw_ostream &os = parts.os;
  emitCalls("Calls_" + std::to_string(phase.number()), kernelBodies, os);
  os << "BATON_CALLED bool " << phase.function()
     << "(BatonWorkerState &worker, ";
  if (phase.isStreaming())
    os << phase.ringType("Weights_" + std::to_string(phase.number()))
       << " &ring, ";
  os << "const BatonDeviceStep &step,\n"
     << formatv("    int64_t iteration, BatonPlace &place, Calls_{0} &calls) "
                "{{\n",
                phase.number())
     << "  const int64_t rows = step.rows, past = step.past, outputs = "
        "step.outputs;\n";
  phase.emitPointers();
  phase.emitProductChoice();
  phase.emitShare();
  phase.emitTilesFromPlace(/*withEvents=*/false, kernelBodies);
  os << "  return true;\n"
        "}\n";
}

/// What depends on no other kernel of the step goes first: the ring's copies,
/// or prefetches. The next kernel may start then, to do the same.
static void emitKernel(PhaseEmitter &phase, const std::string &name,
                       const KernelParts &parts, const BlockMemory &memory) {
  raw_ostream &os = parts.os;
  const SourceOptions &options = parts.options;
  int64_t mostRows = parts.program().getMaxRows();
  os << "\n" << phase.title();
  if (memory.hasRing)
    emitRing(phase, parts);
  KernelBodies kernelBodies;
  phase.collect(kernelBodies);
  if (phase.handsOver())
    emitFunction(phase, kernelBodies, parts);
  os << "extern \"C\" __global__ void __launch_bounds__(" << options.threads
     << ", 1) " << name
     << "(\n"
        "    BatonDevice *device, uint32_t number, int64_t iteration) {\n"
        "  BATON_DYNAMIC_SHARED(shared);\n"
        "  BatonWorkerState worker(device, 0, shared, "
     << (phase.hasScratch() ? memory.scratch(parts) : "nullptr")
     << ");\n"
        "  const BatonDeviceStep step = device->steps[number & 1];\n";
  if (phase.advances())
    os << "  worker.next = &device->steps[(number + 1) & 1];\n";
  os << "  if (step.rows < " << options.firstRows << " || step.rows > "
     << mostRows << ") {\n";
  if (options.isProgrammatic)
    os << "    baton_wait_for_kernel_before();\n";
  if (phase.advances())
    os << "    worker.hand_on(step);\n";
  os << "    return;\n"
        "  }\n"
        "  const int64_t rows = "
     << (mostRows == 1 ? "1" : "step.rows")
     << ", past = step.past, outputs = step.outputs;\n"
     << "  worker.begin_phase(" << phase.number() << ", iteration);\n";
  phase.emitPointers();
  phase.emitProductChoice();
  phase.emitShare();
  if (memory.hasRing)
    os << formatv("  Weights_{0} weights = {{worker, rows, past, outputs, "
                  "iteration, tiles};\n"
                  "  {1} ring(shared, &weights);\n",
                  phase.number(),
                  phase.ringType("Weights_" + std::to_string(phase.number())));
  const bool beginsEarly = memory.hasRing && !phase.streamsSegments();
  if (beginsEarly)
    os << (mostRows == 1 ? "  " : "  if (rows == 1)\n    ")
       << "ring.begin();\n";
  phase.emitFirstPrefetch();
  if (options.isProgrammatic)
    os << "  baton_start_kernel_behind();\n"
          "  baton_wait_for_kernel_before();\n";
  // A table that is wrong ends the step here, as a wait that fails ends the
  // persistent kernel.
  ProgramOp program = parts.program();
  if (!program.getBody().getOps<TableOp>().empty())
    os << "  if (worker.has_stopped()) {\n"
       << (phase.advances() ? "    worker.hand_on({0, 0, 0, 0});\n" : "")
       << "    return;\n"
          "  }\n";
  // Which weights, the kernels before have said.
  if (memory.hasRing && !beginsEarly)
    os << "  ring.begin();\n";
  if (phase.handsOver()) {
    os << formatv("  BatonPlace place = {{BatonPlace::ended, {0}};\n"
                  "  Calls_{0} calls;\n"
                  "  while (!{1}(worker, {2}step, iteration, place, calls))\n",
                  phase.number(), phase.function(),
                  memory.hasRing ? "ring, " : "");
    emitKernelsBody("    ", kernelBodies, os);
  } else {
    phase.emitTiles(/*withEvents=*/false);
  }
  os << "  worker.end_phase();\n"
        "}\n";
}

void cuda::emitGraphKernels(KernelParts &parts, Source &source) {
  SegmentOp segment;
  for (auto &phase : parts.phases) {
    if (phase->parent() != segment) {
      segment = phase->parent();
      source.segments.push_back({int64_t(segment.getRepeat()), {}});
    }
    BlockMemory memory(parts, phase.get());
    std::string name = source.kernel + "_" + phase->function();
    emitKernel(*phase, name, parts, memory);
    source.segments.back().kernels.push_back(
        {name, memory.sharedBytes, mostTiles(phase->op(), parts.program())});
    source.sharedBytes = std::max(source.sharedBytes, memory.sharedBytes);
    source.scratchIsShared &= memory.scratchIsShared;
  }
}

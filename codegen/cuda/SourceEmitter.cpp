//===- SourceEmitter.cpp - from a proved plan to CUDA C++ -----------------===//

#include "codegen/cuda/SourceEmitter.h"

#include "codegen/cuda/HostProgram.h"
#include "codegen/cuda/KernelForms.h"
#include "codegen/cuda/OverlappedExchanges.h"
#include "dialects/Event/Tiers.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace baton;
using namespace baton::event;

int64_t cuda::KernelParts::scratchBytes() const {
  return alignTo(program().getScratchBytes(), 128);
}

cuda::BlockMemory::BlockMemory(const KernelParts &parts,
                               ArrayRef<PhaseEmitter *> phases) {
  bool hasScratch = false;
  for (PhaseEmitter *phase : phases) {
    hasRing |= phase->isStreaming();
    hasScratch |= phase->hasScratch();
    tunedBytes = std::max(tunedBytes, phase->matrixBytes());
    scratchIsShared &= !phase->hasMatrixOfScratch();
  }
  if (hasRing)
    tunedBytes = std::max(tunedBytes, parts.ringBytes());
  tunedBytes = alignTo(tunedBytes, 128);
  int64_t scratch = hasScratch ? parts.scratchBytes() : 0;
  scratchIsShared &= tunedBytes + scratch <= parts.options.sharedLimit;
  sharedBytes = tunedBytes + (scratchIsShared ? scratch : 0);
}

std::string cuda::BlockMemory::scratch(const KernelParts &parts) const {
  return scratchIsShared ? "shared + " + std::to_string(tunedBytes)
                         : "device->scratch + blockIdx.x * int64_t(" +
                               std::to_string(parts.scratchBytes()) + ")";
}

void cuda::emitCalls(StringRef name, const KernelBodies &kernelBodies,
                     raw_ostream &os) {
  os << "struct " << name << " {\n";
  size_t number = 0;
  for (auto &[body, type] : kernelBodies)
    os << "  " << type << " body_" << number++ << ";\n";
  os << "};\n";
}

void cuda::emitKernelsBody(StringRef indent, const KernelBodies &kernelBodies,
                           raw_ostream &os) {
  size_t number = 0;
  for (auto &[body, type] : kernelBodies) {
    os << indent;
    if (kernelBodies.size() > 1)
      os << "if (place.body == " << number << ")\n" << indent << "  ";
    os << body << "(shared, calls.body_" << number++ << ");\n";
  }
}

Expected<cuda::Source> cuda::emitSource(const plan::ProgramLayout &layout,
                                        const SourceOptions &options,
                                        plan::Signatures signatures) {
  ProgramOp program = layout.program;
  if (Error error = plan::checkProgram(program))
    return std::move(error);
  Expected<PrintedBodies> bodies =
      printBodies(program->getParentOfType<mlir::ModuleOp>());
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
  KernelParts parts{layout, options, {}, os};
  source.scratchBytes = parts.scratchBytes();
  bool onTensorCores = hasMatrixLinears(program, options);
  const char *operandType = operandTypeOf(program, options);
  uint32_t ringFormats = 0;
  for (PhaseOp phase : phasesOf(program)) {
    if (isTier(phase))
      return createStringError("phase '" + phase.getName() +
                               "': a GPU's kernel fetches nothing from other "
                               "tiers of memory");
    parts.phases.push_back(std::make_unique<PhaseEmitter>(
        phase, layout.firstPhase + parts.phases.size(), layout, *bodies,
        options, onTensorCores, operandType, os));
    PhaseEmitter &emitter = *parts.phases.back();
    if (!emitter.isStreaming())
      continue;
    ringFormats |= emitter.streamFormats();
    emitter.setRingFormats(emitter.streamFormats());
  }
  // Phases of a graph have rings of their own.
  if (!options.asGraph) {
    for (auto &phase : parts.phases)
      phase->setRingFormats(ringFormats);
    if (ringFormats && !options.holdsChunks(ringFormats))
      return createStringError(
          "the target's ring of " + Twine(options.ringStages) +
          " stages is too short for weights of several formats; ring_stages "
          "of its description says how long it is");
  }
  if (ringFormats && parts.ringBytes() > options.sharedLimit)
    return createStringError(
        "the target's ring of " + Twine(options.ringStages) + " stages takes " +
        Twine(parts.ringBytes()) + " bytes of shared memory, and a block has " +
        Twine(options.sharedLimit));

  const bool overlaps =
      options.overlapsExchanges && !layout.collectives.empty();
  if (overlaps)
    if (Error error = checkOverlappedExchanges(layout))
      return std::move(error);
  const bool takesPart = source.takesPart =
      !options.asGraph && (!options.cublasLtRows.empty() ||
                           (!overlaps && !layout.collectives.empty()));
  os << "// The plan @" << program.getSymName() << " as "
     << (options.asGraph
             ? "kernels of a CUDA graph, one for each phase. Blocks are "
               "workers;\n"
               "// each runs its tiles of the phase, and the order of kernels "
               "is all there is.\n"
             : "one persistent kernel. Workers are blocks; each runs its tiles "
               "of\n"
               "// every phase in order, and events order the rest.\n")
     << "\n#define BATON_MIXED_FORMATS 0x"
     << utohexstr(mixedFormats(program), /*LowerCase=*/true)
     << "u\n#include \"codegen/cuda/library/kernel.h\"\n"
        "#include \"codegen/cuda/library/library.h\"\n"
     << (trains(program) ? "#include \"codegen/cuda/library/training.h\"\n"
                         : "")
     << (options.cublasLtRows.empty()
             ? ""
             : "#include \"codegen/cuda/library/cublaslt.h\"\n")
     << (takesPart ? "#include \"codegen/cuda/library/step_parts.h\"\n" : "")
     << (overlaps ? "#include \"codegen/cuda/library/overlapped.h\"\n" : "")
     << bodies->text;
  if (options.asGraph)
    emitGraphKernels(parts, source);
  else
    emitPersistentKernel(parts, source);
  emitProductKernels(parts, source);
  if (!layout.collectives.empty()) {
    Expected<std::string> host = emitHostProgram(layout, options);
    if (!host)
      return host.takeError();
    source.hostProgram = std::move(*host);
  }
  return source;
}

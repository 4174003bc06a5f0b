//===- Memory.cpp - what memory holds while a step runs -------------------===//

#include "compiler/explain/Memory.h"

#include "dialects/Event/LayerFormats.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace baton;
using namespace baton::explain;

MemoryUse explain::memoryUse(event::ProgramOp program) {
  MemoryUse use;
  use.scratch = static_cast<double>(program.getScratchBytes());
  for (auto parameter : program.getBody().getOps<event::ParameterOp>())
    if (std::optional<int64_t> elements = event::countAllElements(parameter)) {
      const unsigned bytes = parameter.getElement().getIntOrFloatBitWidth() / 8;
      use.weights += static_cast<double>(*elements) * bytes;
    }
  llvm::StringSet<> states, kept;
  bool trains = false;
  for (auto buffer : program.getBody().getOps<event::BufferOp>())
    if (buffer.getKind() == event::BufferKind::state && buffer.getStorage())
      states.insert(*buffer.getStorage());
    else if (buffer.getKind() == event::BufferKind::persistent &&
             buffer.getStorage() &&
             !(batchOf(program) &&
               (hasRole(buffer, "input") || hasRole(buffer, "output")))) {
      kept.insert(*buffer.getStorage());
      trains |= isTrained(buffer);
    }
  for (auto storage : program.getBody().getOps<event::StorageOp>())
    (kept.contains(storage.getSymName()) ? (trains ? use.kept : use.exchanges)
     : states.contains(storage.getSymName()) ? use.states
                                             : use.transients) +=
        static_cast<double>(storage.getBytes());
  return use;
}

/// Phases in which a value of the buffer is live, by the usual equations over
/// phases in rank order with an edge back from a segment's last phase to its
/// first.
static std::vector<bool>
livePhases(llvm::MutableArrayRef<event::PhaseOp> phases,
           event::BufferOp buffer) {
  size_t count = phases.size();
  std::vector<bool> reads(count), writes(count), in(count), out(count);
  for (auto [index, phase] : llvm::enumerate(phases))
    for (event::AccessAttr access : phase.getAccessAttrs())
      if (access.getBuffer().getAttr() == buffer.getSymNameAttr())
        (access.getWrite() ? writes : reads)[index] = true;
  auto segmentOf = [&](size_t index) {
    return mlir::cast<event::SegmentOp>(phases[index]->getParentOp());
  };
  std::vector<size_t> back(count, count);
  for (size_t index = 0, first = 0; index < count; ++index) {
    if (segmentOf(index) != segmentOf(first))
      first = index;
    bool isLast =
        index + 1 == count || segmentOf(index + 1) != segmentOf(index);
    if (isLast && segmentOf(index).getRepeat() > 1)
      back[index] = first;
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t index = count; index-- > 0;) {
      bool after = (index + 1 < count && in[index + 1]) ||
                   (back[index] < count && in[back[index]]);
      bool before = reads[index] || (after && !writes[index]);
      changed |= after != out[index] || before != in[index];
      out[index] = after;
      in[index] = before;
    }
  }
  std::vector<bool> live(count);
  for (size_t index = 0; index < count; ++index)
    live[index] = in[index] || writes[index];
  return live;
}

std::vector<Lifetime> explain::lifetimes(event::ProgramOp program,
                                         const Step &step) {
  llvm::SmallVector<event::PhaseOp> phases = event::phasesOf(program);
  std::vector<Lifetime> result;
  for (auto buffer : program.getBody().getOps<event::BufferOp>()) {
    if (buffer.getKind() != event::BufferKind::transient)
      continue;
    const unsigned elementBytes =
        buffer.getElement().getIntOrFloatBitWidth() / 8;
    double bytes = elementBytes;
    for (int64_t extent :
         event::evaluate(buffer.getExtents(), {}, step.symbols()))
      bytes *= static_cast<double>(std::max<int64_t>(0, extent));
    result.push_back({buffer.getSymName().str(),
                      buffer.getStorage().value_or("").str(), bytes,
                      livePhases(phases, buffer)});
  }
  return result;
}

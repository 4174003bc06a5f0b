//===- OrderReasons.cpp - why a phase runs when it does -------------------===//

#include "compiler/explain/Reasons.h"
#include "compiler/explain/Words.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"

using namespace baton;
using namespace baton::explain;
using llvm::SmallVector;

namespace {

/// Phases and the waits between them, whole phases at a time.
class PhaseGraph {
public:
  explicit PhaseGraph(event::ProgramOp program)
      : phases(event::phasesOf(program)), program(program) {
    for (auto [index, phase] : llvm::enumerate(phases)) {
      indices[phase] = index;
      if (auto notify = phase.getNotify())
        notifiers[notify->getEvent().getAttr()] = phase;
    }
    // Waits of the same iteration or of an earlier segment are for lower
    // ranks, so that one pass in rank order is enough.
    for (event::PhaseOp phase : phases) {
      llvm::BitVector &before = earlier.emplace_back(phases.size());
      for (event::WaitAttr wait : phase.getWaitAttrs()) {
        if (wait.getDistance() != 0)
          continue;
        unsigned index = indices[notifierOf(wait)];
        before.set(index);
        before |= earlier[index];
      }
    }
  }

  event::PhaseOp notifierOf(event::WaitAttr wait) const {
    return notifiers.lookup(wait.getEvent().getAttr());
  }
  unsigned indexOf(event::PhaseOp phase) const { return indices.lookup(phase); }
  bool comesBefore(event::PhaseOp first, event::PhaseOp second) const {
    return earlier[indexOf(second)].test(indexOf(first));
  }

  SmallVector<event::PhaseOp> phases;
  event::ProgramOp program;

private:
  llvm::DenseMap<mlir::Operation *, unsigned> indices;
  llvm::DenseMap<mlir::Attribute, event::PhaseOp> notifiers;
  std::vector<llvm::BitVector> earlier;
};

} // namespace

static std::string quoted(event::PhaseOp phase) {
  return "`" + shortName(phase) + "`";
}

static bool isAllOf(event::WaitAttr wait, event::TensorOp tensor) {
  for (auto [low, high, extent] :
       llvm::zip(wait.getLow().getResults(), wait.getHigh().getResults(),
                 tensor.getShape().getResults())) {
    auto from = mlir::dyn_cast<mlir::AffineConstantExpr>(low);
    if (!from || from.getValue() > 0 || high != extent)
      return false;
  }
  return true;
}

static std::string waitText(const PhaseGraph &graph, event::WaitAttr wait) {
  auto tensor = mlir::SymbolTable::lookupNearestSymbolFrom<event::TensorOp>(
      graph.program, wait.getEvent());
  std::string text = quoted(graph.notifierOf(wait));
  if (wait.getDistance())
    text += " of the iteration before";
  text += isAllOf(wait, tensor)
              ? ", all of it"
              : ", words [" + affineText(wait.getLow()) + "] to [" +
                    affineText(wait.getHigh()) + "]";
  return text;
}

/// The notifying phase whose tasks have the greatest rank before this one's.
static event::WaitAttr nearestProducer(const PhaseGraph &graph,
                                       event::PhaseOp phase) {
  event::WaitAttr nearest;
  auto key = [&](event::WaitAttr wait) {
    event::PhaseOp notifier = graph.notifierOf(wait);
    bool sameSegment = notifier->getParentOp() == phase->getParentOp();
    int order = wait.getDistance() ? 1 : sameSegment ? 2 : 0;
    return std::pair(order, graph.indexOf(notifier));
  };
  for (event::WaitAttr wait : phase.getWaitAttrs())
    if (!nearest || key(wait) > key(nearest))
      nearest = wait;
  return nearest;
}

static void addWaits(const PhaseGraph &graph, event::PhaseOp phase,
                     Sentences &reasons) {
  event::WaitAttr nearest = nearestProducer(graph, phase);
  if (!nearest) {
    reasons.push_back("waits for nothing: its tasks start at once");
    return;
  }
  reasons.push_back(
      "a task waits for " + waitText(graph, nearest) +
      (phase.getWaits().size() > 1 ? ": the nearest in rank" : ""));
  for (event::WaitAttr wait : phase.getWaitAttrs())
    if (wait != nearest)
      reasons.push_back("and for " + waitText(graph, wait));
}

static void addOverlaps(const PhaseGraph &graph, event::PhaseOp phase,
                        Sentences &reasons) {
  std::vector<std::string> free;
  for (event::PhaseOp other : graph.phases)
    if (other != phase && other->getParentOp() == phase->getParentOp() &&
        !graph.comesBefore(phase, other) && !graph.comesBefore(other, phase))
      free.push_back(quoted(other));
  if (!free.empty())
    reasons.push_back("may run beside " + listText(free) +
                      ": no chain of waits stands between them");
}

/// Phases that write what this one reads, without a wait of its own.
static void addImplied(const PhaseGraph &graph, event::PhaseOp phase,
                       Sentences &reasons) {
  llvm::SetVector<mlir::Operation *> waited;
  for (event::WaitAttr wait : phase.getWaitAttrs())
    waited.insert(graph.notifierOf(wait));
  llvm::SetVector<mlir::Operation *> implied;
  for (event::AccessAttr read : phase.getAccessAttrs()) {
    if (read.getWrite())
      continue;
    for (event::PhaseOp other : graph.phases) {
      if (waited.contains(other) || !graph.comesBefore(other, phase))
        continue;
      for (event::AccessAttr write : other.getAccessAttrs())
        if (write.getWrite() && write.getBuffer() == read.getBuffer())
          implied.insert(other);
    }
  }
  std::vector<std::string> names;
  for (mlir::Operation *other : implied)
    names.push_back(quoted(mlir::cast<event::PhaseOp>(other)));
  if (!names.empty())
    reasons.push_back("reads what " + listText(names) +
                      (names.size() > 1 ? " write" : " writes") +
                      ", and needs no wait for it: its other waits come "
                      "after");
}

static bool touches(event::PhaseOp phase, event::BufferOp buffer, bool write) {
  return llvm::any_of(phase.getAccessAttrs(), [&](event::AccessAttr access) {
    return access.getWrite() == write &&
           access.getBuffer().getAttr() == buffer.getSymNameAttr();
  });
}

static void addReuse(PhaseGraph &graph, event::PhaseOp phase,
                     Sentences &reasons) {
  llvm::SetVector<mlir::Attribute> written;
  for (event::AccessAttr access : phase.getAccessAttrs())
    if (access.getWrite())
      written.insert(access.getBuffer().getAttr());
  for (mlir::Attribute name : written) {
    auto buffer = mlir::SymbolTable::lookupNearestSymbolFrom<event::BufferOp>(
        graph.program, mlir::cast<mlir::StringAttr>(name));
    if (buffer.getKind() != event::BufferKind::transient)
      continue;
    std::vector<std::string> others;
    if (buffer.getStorage())
      for (auto other : graph.program.getBody().getOps<event::BufferOp>())
        if (other != buffer && other.getStorage() == buffer.getStorage())
          others.push_back("@" + other.getSymName().str());
    if (!others.empty())
      reasons.push_back(
          "writes @" + buffer.getSymName().str() + " into the bytes of " +
          listText(others) +
          ": the proof orders their tasks row by row, so that they share a "
          "storage");
    for (event::PhaseOp other : graph.phases)
      if (graph.indexOf(other) < graph.indexOf(phase) &&
          touches(other, buffer, /*write=*/true)) {
        reasons.push_back("writes @" + buffer.getSymName().str() +
                          " again, in place of what " + quoted(other) +
                          " wrote");
        break;
      }
  }
}

Sentences explain::orderReasons(event::ProgramOp program,
                                event::PhaseOp phase) {
  PhaseGraph graph(program);
  Sentences reasons;
  addWaits(graph, phase, reasons);
  addImplied(graph, phase, reasons);
  addOverlaps(graph, phase, reasons);
  addReuse(graph, phase, reasons);
  return reasons;
}

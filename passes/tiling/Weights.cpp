//===- Weights.cpp - where a rule's weights come from ---------------------===//

#include "passes/tiling/Weights.h"

#include "codegen/bodies/TaskCalls.h"
#include "passes/tiling/Training.h"

#include "llvm/Support/ScopedPrinter.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;

Attribute Weight::all(PhaseBuilder &phase) const {
  if (view.buffer)
    return readAll(phase, view);
  if (!parameter)
    return phase.null();
  return phase.weight(parameter, phase.constant(0));
}

Attribute Weight::tile(PhaseBuilder &phase, unsigned d, int64_t width) const {
  if (view.buffer) {
    Box box = phase.whole(view);
    narrow(box, 0, phase.coordinate(d), width);
    phase.reads(view, box);
    return phase.address(view, box);
  }
  if (!parameter)
    return phase.null();
  return phase.weight(parameter, phase.coordinate(d) * width);
}

std::string Weight::bodyFor(StringRef body) const {
  if (!view.buffer)
    if (auto form = dyn_cast<event::BlocksAttr>(parameter.getFormAttr()))
      return bodies::functionName(body, form.getVariant());
  Type element =
      view.buffer ? view.buffer.getElement() : parameter.getElement();
  return bodies::functionName(body, llvm::to_string(element));
}

Weight tasks::vectorWeight(StringRef name, Value vector, Tiler &tiler) {
  if (!vector)
    return {};
  if (View made = tiler.viewOf(vector); made.buffer)
    return made;
  if (tiler.training && !model::isFrozen(vector))
    return tiler.training->trainable(vector).weight;
  return tiler.vector(name, vector);
}

Weight tasks::tableWeight(StringRef name, Value table, Tiler &tiler) {
  if (tiler.training && !model::isFrozen(table))
    return tiler.training->trainable(table).weight;
  return tiler.table(name, table);
}

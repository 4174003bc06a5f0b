//===- Places.cpp - values by the places of rows with experts -------------===//

#include "dialects/Model/Places.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace baton;
using namespace baton::model;

/// Whether places of an op's operands are those of its result.
static bool keepsPlaces(Operation *op) {
  return isa_and_nonnull<Elementwise, ActivateGradientOp>(op);
}

Segments model::segmentsOf(Value value) {
  if (typeOf(value).getRank() != 3)
    return {};
  Operation *op = value.getDefiningOp();
  if (!op)
    return {};
  if (keepsPlaces(op)) {
    for (Value operand : op->getOperands())
      if (Segments found = segmentsOf(operand))
        return found;
    return {};
  }
  Value table =
      llvm::TypeSwitch<Operation *, Value>(op)
          .Case<GatherOp, CombineInputGradientOp>(
              [](auto made) { return made.getChoices(); })
          .Case<GroupedLinearOp, GroupedGatedLinearOp,
                GroupedLinearInputGradientOp>(
              [](auto made) { return made.getBounds(); })
          .Case<PlacesMove>([](auto made) { return made.getBoundsOfResult(); })
          .Default(Value());
  return table ? table.getDefiningOp<Segments>() : Segments();
}

bool model::isOfPlaces(Value value) {
  if (typeOf(value).getRank() != 3)
    return false;
  if (segmentsOf(value))
    return true;
  Operation *op = value.getDefiningOp();
  if (keepsPlaces(op))
    return llvm::any_of(op->getOperands(), isOfPlaces);
  auto saved = dyn_cast_or_null<SavedOp>(op);
  // What a stack saves stands in it.
  return saved && saved->getParentOfType<ProgramOp>()
                      .getBody()
                      .walk([&](SaveOp save) {
                        return save.getName() == saved.getName() &&
                                       isOfPlaces(save.getX())
                                   ? WalkResult::interrupt()
                                   : WalkResult::advance();
                      })
                      .wasInterrupted();
}

//===- SavedValues.cpp - values that a stack leaves to a later one --------===//

#include "passes/training/SavedValues.h"

using namespace mlir;
using namespace baton;
using namespace baton::model;

bool training::isNeverSaved(Operation *op) {
  return isa_and_nonnull<ParameterOp, ReshapeOp, TransposeOp, SliceOp,
                         BroadcastOp, ReindexOp, DispatchOp, GatherOp>(op);
}

/// What a value is called.
static std::string nameOf(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto stack = cast<StackOp>(argument.getOwner()->getParentOp());
    auto name = dyn_cast<NameLoc>(stack.getLoc());
    return (name ? name.getName().str() : std::string("stack")) +
           (stack.getReverse() ? ".output_gradient" : ".input");
  }
  auto name = dyn_cast<NameLoc>(value.getDefiningOp()->getLoc());
  std::string text =
      name ? name.getName().str()
           : value.getDefiningOp()->getName().stripDialect().str();
  unsigned number = cast<OpResult>(value).getResultNumber();
  return number ? text + "." + std::to_string(number) : text;
}

/// Where copies of a value say that they come from.
static Location locationOf(Value value) {
  Operation *op = value.getDefiningOp();
  return op ? op->getLoc() : value.getParentBlock()->getParentOp()->getLoc();
}

training::SavedValues::SavedValues(ProgramOp program) {
  program.walk([&](SaveOp op) {
    taken.insert(op.getName());
    names.try_emplace(op.getX(), op.getName());
  });
}

StringRef training::SavedValues::save(Value value) {
  std::string &name = names[value];
  if (!name.empty())
    return name;
  std::string base = nameOf(value);
  name = base;
  for (unsigned i = 2; !taken.insert(name).second; ++i)
    name = base + "." + std::to_string(i);
  OpBuilder builder(value.getContext());
  builder.setInsertionPointAfterValue(value);
  builder.create<SaveOp>(locationOf(value), value, name);
  return name;
}

Value training::SavedValues::read(Value value, Block &pattern) {
  auto builder = OpBuilder::atBlockBegin(&pattern);
  return builder.create<SavedOp>(locationOf(value), value.getType(),
                                 save(value));
}

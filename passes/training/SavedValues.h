//===- SavedValues.h - values that a stack leaves to a later one ----------===//

#ifndef BATON_PASSES_TRAINING_SAVEDVALUES_H
#define BATON_PASSES_TRAINING_SAVEDVALUES_H

#include "dialects/Model/Model.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringSet.h"

#include <string>

namespace baton::training {

/// Parameters, views, and what says which rows stand at the places of experts,
/// and puts them there: no stack saves them, whoever reads one makes it again.
bool isNeverSaved(mlir::Operation *op);

/// What the stacks of a program save.
class SavedValues {
public:
  explicit SavedValues(model::ProgramOp program);

  /// Saves a value of a stack's pattern as soon as it is there, if that is not
  /// done yet; returns its name.
  llvm::StringRef save(mlir::Value value);

  /// A value that is saved, at the start of another stack's pattern.
  mlir::Value read(mlir::Value value, mlir::Block &pattern);

private:
  llvm::StringSet<> taken;
  llvm::DenseMap<mlir::Value, std::string> names;
};

} // namespace baton::training

#endif // BATON_PASSES_TRAINING_SAVEDVALUES_H

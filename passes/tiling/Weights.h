//===- Weights.h - where a rule's weights come from -----------------------===//
//
// A program that decodes has parameters, which the loader packs as a body wants
// them. One that trains has buffers, row-major, that tasks read as they read
// any value. A rule asks for a weight, and reads it the same way in both.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_PASSES_TILING_WEIGHTS_H
#define BATON_PASSES_TILING_WEIGHTS_H

#include "passes/tiling/TilingPieces.h"

namespace baton::tasks {

class Weight {
public:
  /// None.
  Weight() = default;
  Weight(event::ParameterOp parameter) : parameter(parameter) {}
  Weight(const View &view) : view(view) {}

  // What bodies take, null where there is none; of a buffer the task states
  // that it reads it.

  /// All of it.
  mlir::Attribute all(PhaseBuilder &phase) const;
  /// Of a vector, the tile of so many elements at coordinate `d`.
  mlir::Attribute tile(PhaseBuilder &phase, unsigned d, int64_t width) const;

  /// The library's function for a body that reads it.
  std::string bodyFor(llvm::StringRef body) const;

private:
  /// Mutable because accessors of ops are not const.
  mutable event::ParameterOp parameter;
  View view;
};

/// A vector, which may be one that the step itself has made; none for a null.
Weight vectorWeight(llvm::StringRef name, mlir::Value vector, Tiler &tiler);
/// A matrix, row-major.
Weight tableWeight(llvm::StringRef name, mlir::Value table, Tiler &tiler);

} // namespace baton::tasks

#endif // BATON_PASSES_TILING_WEIGHTS_H

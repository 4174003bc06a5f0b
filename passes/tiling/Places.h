//===- Places.h - values by the places of rows with experts ---------------===//
//
// A value of places is [rows, k, ...], of which place p is [p / k, p % k].
// Tiles are of places, whoever's row has them: in the order of experts they are
// nobody's in particular.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_PASSES_TILING_PLACES_H
#define BATON_PASSES_TILING_PLACES_H

#include "passes/tiling/TilingPieces.h"

namespace baton::tasks {

/// Whether a value is of places: by who makes it, and by where it is.
bool isOfPlaces(mlir::Value value);
bool isOfPlaces(const View &view);

/// A value of places by place: one row for each.
View byPlace(const View &view);

/// A buffer for a result that is of places: its destination, or a new one.
View placesFor(mlir::Value result, llvm::StringRef name, Tiler &tiler);

/// How many places a step has.
mlir::AffineExpr countPlaces(PhaseBuilder &phase, int64_t k);
/// All of a value by place.
Box allPlaces(PhaseBuilder &phase, const View &view, int64_t k);

/// A phase over tiles of places.
struct PlaceTiles {
  int64_t size;
  mlir::AffineExpr places;
  int64_t capacity;

  PlaceTiles(mlir::Operation *op, int64_t k, Tiler &tiler);

  PhaseBuilder phase(const std::string &name, mlir::Location location,
                     PlanBuilder &plan) const;
  /// Places of the tile at coordinate 0.
  mlir::Attribute count(PhaseBuilder &phase) const;
};

/// A phase whose body takes out, the inputs (each a pointer and a row stride),
/// rows, width, and `more`: of values of places, each place being a row.
mlir::LogicalResult tilePlaces(mlir::Operation *op, const std::string &name,
                               llvm::StringRef callee,
                               llvm::ArrayRef<View> inputs, Tiler &tiler,
                               llvm::ArrayRef<mlir::Attribute> more);

/// Rows or places of an op's operands and its result, by the op's own body;
/// `suffix` ends the phase's name.
mlir::LogicalResult tileElementwise(model::Elementwise op, Tiler &tiler,
                                    llvm::StringRef suffix = "");

/// The product of places by weights that train.
mlir::LogicalResult tileTrained(model::GroupedLinearOp op, Tiler &tiler);

} // namespace baton::tasks

#endif // BATON_PASSES_TILING_PLACES_H

//===- Places.h - values by the places of rows with experts ---------------===//
//
// Tiles are of places, whoever's row has them: in the order of experts they are
// nobody's in particular. Where ranks have some of the experts each, tasks have
// the places of one of the rank's own.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_PASSES_TILING_PLACES_H
#define BATON_PASSES_TILING_PLACES_H

#include "dialects/Model/Places.h"
#include "passes/tiling/TilingPieces.h"

namespace baton::tasks {

/// Whether a value is of places: by who makes it, and by where it is.
using model::isOfPlaces;
bool isOfPlaces(const View &view);

/// A value of places by place: one row for each.
View byPlace(const View &view);

/// A buffer for a result that is of places: its destination, or a new one. What
/// is saved has zeros at places of other ranks' experts: who reads it knows by
/// another table which places are the rank's.
View placesFor(mlir::Value result, llvm::StringRef name, Tiler &tiler);

/// How many places a step has.
mlir::AffineExpr countPlaces(PhaseBuilder &phase, int64_t k);
/// All of a value by place.
Box allPlaces(PhaseBuilder &phase, const View &view, int64_t k);
/// The same, but with `bounds` those of the rank's own experts; before the
/// phase has accesses.
Box ownPlaces(PhaseBuilder &phase, const View &view, int64_t k,
              mlir::Value bounds, Tiler &tiler);

/// A phase over tiles of places, or over the rank's own experts.
struct PlaceTiles {
  PhaseBuilder phase;

  /// `segments` may be null: then it is over all places.
  PlaceTiles(mlir::Operation *op, const std::string &name,
             model::Segments segments, int64_t k, Tiler &tiler);

  /// A task's places of a value by place.
  Box of(const View &view);
  /// How many these are, or numbers of them.
  mlir::Attribute count(int64_t width = 1);

private:
  int64_t size;
  mlir::AffineExpr places;
  /// Where an expert's places begin and end; or none.
  llvm::SmallVector<mlir::AffineExpr> ends;
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

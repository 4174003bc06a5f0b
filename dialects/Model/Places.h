//===- Places.h - values by the places of rows with experts ---------------===//
//
// A value of places is [rows, k, ...], of which place p is [p / k, p % k]
// (ExpertOps.td). Whether a value is one its type does not say.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_DIALECTS_MODEL_PLACES_H
#define BATON_DIALECTS_MODEL_PLACES_H

#include "dialects/Model/Model.h"

namespace baton::model {

/// What said at which places the rows stand of which a value is made; null for
/// a value of rows, and for one that was saved.
Segments segmentsOf(mlir::Value value);

/// Whether a value is of places, made here or saved.
bool isOfPlaces(mlir::Value value);

} // namespace baton::model

#endif // BATON_DIALECTS_MODEL_PLACES_H

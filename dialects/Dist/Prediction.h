//===- Prediction.h - what a schedule is predicted to take ----------------===//

#ifndef BATON_DIALECTS_DIST_PREDICTION_H
#define BATON_DIALECTS_DIST_PREDICTION_H

#include "llvm/ADT/StringRef.h"

namespace baton::dist {

/// Of a dist.schedule: the part of a step, an F64, that stages idle if products
/// take all of its time.
constexpr llvm::StringLiteral kBubble = "dist.bubble";

} // namespace baton::dist

#endif // BATON_DIALECTS_DIST_PREDICTION_H

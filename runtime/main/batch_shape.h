//===- batch_shape.h - what of the data a step takes ----------------------===//

#ifndef BATON_RUNTIME_MAIN_BATCH_SHAPE_H
#define BATON_RUNTIME_MAIN_BATCH_SHAPE_H

#include "runtime/execute/metadata.h"
#include "runtime/train/batches.h"

namespace baton {

/// Those that --batch, --seq (0: the usual length) and --accumulate ask for.
/// Throws Error, naming the flag, for what the program has no room for.
BatchShape batch_shape(const Metadata &metadata, uint64_t batch,
                       uint64_t sequence, uint64_t accumulate);

} // namespace baton

#endif // BATON_RUNTIME_MAIN_BATCH_SHAPE_H

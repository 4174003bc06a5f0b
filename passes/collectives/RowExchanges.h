//===- RowExchanges.h - rows that go to experts of other ranks ------------===//
//
// How many rows go from a rank to an expert, only the step knows. So counts go
// first (dist.exchange_counts), in three phases:
//
//   sent       how many rows each expert of each rank gets from this one
//   exchange   all_to_all of these numbers
//   bounds     where the rows of each of the own experts begin, a table
//
// and then rows, each time in one phase (dist.dispatch_rows and
// dist.combine_rows). What is received has room for all rows of all ranks; the
// table's last segment are the places that nobody has sent anything to.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_PASSES_COLLECTIVES_ROWEXCHANGES_H
#define BATON_PASSES_COLLECTIVES_ROWEXCHANGES_H

#include "passes/tiling/Tiler.h"

#include "dialects/Dist/Dist.h"

namespace baton::tasks {

mlir::LogicalResult tileExchange(dist::ExchangeCountsOp op, Tiler &tiler);
mlir::LogicalResult tileExchange(dist::DispatchRowsOp op, Tiler &tiler);
mlir::LogicalResult tileExchange(dist::CombineRowsOp op, Tiler &tiler);

} // namespace baton::tasks

#endif // BATON_PASSES_COLLECTIVES_ROWEXCHANGES_H

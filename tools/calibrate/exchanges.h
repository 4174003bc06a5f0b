//===- exchanges.h - how long ranks that are threads exchange bytes -------===//

#ifndef BATON_TOOLS_CALIBRATE_EXCHANGES_H
#define BATON_TOOLS_CALIBRATE_EXCHANGES_H

#include "tools/calibrate/samples.h"

namespace baton::calibrate {

/// Ranks and bytes of whole tensors that are exchanged.
struct ExchangeSizes {
  std::vector<int64_t> ranks, bytes;
};

/// Adds the times of both halves of an all-reduce (each rank sends each a part,
/// and each rank sends all its part), by the communicator that programs of
/// several ranks in one process use. What tasks add up is no part of them.
/// Throws Error where ranks fail.
void measure_exchanges(const ExchangeSizes &sizes, Samples &samples);

} // namespace baton::calibrate

#endif // BATON_TOOLS_CALIBRATE_EXCHANGES_H

//===- decoding_forecast.h - what a program that decodes will take --------===//
//
// From the program's description and the machine: nothing is loaded, and no
// step is run.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_MAIN_DECODING_FORECAST_H
#define BATON_RUNTIME_MAIN_DECODING_FORECAST_H

#include "runtime/execute/metadata.h"
#include "runtime/main/commands.h"

namespace baton {

/// Prints it, for a prompt and tokens behind it as bench's options say.
void forecast_decoding(const Metadata &metadata, const BenchOptions &options);

} // namespace baton

#endif // BATON_RUNTIME_MAIN_DECODING_FORECAST_H

//===- bench_batches.h - speed of many sequences at once -----------------===//

#ifndef BATON_RUNTIME_MAIN_BENCH_BATCHES_H
#define BATON_RUNTIME_MAIN_BENCH_BATCHES_H

#include "runtime/main/commands.h"

namespace baton {

/// Prints how fast so many sequences as `options.batch` lists decode together.
/// Throws Error when the program holds one, or one of them has other tokens
/// than it has alone.
void bench_batches(const Metadata &metadata, const BenchOptions &options);

} // namespace baton

#endif // BATON_RUNTIME_MAIN_BENCH_BATCHES_H

//===- bench_steps.h - how long steps take, by what they hold -------------===//

#ifndef BATON_RUNTIME_MAIN_BENCH_STEPS_H
#define BATON_RUNTIME_MAIN_BENCH_STEPS_H

#include "runtime/main/commands.h"

namespace baton {

/// Measures steps of a program of many sequences over a grid of rows with
/// logits, rows without and positions before them, and writes the file that
/// `options.step_times` names, which batonc plan serve reads. Throws Error when
/// the grid does not fit the program, or the file cannot be written.
void bench_steps(const Metadata &metadata, const BenchOptions &options);

} // namespace baton

#endif // BATON_RUNTIME_MAIN_BENCH_STEPS_H

//===- Generators.h - schedules by name -----------------------------------===//

#ifndef BATON_PASSES_PIPELINE_GENERATORS_H
#define BATON_PASSES_PIPELINE_GENERATORS_H

#include "dialects/Dist/Schedule.h"

namespace baton::pipeline {

/// All forward steps, then all backward ones (Huang et al., "GPipe", 2018).
Schedule makeGPipe(int stages, int microbatches);

/// After stage i's first `stages - i` forward steps, a backward step precedes
/// each (Narayanan et al., "PipeDream", 2019; with a flush: Megatron-LM, 2021).
Schedule make1F1B(int stages, int microbatches);

/// Several chunks a stage: a model goes round the stages as often (Narayanan et
/// al., "Efficient large-scale language model training on GPU clusters using
/// Megatron-LM", 2021). Microbatches are a multiple of stages.
Schedule makeInterleaved(int stages, int microbatches, int chunks);

/// 1F1B whose weight steps wait, so that all stages have as many microbatches
/// in flight and idle a third (Qi et al., "Zero Bubble Pipeline Parallelism",
/// 2023, arXiv 2401.10241: handcrafted schedule 1).
Schedule makeZeroBubbleH1(int stages, int microbatches);

/// With twice the microbatches in flight, and without idling where all phases
/// take as long (the same paper: handcrafted schedule 2).
Schedule makeZeroBubbleH2(int stages, int microbatches);

/// `gpipe`, `1f1b`, `interleaved:CHUNKS`, `zb-h1` or `zb-h2`; `error` says what
/// is wrong with the name, or with the numbers for it.
std::optional<Schedule> makeSchedule(const std::string &name, int stages,
                                     int microbatches, std::string &error);

} // namespace baton::pipeline

#endif // BATON_PASSES_PIPELINE_GENERATORS_H

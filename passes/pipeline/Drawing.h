//===- Drawing.h - a schedule's timeline to look at -----------------------===//

#ifndef BATON_PASSES_PIPELINE_DRAWING_H
#define BATON_PASSES_PIPELINE_DRAWING_H

#include "passes/pipeline/Simulator.h"

namespace baton::pipeline {

/// A line for each stage, of at most `width` columns of time. A column shows
/// the phase (F, B, W) that its middle falls into, small letters for chunks
/// with odd numbers; dots are idle.
std::string drawText(const Schedule &schedule, const Timeline &timeline,
                     int width);

/// A picture: a row for each stage, boxes with microbatches' numbers.
std::string drawSvg(const Schedule &schedule, const Timeline &timeline);

} // namespace baton::pipeline

#endif // BATON_PASSES_PIPELINE_DRAWING_H

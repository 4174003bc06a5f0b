//===- ScheduleProof.h - tables that cannot go wrong ----------------------===//

#ifndef BATON_DIALECTS_DIST_SCHEDULEPROOF_H
#define BATON_DIALECTS_DIST_SCHEDULEPROOF_H

#include "dialects/Dist/Schedule.h"

namespace baton::pipeline {

/// What is wrong with a schedule's tables, in one line; empty if nothing is.
/// Then, whatever steps and messages take:
///
/// - every stage has each phase of each microbatch in each of its chunks, once;
/// - forward comes before input, and input before weight;
/// - no more than `inFlight` forward steps of a stage wait for their backward;
/// - no set of stages waits for one another.
///
/// Stages exchange messages through channels: one from a stage to another for
/// activations, and one for gradients. A step sends as its last act. It
/// receives as its first one, waiting until its message is the first of the
/// channel: channels keep the order in which messages are sent. With `buffers`
/// a channel holds as many messages and no more, and who sends another one
/// waits until one is received; 0 stands for any number.
///
/// The last claim is that the union of these orders has no cycle: program order
/// of each stage, messages, the order of each channel, and free buffers.
std::string findFault(const Schedule &schedule, int buffers = 0);

} // namespace baton::pipeline

#endif // BATON_DIALECTS_DIST_SCHEDULEPROOF_H

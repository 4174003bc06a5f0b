//===- judge.h - judges a plan by running it in thought -------------------===//
//
// A second judge of plans, which shares nothing with event-verify: where that
// proves for all steps and all workers, this unrolls one step for a number of
// workers, task by task and byte by byte.
//
// What a plan is as JSON ("format": 1; docs/event-dialect.md says what it
// means):
//
//   programs   [{name, max_rows, max_seq, max_outputs,
//                mesh: null | {names, sizes, batch},
//                storages: {name: bytes | {bytes, scope, slot}},
//                buffers, events, segments, schedules?}]
//     scope    "transient" (free between programs), "rank", or "stage" (of
//              each chunk); slot "", "flight", "microbatch", "chunk": of what
//              there are several
//     buffers  [{name, kind, element_bytes, extents, capacity, strides?,
//                storage?, offset?, layers?, layer_stride?, ring?,
//                interleave?, interleave_columns?, carry?}]
//     events   [{name, shape, capacity?, count, scope?}]
//     segments [{name, repeat?, reverse?, phases}]
//     phases   [{name, grid, capacity?, distribution?, row_tiles?: {rows,
//                size}, ahead?, accesses, waits?, notify?: {event, index},
//                body?}]
//     accesses [{write, buffer, low, high, may?, if?}]
//     if       the buffer of a flag, without which the read does not happen
//     waits    [{event, distance?, low, high}]
//     body     {calls} | {exchange: {kind, axes, transfers: [{send, receive,
//              elements, part}]}} | {message: {direction, peer, axis, channel,
//              tensors}} | {advance: buffer}
//     schedules [{rows, past, outputs, workers: [[{phase, iteration,
//                 coordinates}]]}]
//   step       null, or {axis, places: [[{program, chunk, microbatch, slot}]]}:
//              what the ranks at each place of an axis run, in order
//   training   whether a step with no outputs only adds to gradients
//
// Numbers that depend on a step are text: d0, d1, ... rows, past, outputs, with
// + - * floordiv ceildiv mod.
//
// `carry` of a persistent buffer: null (what a step reads was written in it, by
// a task or by the runtime), "kept" (values live from step to step, and no task
// writes them), "renewed" (a step with outputs writes all of them again),
// "shared" (another program of the step does).
//
//===----------------------------------------------------------------------===//

#ifndef BATON_TOOLS_CHECK_PLAN_JUDGE_H
#define BATON_TOOLS_CHECK_PLAN_JUDGE_H

#include "tools/check-plan/findings.h"
#include "tools/check-plan/plan.h"

#include <span>

namespace baton::check {

/// A step, and how many workers run it: 0 for one to each task, which is what
/// events alone order. Among other numbers that is left out of a large step.
struct Instance {
  Symbols symbols;
  std::vector<uint32_t> workers;
};

struct Verdict {
  std::vector<Finding> findings;
  /// Of all ranks, programs and numbers of workers.
  uint64_t tasks = 0;

  bool accepted() const { return findings.empty(); }
};

/// Whether a step may be of such rows, past and outputs.
bool fits(const Plan &plan, const Symbols &symbols);

/// Instances that show most of what can be wrong, smallest first. What is given
/// is taken.
std::vector<Instance> choose_instances(const Plan &plan,
                                       std::optional<int64_t> rows,
                                       std::optional<int64_t> past,
                                       std::optional<int64_t> outputs,
                                       std::vector<uint32_t> workers);

/// The first number of workers with a fault ends it, unless all are asked for.
/// Throws Error when the instance is too large, or no instance of the plan.
Verdict judge(const Plan &plan, const Instance &instance, bool all = false);

} // namespace baton::check

#endif // BATON_TOOLS_CHECK_PLAN_JUDGE_H

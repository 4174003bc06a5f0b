//===- Json.cpp - an explanation for programs -----------------------------===//

#include "compiler/explain/Explanation.h"
#include "compiler/explain/Words.h"

#include "llvm/ADT/DenseMap.h"

#include <cmath>
#include <nlohmann/json.hpp>

using namespace baton;
using namespace baton::explain;
using Json = nlohmann::ordered_json;

/// To the nanosecond.
static double rounded(double microseconds) {
  return std::round(microseconds * 1000) / 1000;
}

static Json figureJson(const Figure &figure) {
  return {{"value", figure.value}, {"from", figure.from}};
}

static Json machineJson(const Machine &machine) {
  Json result = {
      {"workers", figureJson(machine.workers)},
      {"read_bandwidth_gb_s", figureJson(machine.bandwidthGigabytes)},
      {"fma_gflop_s", figureJson(machine.peakGigaflops)},
      {"event_us", figureJson(machine.eventMicroseconds)}};
  if (machine.tensorGigaflops)
    result["tensor_bf16_gflop_s"] = figureJson(*machine.tensorGigaflops);
  return result;
}

static Json
waitsJson(event::PhaseOp phase,
          const llvm::DenseMap<mlir::Attribute, unsigned> &notifiers) {
  Json result = Json::array();
  for (event::WaitAttr wait : phase.getWaitAttrs())
    result.push_back({{"event", wait.getEvent().getValue().str()},
                      {"phase", notifiers.lookup(wait.getEvent().getAttr())},
                      {"distance", wait.getDistance()},
                      {"low", affineText(wait.getLow())},
                      {"high", affineText(wait.getHigh())}});
  return result;
}

static Json accessesJson(event::PhaseOp phase, bool write) {
  Json result = Json::array();
  for (event::AccessAttr access : phase.getAccessAttrs())
    if (access.getWrite() == write)
      result.push_back({{"buffer", access.getBuffer().getValue().str()},
                        {"low", affineText(access.getLow())},
                        {"high", affineText(access.getHigh())}});
  return result;
}

static Json
phaseJson(const PhaseExplanation &phase,
          const llvm::DenseMap<mlir::Attribute, unsigned> &notifiers,
          event::ProgramOp program) {
  event::PhaseOp op = phase.op;
  Json result = {{"name", phase.name},
                 {"short_name", shortName(op)},
                 {"segment", phase.segment},
                 {"repeat", phase.repeat},
                 {"grid", affineText(op.getGrid())},
                 {"calls", phase.calls},
                 {"distribution",
                  event::stringifyDistribution(op.getDistribution()).str()},
                 {"reads", accessesJson(op, /*write=*/false)},
                 {"writes", accessesJson(op, /*write=*/true)},
                 {"waits", waitsJson(op, notifiers)},
                 {"event", nullptr},
                 {"reasons",
                  {{"fusion", phase.fusion},
                   {"cublaslt", phase.product ? Sentences{phase.product->reason}
                                              : Sentences{}},
                   {"order", phase.order},
                   {"events", phase.events}}}};
  if (auto notify = op.getNotify()) {
    auto tensor = mlir::SymbolTable::lookupNearestSymbolFrom<event::TensorOp>(
        program, notify->getEvent());
    result["event"] = {{"name", notify->getEvent().getValue().str()},
                       {"index", affineText(notify->getIndex())},
                       {"shape", affineText(tensor.getShape())},
                       {"count", affineText(tensor.getCount())}};
  }
  return result;
}

static Json atStepJson(const PhaseAtStep &phase, int64_t repeat) {
  const Cost &cost = phase.cost;
  double times = static_cast<double>(repeat);
  Json result = {{"tasks", phase.balance.tasks},
                 {"flops", times * cost.flops},
                 {"flops_known", cost.flopsKnown},
                 {"bytes",
                  {{"weights", times * cost.weightBytes},
                   {"activations_read", times * cost.readBytes},
                   {"activations_written", times * cost.writtenBytes},
                   {"state_read", times * cost.stateReadBytes},
                   {"state_written", times * cost.stateWrittenBytes}}},
                 {"memory_us", rounded(phase.memory)},
                 {"compute_us", rounded(phase.compute)},
                 {"imbalance_us", rounded(phase.imbalance)},
                 {"events_us", rounded(phase.events)},
                 {"boundary_us", rounded(phase.boundary)},
                 {"predicted_us", rounded(phase.predicted())},
                 {"bound", phase.bound},
                 {"rounds", phase.balance.rounds},
                 {"busy", phase.balance.busy()},
                 {"event_words", phase.eventWords},
                 {"reasons", {{"tile", phase.tile}}},
                 {"measured_us", nullptr},
                 {"measured_busy_us", nullptr},
                 {"measured_waiting_us", nullptr}};
  if (phase.measured) {
    result["measured_us"] = rounded(phase.measured->wall);
    result["measured_busy_us"] = rounded(phase.measured->busy);
    result["measured_waiting_us"] = rounded(phase.measured->waiting);
  }
  return result;
}

/// A worker's tasks of one phase and iteration that lie behind one another are
/// one run: [worker, phase, iteration, begin, ready, end, tasks].
static Json runsJson(const Timeline &timeline) {
  constexpr double gap = 0.5;
  std::vector<std::vector<const TaskRun *>> byWorker(timeline.workers);
  for (const TaskRun &run : timeline.runs)
    byWorker[run.worker].push_back(&run);
  Json result = Json::array();
  for (auto &runs : byWorker) {
    llvm::sort(runs, [](const TaskRun *a, const TaskRun *b) {
      return std::tie(a->begin, a->end) < std::tie(b->begin, b->end);
    });
    for (size_t first = 0, next; first < runs.size(); first = next) {
      next = first + 1;
      while (next < runs.size() && runs[next]->phase == runs[first]->phase &&
             runs[next]->iteration == runs[first]->iteration &&
             runs[next]->ready - runs[next - 1]->end < gap)
        ++next;
      result.push_back({runs[first]->worker, runs[first]->phase,
                        runs[first]->iteration, rounded(runs[first]->begin),
                        rounded(runs[first]->ready),
                        rounded(runs[next - 1]->end), next - first});
    }
  }
  return result;
}

static Json timelineJson(const Timeline &timeline) {
  return {{"workers", timeline.workers},
          {"us", rounded(timeline.microseconds)},
          {"runs", runsJson(timeline)}};
}

static Json stepJson(const StepExplanation &step,
                     llvm::ArrayRef<PhaseExplanation> phases) {
  Json atStep = Json::array();
  for (auto [phase, at] : llvm::zip(phases, step.phases))
    atStep.push_back(atStepJson(at, phase.repeat));
  Json lifetimes = Json::array();
  for (const Lifetime &lifetime : step.lifetimes) {
    Json live = Json::array();
    for (size_t index = 0; index < lifetime.live.size(); ++index)
      if (lifetime.live[index])
        live.push_back(index);
    lifetimes.push_back({{"buffer", lifetime.buffer},
                         {"storage", lifetime.storage},
                         {"bytes", lifetime.bytes},
                         {"phases", std::move(live)}});
  }
  Json result = {{"name", step.name},
                 {"rows", step.step.rows},
                 {"past", step.step.past},
                 {"outputs", step.step.outputs},
                 {"predicted_us", rounded(step.predicted())},
                 {"simulated_us", rounded(step.simulated.microseconds)},
                 {"measured_us", nullptr},
                 {"notes", step.notes},
                 {"phases", std::move(atStep)},
                 {"buffers", std::move(lifetimes)},
                 {"simulated", timelineJson(step.simulated)},
                 {"measured", nullptr}};
  if (step.measured) {
    result["measured_us"] = rounded(step.measured->microseconds);
    result["measured"] = timelineJson(*step.measured);
  }
  return result;
}

std::string explain::explanationJson(const Explanation &explanation) {
  event::ProgramOp program = explanation.program;
  const std::optional<BatchLimits> batch = batchOf(program);
  llvm::DenseMap<mlir::Attribute, unsigned> notifiers;
  for (auto [index, phase] : llvm::enumerate(explanation.phases))
    if (auto notify = event::PhaseOp(phase.op).getNotify())
      notifiers[notify->getEvent().getAttr()] = index;
  Json phases = Json::array(), steps = Json::array(), remarks = Json::array();
  for (const PhaseExplanation &phase : explanation.phases)
    phases.push_back(phaseJson(phase, notifiers, program));
  for (const StepExplanation &step : explanation.steps)
    steps.push_back(stepJson(step, explanation.phases));
  for (const compiler::Remark &remark : explanation.remarks)
    remarks.push_back({{"at", remark.at}, {"text", remark.text}});
  Json result = {
      {"format", 1},
      {"model", explanation.model},
      {"max_rows", program.getMaxRows()},
      {"max_seq", batch ? batch->longest : int64_t(program.getMaxSeq())},
      {"sequences", batch ? Json(batch->sequences) : Json()},
      {"max_outputs", program.getMaxOutputs()},
      {"machine", machineJson(explanation.machine)},
      {"measured_from", explanation.measuredFrom},
      {"memory",
       {{"weights", explanation.memory.weights},
        {"states", explanation.memory.states},
        {"kept", explanation.memory.kept},
        {"exchanges", explanation.memory.exchanges},
        {"transients", explanation.memory.transients},
        {"scratch", explanation.memory.scratch}}},
      {"phases", std::move(phases)},
      {"steps", std::move(steps)},
      {"remarks", std::move(remarks)}};
  return result.dump(-1, ' ', false, Json::error_handler_t::replace);
}

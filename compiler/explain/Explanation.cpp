//===- Explanation.cpp - a plan, its predicted and its measured times -----===//

#include "compiler/explain/Explanation.h"

#include "compiler/explain/Words.h"

using namespace baton;
using namespace baton::explain;

bool explain::trains(event::ProgramOp program) {
  return program->hasAttr("event.longest_sequence");
}

double StepExplanation::predicted() const {
  double sum = 0;
  for (const PhaseAtStep &phase : phases)
    sum += phase.predicted();
  return sum;
}

static PhaseExplanation explainPhase(event::ProgramOp program,
                                     event::PhaseOp phase,
                                     llvm::ArrayRef<compiler::Remark> remarks,
                                     std::vector<bool> &used,
                                     const Products &products) {
  auto segment = mlir::cast<event::SegmentOp>(phase->getParentOp());
  PhaseExplanation result{phase,
                          phase.getName().str(),
                          segment.getName().str(),
                          static_cast<int64_t>(segment.getRepeat()),
                          {},
                          fusionReasons(phase, remarks, used),
                          orderReasons(program, phase),
                          eventReasons(program, phase),
                          std::nullopt};
  for (const compiler::ProductChoice &choice : products.choices)
    if (choice.phase == phase)
      result.product = choice;
  for (auto call : phase.getBody().getOps<event::CallOp>())
    result.calls.push_back(call.getCallee().str());
  if (!phase.getBody().getOps<event::AdvanceOp>().empty())
    result.calls.push_back("advance");
  for (auto exchange : phase.getBody().getOps<event::ExchangeOp>()) {
    int64_t bytes = 0;
    for (event::TransferAttr transfer : exchange.getTransfers()) {
      auto buffer = mlir::SymbolTable::lookupNearestSymbolFrom<event::BufferOp>(
          exchange, transfer.getSend());
      // Of the largest step.
      const int64_t most[] = {int64_t(program.getMaxRows()), 0,
                              int64_t(program.getMaxOutputs())};
      bytes += event::evaluate(transfer.getElements(), {}, most).front() *
               (buffer.getElement().getIntOrFloatBitWidth() / 8);
    }
    result.calls.push_back((event::stringifyExchangeKind(exchange.getKind()) +
                            " of " + llvm::Twine(bytes) + " bytes between " +
                            llvm::Twine(exchange.countRanks()) + " ranks")
                               .str());
  }
  return result;
}

static PhaseAtStep explainAt(event::ProgramOp program,
                             const PhaseExplanation &phase, const Step &step,
                             const PhaseCost &cost, const Machine &machine,
                             const compiler::TargetDescription *target,
                             const compiler::TargetDescription &figures) {
  PhaseAtStep result;
  double repeat = static_cast<double>(phase.repeat);
  event::PhaseOp op = phase.op;
  result.cost = cost.once;
  result.balance = balanceOf(op, step, cost, machine);
  result.tile = tileReasons(op, step, cost, result.balance, machine, target);
  result.eventWords = eventWords(program, op, step);
  result.memory = repeat * machine.memoryMicroseconds(cost.once.bytes());
  result.compute = repeat * machine.computeMicroseconds(cost.once.flops,
                                                        cost.once.bf16Flops);
  double least = std::max(result.memory, result.compute);
  result.imbalance = std::max(0.0, repeat * result.balance.longest - least);
  // Phases behind one another hand over once.
  if (result.balance.tasks > 0 && !op.getWaits().empty())
    result.events = repeat * machine.eventMicroseconds.value;
  const std::optional<compiler::ProductChoice> &product = phase.product;
  if (product && product->leastRows && step.rows >= product->leastRows)
    if (auto times =
            compiler::productTimes(*product->product, step.rows, figures))
      result.boundary = repeat * times->boundary;
  result.bound = result.events > least + result.imbalance ? "synchronisation"
                 : result.memory >= result.compute        ? "memory"
                                                          : "compute";
  return result;
}

static StepExplanation explainStep(const Explanation &explanation,
                                   const NamedStep &named,
                                   llvm::ArrayRef<TracedStep> traced,
                                   const compiler::TargetDescription *target,
                                   const compiler::TargetDescription &figures) {
  StepExplanation result;
  result.name = named.name;
  result.step = named.step;
  if (!traced.empty()) {
    LikeSteps like = findLike(traced, named.step);
    if (like.shortest) {
      if (like.count > 1 || like.shortest->step.past != named.step.past)
        result.notes.push_back(
            "measured is the shortest of " +
            plural(static_cast<int64_t>(like.count), "such step") +
            (trains(explanation.program)
                 ? ""
                 : " after " + std::to_string(like.leastPast) + " to " +
                       std::to_string(like.mostPast) + " positions"));
      result.step = like.shortest->step;
      result.measured = like.shortest->timeline;
    } else {
      result.notes.push_back("not measured: the trace has no step of " +
                             plural(named.step.rows, "row") + " with " +
                             plural(named.step.outputs, "output"));
    }
  }
  if (batchOf(explanation.program))
    result.notes.push_back(
        "whose rows these are, and at which positions, only a step knows: "
        "attention is counted as of one text that begins with them, and what "
        "rows see of steps before costs more");
  for (auto schedule : event::ProgramOp(explanation.program)
                           .getBody()
                           .getOps<event::ScheduleOp>())
    if (int64_t(schedule.getRows()) == result.step.rows &&
        int64_t(schedule.getPast()) == result.step.past &&
        int64_t(schedule.getOutputs()) == result.step.outputs)
      result.notes.push_back(
          "the plan lists this step's tasks for each worker; "
          "busy and simulated are of rank order instead");
  std::vector<PhaseCost> costs;
  for (const PhaseExplanation &phase : explanation.phases) {
    costs.push_back(phaseCost(phase.op, result.step));
    result.phases.push_back(explainAt(explanation.program, phase, result.step,
                                      costs.back(), explanation.machine, target,
                                      figures));
  }
  result.simulated =
      simulate(explanation.program, result.step, costs, explanation.machine);
  if (result.measured)
    for (auto [phase, time] : llvm::zip(
             result.phases, phaseTimes(*result.measured, explanation.program)))
      phase.measured = time;
  result.lifetimes = lifetimes(explanation.program, result.step);
  return result;
}

Explanation explain::explainPlan(const compiler::Plan &plan,
                                 const std::string &model,
                                 llvm::ArrayRef<NamedStep> steps,
                                 llvm::ArrayRef<TracedStep> traced,
                                 const Machine &machine,
                                 const compiler::TargetDescription *target,
                                 const Products &products) {
  Explanation result;
  result.model = model;
  result.program = plan.program();
  result.machine = machine;
  const std::vector<compiler::Remark> &remarks = plan.remarks();
  std::vector<bool> used(remarks.size());
  for (event::PhaseOp phase : event::phasesOf(result.program))
    result.phases.push_back(
        explainPhase(result.program, phase, remarks, used, products));
  for (auto [index, remark] : llvm::enumerate(remarks))
    if (!used[index])
      result.remarks.push_back(remark);
  result.memory = memoryUse(result.program);
  for (const NamedStep &step : steps)
    result.steps.push_back(
        explainStep(result, step, traced, target, products.figures));
  return result;
}

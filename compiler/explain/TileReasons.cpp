//===- TileReasons.cpp - what a tile is, and how tiles fall onto workers --===//

#include "compiler/explain/Reasons.h"
#include "compiler/explain/Timeline.h"
#include "compiler/explain/Words.h"

#include "codegen/bodies/TaskCalls.h"

#include "mlir/IR/BuiltinOps.h"

using namespace baton;
using namespace baton::explain;

Balance explain::balanceOf(event::PhaseOp phase, const Step &step,
                           const PhaseCost &cost, const Machine &machine) {
  Balance balance;
  unsigned workers = machine.workerCount();
  std::vector<double> load(workers);
  std::vector<int64_t> tasks(workers), previous(workers, -1);
  auto times = taskTimes(cost, machine);
  auto coordinates = tasksOf(phase, step);
  balance.tasks = static_cast<int64_t>(coordinates.size());
  std::vector<unsigned> runners = workersOf(phase, step, workers);
  for (auto [task, at] : llvm::enumerate(coordinates)) {
    unsigned worker = runners[task];
    int64_t leading = at.empty() ? 0 : at[0];
    load[worker] +=
        previous[worker] == leading ? times[task].again : times[task].first;
    previous[worker] = leading;
    ++tasks[worker];
  }
  for (unsigned worker = 0; worker < workers; ++worker) {
    balance.busyWorkers += tasks[worker] > 0;
    balance.rounds = std::max(balance.rounds, tasks[worker]);
    balance.longest = std::max(balance.longest, load[worker]);
    balance.mean += load[worker] / workers;
  }
  return balance;
}

/// How much of a dimension each task takes: its buffer's box moves by so much
/// from one coordinate to the next. Nothing when it does not move evenly.
static std::optional<int64_t> tileSize(event::PhaseOp phase,
                                       const CoordinateMeaning &meaning) {
  if (!meaning.access)
    return std::nullopt;
  event::AccessAttr access = meaning.access;
  mlir::AffineExpr size =
      mlir::simplifyAffineExpr(access.getHigh().getResult(meaning.dimension) -
                                   access.getLow().getResult(meaning.dimension),
                               phase.getMapRank(), event::kStepSymbols);
  auto constant = mlir::dyn_cast<mlir::AffineConstantExpr>(size);
  return constant ? std::optional<int64_t>(constant.getValue()) : std::nullopt;
}

static bool isAttentionBody(bodies::Kind kind) {
  switch (kind) {
  case bodies::Kind::attention:
  case bodies::Kind::attention_partial:
  case bodies::Kind::attention_merge:
  case bodies::Kind::attention_delta:
  case bodies::Kind::attention_query_gradient:
  case bodies::Kind::attention_key_value_gradient:
    return true;
  default:
    return false;
  }
}

/// The entry of the target's description that says so, or nothing.
static std::string entryFor(event::PhaseOp phase, const std::string &along,
                            int64_t size,
                            const compiler::TargetDescription *target) {
  if (!target)
    return "";
  bool isLinear = false, isGated = false, isAmx = false, isAttention = false;
  auto module = phase->getParentOfType<mlir::ModuleOp>();
  for (auto call : phase.getBody().getOps<event::CallOp>()) {
    if (module && module.lookupSymbol<event::BodyOp>(call.getCallee()))
      return "the body's grid";
    std::optional<bodies::BodyFunction> body = bodies::lookUp(call);
    isLinear |= body && (body->kind == bodies::Kind::linear ||
                         body->kind == bodies::Kind::integer_linear ||
                         body->kind == bodies::Kind::partly_integer_linear ||
                         body->kind == bodies::Kind::rounded_linear ||
                         body->kind == bodies::Kind::amx_linear);
    isGated |= body && (body->kind == bodies::Kind::gated_linear ||
                        body->kind == bodies::Kind::integer_gated_linear ||
                        body->kind == bodies::Kind::rounded_gated_linear ||
                        body->kind == bodies::Kind::amx_gated_linear);
    isAmx |= body && (body->kind == bodies::Kind::amx_linear ||
                      body->kind == bodies::Kind::amx_gated_linear);
    isAttention |= body && isAttentionBody(body->kind);
  }
  if (along == "rows") {
    auto [name, value] =
        isLinear || isGated
            ? std::pair(isAmx && target->linearRows == target->amxLinearRows
                            ? "amx_linear_rows"
                            : "linear_rows",
                        target->linearRows)
        : isAttention ? std::pair("attention_rows", target->attentionRows)
                      : std::pair("plain_rows", target->plainRows);
    return size == value ? name : "";
  }
  if (along == "blocks" && isAttention && size * 64 == target->attentionSplit)
    return "attention_split, 64 positions each";
  if (along == "columns" && isLinear && size == target->linearColumns)
    return "linear_columns";
  if (along == "columns" && isGated &&
      size <= bodies::gatedColumns(target->linearColumns))
    return "half of linear_columns, because a tile reads two weights";
  return "";
}

static std::string tileText(event::PhaseOp phase, const Step &step,
                            const compiler::TargetDescription *target) {
  std::vector<std::string> parts;
  for (unsigned d = 0; d < phase.getRank(); ++d) {
    CoordinateMeaning meaning = meaningOf(phase, d);
    std::optional<int64_t> size = tileSize(phase, meaning);
    if (!size)
      continue;
    std::string noun = meaning.name;
    if (*size == 1)
      noun.pop_back();
    std::string text = std::to_string(*size) + " " + noun;
    auto buffer = mlir::SymbolTable::lookupNearestSymbolFrom<event::BufferOp>(
        phase, meaning.access.getBuffer());
    int64_t extent = event::evaluate(buffer.getExtents(), {},
                                     step.symbols())[meaning.dimension];
    std::vector<std::string> remarks;
    if (std::string entry = entryFor(phase, meaning.name, *size, target);
        !entry.empty())
      remarks.push_back(entry);
    bool isState = buffer.getKind() == event::BufferKind::state;
    int64_t used = meaning.dimension == 0 && isState ? step.rows : extent;
    if (used < *size)
      remarks.push_back("this step has " + std::to_string(used));
    if (!remarks.empty())
      text += " (" + remarks[0] +
              (remarks.size() > 1 ? "; " + remarks[1] : "") + ")";
    parts.push_back(text);
  }
  if (parts.empty())
    return "one task does all of it";
  std::string text = "a tile is " + parts[0];
  for (size_t i = 1; i < parts.size(); ++i)
    text += " by " + parts[i];
  return text;
}

/// Whether tiles at the end of the grid have less to do than others, by more
/// than a rounding.
static bool hasSmallerTiles(const PhaseCost &cost) {
  auto [least, most] = std::minmax_element(
      cost.tasks.begin(), cost.tasks.end(),
      [](const Cost &a, const Cost &b) { return a.flops < b.flops; });
  return least->flops < 0.9 * most->flops;
}

static std::string workersText(event::PhaseOp phase, const PhaseCost &cost,
                               const Balance &balance, unsigned workers) {
  std::string text =
      plural(balance.tasks, "task") + " on " + plural(workers, "worker") + ": ";
  text += balance.rounds == 1 ? "1 round" : plural(balance.rounds, "round");
  text += ", " + percentText(balance.busy()) + " busy";
  if (balance.busyWorkers < workers)
    text += " (" + plural(workers - balance.busyWorkers, "worker") +
            " without a task)";
  if (balance.tasks == 1)
    return text;
  if (phase.getDistribution() == event::Distribution::ticket)
    return text + "; taken by whoever is free, as the schedule says";
  if (phase.getDistribution() == event::Distribution::cyclic &&
      phase.hasEntries())
    return text + "; dealt out in turn, because only the step's tables say how "
                  "much a tile has to do, and neighbours have alike";
  if (phase.getDistribution() == event::Distribution::cyclic)
    return text + "; dealt out in turn, because tiles read boxes of different "
                  "sizes";
  text += "; dealt out in blocks, because full tiles are alike and neighbours "
          "share what they read";
  if (hasSmallerTiles(cost))
    text += " (some at an edge have less to do; shares are of equal rows)";
  return text;
}

Sentences explain::tileReasons(event::PhaseOp phase, const Step &step,
                               const PhaseCost &cost, const Balance &balance,
                               const Machine &machine,
                               const compiler::TargetDescription *target) {
  if (balance.tasks == 0)
    return {"no task in this step"};
  Sentences reasons = {tileText(phase, step, target)};
  double most = 0;
  for (const Cost &task : cost.tasks)
    most = std::max(most, task.weightBytes);
  if (most > 0) {
    std::string text = "a task reads " + bytesText(most) + " of weights";
    if (cost.weightReads > 1.05) {
      char times[32];
      std::snprintf(times, sizeof(times), "%.3g", cost.weightReads);
      text += std::string("; all tiles together read each byte ") + times +
              " times, once from memory if caches hold it";
    }
    reasons.push_back(text);
  }
  if (cost.invariantFlops > 0)
    reasons.push_back("every worker with a tile of these rows spends " +
                      flopsText(cost.invariantFlops) +
                      " on computing the norm again");
  reasons.push_back(workersText(phase, cost, balance, machine.workerCount()));
  return reasons;
}

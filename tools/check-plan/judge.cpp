//===- judge.cpp - judges a plan by running it in thought -----------------===//

#include "tools/check-plan/judge.h"
#include "tools/check-plan/run.h"

#include <algorithm>
#include <map>

using namespace baton::check;

static constexpr size_t max_single_tasks = 12288, max_single_words = 1 << 17;

static std::string named(const Symbols &step) {
  return text(step.rows, step.rows == 1 ? " row" : " rows", ", past ",
              step.past, ", outputs ", step.outputs);
}

namespace {
/// A step of all ranks.
class StepJudge {
public:
  StepJudge(const Plan &plan, const Instance &instance, uint32_t program,
            bool all)
      : plan(plan), instance(instance), first(plan.programs[program]),
        program(program), regions(plan) {
    findings.context = named(instance.symbols) + ": ";
    const Index zero{{}, first.sizes.rank};
    Index place = zero;
    do
      add_rank(place);
    while (step(place, zero, first.sizes, place.rank));
    regions.finish();
    for (uint32_t workers : instance.workers)
      if (all || findings.list.empty())
        run(workers);
  }

  Findings findings;
  uint64_t tasks = 0;

private:
  bool sends_rows(size_t axis) const {
    for (const Program &other : plan.programs)
      for (const Phase &phase : other.phases)
        if (phase.exchange &&
            (phase.exchange->dispatches || phase.exchange->combines) &&
            std::count(phase.exchange->axes.begin(), phase.exchange->axes.end(),
                       axis))
          return true;
    return false;
  }

  void add_rank(const Index &place) {
    Rank &rank = ranks.emplace_back();
    rank.place = place;
    Symbols symbols = instance.symbols;
    std::vector<Call> calls = {{program, 0, 0, 0}};
    for (size_t axis = 0; axis < place.rank; ++axis) {
      // Ranks of batch axes have rows of their own, but for explicit schedules,
      // which are for the steps that they name; those that send rows to experts
      // of one another are taken to have as many.
      if (first.batch[axis] && !has_schedules && !sends_rows(axis))
        symbols.rows =
            std::max<int64_t>({1, symbols.outputs, symbols.rows - place[axis]});
      if (!plan.places.empty() && first.axes[axis] == plan.axis)
        calls = plan.places[place[axis]];
    }
    // A program that trains adds to gradients, and then updates.
    std::vector<Symbols> steps = {symbols};
    if (plan.training && plan.places.empty() && symbols.outputs > 0 &&
        !has_schedules)
      steps.insert(steps.begin(), {symbols.rows, symbols.past, 0});
    rank.calls = calls.size();
    for (const Symbols &step : steps)
      for (const Call &call : calls)
        rank.programs.push_back(&unrolled(call, step));
  }

  const Unrolled &unrolled(const Call &call, const Symbols &symbols) {
    auto [found, is_new] = programs.try_emplace({call, symbols});
    if (is_new)
      found->second =
          unroll(plan.programs[call.program], call, symbols, regions, findings);
    return found->second;
  }

  /// Whether each task may have a worker of its own.
  bool has_few_tasks(const Unrolled &program) const {
    if (program.tasks.size() <= max_single_tasks &&
        program.iterations <= max_single_words)
      return true;
    if (instance.workers.size() > 1)
      return false;
    throw Error(text("@", program.program->name, " has ", program.tasks.size(),
                     " tasks; a worker for each is for ", max_single_tasks,
                     " at most"));
  }

  void run(uint32_t workers) {
    findings.context = text(named(instance.symbols),
                            workers == 0   ? ", a worker for each task"
                            : workers == 1 ? ", 1 worker"
                                           : text(", ", workers, " workers"),
                            ": ");
    std::map<const Unrolled *, Deal> deals;
    for (const auto &[key, program] : programs) {
      if (workers == 0 && !has_few_tasks(program))
        return;
      deals.try_emplace(&program, program, workers, findings);
    }
    for (size_t i = 0; i < ranks.size(); ++i) {
      Rank &rank = ranks[i];
      rank.name = ranks.size() > 1 ? text("rank ", i, " ") : "";
      rank.ended = follow_memory(regions, findings);
      rank.deals.clear();
      for (const Unrolled *program : rank.programs) {
        rank.deals.push_back(&deals.at(program));
        tasks += program->tasks.size();
      }
    }
    run_ranks(ranks, workers == 0, findings);
  }

  const Plan &plan;
  const Instance &instance;
  /// Which has the mesh.
  const Program &first;
  const uint32_t program;
  const bool has_schedules =
      std::any_of(plan.programs.begin(), plan.programs.end(),
                  [](const Program &one) { return !one.schedules.empty(); });
  Regions regions;
  std::map<std::pair<Call, Symbols>, Unrolled> programs;
  std::vector<Rank> ranks;
};
} // namespace

static bool fits(const Program &program, const Symbols &step) {
  return step.rows >= 1 && step.rows <= program.max_rows && step.past >= 0 &&
         step.rows + step.past <= program.max_seq && step.outputs >= 0 &&
         step.outputs <= std::min(step.rows, program.max_outputs);
}

bool baton::check::fits(const Plan &plan, const Symbols &step) {
  return std::any_of(
      plan.programs.begin(), plan.programs.end(),
      [&](const Program &program) { return ::fits(program, step); });
}

std::vector<Instance> baton::check::choose_instances(
    const Plan &plan, std::optional<int64_t> rows, std::optional<int64_t> past,
    std::optional<int64_t> outputs, std::vector<uint32_t> workers) {
  int64_t max_rows = 1;
  bool names_past = false;
  std::set<Symbols> chosen;
  for (const Program &program : plan.programs) {
    max_rows = std::max(max_rows, program.max_rows);
    names_past |= program.names_past;
    for (const Schedule &schedule : program.schedules)
      chosen.insert(schedule.symbols);
  }
  // Numbers that no tile's size divides.
  std::vector<int64_t> all_rows = {1, 2, 37, std::min<int64_t>(max_rows, 150)},
                       all_past = {0}, all_outputs = {1, 0, 3};
  if (names_past)
    all_past = {0, 1, 19, 45};
  if (plan.training || !plan.places.empty())
    all_outputs = {1};
  if (rows)
    all_rows = {*rows};
  if (past)
    all_past = {*past};
  if (outputs)
    all_outputs = {*outputs};
  if (chosen.empty() || rows || past || outputs)
    for (int64_t r : all_rows)
      for (int64_t p : all_past)
        for (int64_t o : all_outputs)
          if (fits(plan, {r, p, o}))
            chosen.insert({r, p, o});
  if (workers.empty())
    workers = {1, 2, 3, 8, 0};
  std::vector<Instance> instances;
  for (const Symbols &symbols : chosen)
    instances.push_back({symbols, workers});
  return instances;
}

Verdict baton::check::judge(const Plan &plan, const Instance &instance,
                            bool all) {
  if (!fits(plan, instance.symbols))
    throw Error("no program takes a step of " + named(instance.symbols));
  Verdict verdict;
  auto judge_program = [&](uint32_t program) {
    StepJudge judge(plan, instance, program, all);
    verdict.tasks += judge.tasks;
    verdict.findings.insert(verdict.findings.end(), judge.findings.list.begin(),
                            judge.findings.list.end());
  };
  if (!plan.places.empty())
    judge_program(plan.places[0][0].program);
  for (uint32_t i = 0; plan.places.empty() && i < plan.programs.size(); ++i)
    if (::fits(plan.programs[i], instance.symbols))
      judge_program(i);
  return verdict;
}

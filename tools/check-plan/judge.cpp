//===- judge.cpp - judges a plan by running it in thought -----------------===//

#include "tools/check-plan/judge.h"
#include "tools/check-plan/memory.h"

#include <algorithm>

using namespace baton::check;

namespace {
constexpr size_t max_single_tasks = 12288, max_single_words = 1 << 17;

/// A step of all ranks.
class StepJudge {
public:
  StepJudge(const Plan &plan, const Instance &instance, uint32_t program,
            bool all)
      : plan(plan), instance(instance), program(program), all(all),
        regions(plan) {}

  Verdict judge() {
    context(0, false);
    place_ranks();
    regions.finish();
    for (uint32_t workers : instance.workers)
      if (all || findings.list.empty())
        run(workers);
    verdict.findings = std::move(findings.list);
    return std::move(verdict);
  }

private:
  void context(uint32_t workers, bool has_workers) {
    const Symbols &of = instance.symbols;
    std::string text = std::to_string(of.rows) +
                       (of.rows == 1 ? " row, past " : " rows, past ") +
                       std::to_string(of.past) + ", outputs " +
                       std::to_string(of.outputs);
    if (has_workers)
      text += workers == 0   ? ", a worker for each task"
              : workers == 1 ? ", 1 worker"
                             : ", " + std::to_string(workers) + " workers";
    findings.context = text + ": ";
  }

  void place_ranks() {
    const Program &first = plan.programs[program];
    std::vector<int64_t> place(first.sizes.size());
    for (;;) {
      add_rank(first, place);
      size_t axis = place.size();
      while (axis > 0 && ++place[axis - 1] == first.sizes[axis - 1])
        place[--axis] = 0;
      if (axis == 0)
        return;
    }
  }

  /// Explicit schedules are for the steps that they name.
  bool is_scheduled() const {
    return !plan.programs[program].schedules.empty();
  }

  void add_rank(const Program &first, const std::vector<int64_t> &place) {
    Run::Rank &rank = ranks.emplace_back();
    rank.place = place;
    // Ranks of batch axes have rows of their own.
    Symbols symbols = instance.symbols;
    for (size_t axis = 0; axis < place.size(); ++axis)
      if (first.batch[axis])
        symbols.rows =
            std::max<int64_t>({1, symbols.outputs, symbols.rows - place[axis]});
    std::vector<Call> calls = {{program, 0, 0, 0}};
    for (size_t axis = 0; axis < place.size() && !plan.places.empty(); ++axis)
      if (first.axes[axis] == plan.axis)
        calls = plan.places[place[axis]];
    // A program that trains adds to gradients, and then updates.
    std::vector<Symbols> steps = {symbols};
    if (plan.training && plan.places.empty() && symbols.outputs > 0 &&
        !is_scheduled()) {
      steps.insert(steps.begin(), symbols);
      steps.front().outputs = 0;
    }
    for (const Symbols &step : steps) {
      for (const Call &call : calls) {
        rank.programs.push_back(&unrolled(call, step));
        rank.ends_step.push_back(false);
      }
      rank.ends_step.back() = true;
    }
  }

  const Unrolled &unrolled(const Call &call, const Symbols &symbols) {
    auto [found, is_new] = programs.try_emplace({call, symbols});
    if (is_new)
      found->second =
          unroll(plan.programs[call.program], call, symbols, regions, findings);
    return found->second;
  }

  void run(uint32_t workers) {
    context(workers, true);
    std::map<const Unrolled *, Deal> deals;
    for (const auto &[key, program] : programs) {
      const bool is_large =
          workers == 0 && (program.tasks.size() > max_single_tasks ||
                           program.iterations > max_single_words);
      if (is_large && instance.workers.size() > 1)
        return;
      if (is_large)
        throw Error("@" + program.program->name + " has " +
                    std::to_string(program.tasks.size()) +
                    " tasks; a worker for each is for " +
                    std::to_string(max_single_tasks) + " at most");
      deals.try_emplace(&program, program, workers, findings);
    }
    std::vector<Memory> memories;
    for (size_t i = 0; i < ranks.size(); ++i) {
      ranks[i].deals.clear();
      for (const Unrolled *program : ranks[i].programs) {
        ranks[i].deals.push_back(&deals.at(program));
        verdict.tasks += program->tasks.size();
      }
      memories.emplace_back(
          regions, ranks.size() > 1 ? "rank " + std::to_string(i) + " " : "",
          findings);
    }
    Run(ranks, workers == 0, findings,
        [&](size_t rank, size_t number, const ProgramRun &run) {
          look_at(ranks[rank], number, run, memories[rank]);
        })
        .run();
  }

  /// What a rank's memory makes of a program that it has run.
  void look_at(const Run::Rank &rank, size_t number, const ProgramRun &run,
               Memory &memory) {
    size_t first = number, last = number;
    while (first > 0 && !rank.ends_step[first - 1])
      --first;
    while (!rank.ends_step[last])
      ++last;
    std::span<const Unrolled *const> step(rank.programs.data() + first,
                                          last + 1 - first);
    if (number == first)
      memory.begin_step(step);
    memory.cross_border(*rank.programs[number == first ? last : number - 1]);
    memory.run(run, [&](const Exchange &exchange) {
      int64_t place = 0;
      for (uint32_t axis : exchange.axes)
        place = place * run.unrolled.program->sizes[axis] + rank.place[axis];
      return place;
    });
    if (number == last)
      memory.end_step(step);
  }

  const Plan &plan;
  const Instance &instance;
  const uint32_t program;
  const bool all;
  Regions regions;
  Findings findings;
  Verdict verdict;
  std::map<std::pair<Call, Symbols>, Unrolled> programs;
  std::vector<Run::Rank> ranks;
};

template <typename Visitor>
void visit_expressions(const Program &program, Visitor &&visit) {
  auto all = [&](const Expressions &list) {
    for (const Expression &expression : list)
      visit(expression);
  };
  for (const Buffer &buffer : program.buffers)
    all(buffer.extents);
  for (const Phase &phase : program.phases) {
    all(phase.grid);
    for (const Access &access : phase.accesses)
      all(access.low), all(access.high);
    for (const Wait &wait : phase.waits)
      all(wait.low), all(wait.high);
  }
}
} // namespace

static bool fits(const Program &program, const Symbols &symbols) {
  return symbols.rows >= 1 && symbols.rows <= program.max_rows &&
         symbols.past >= 0 && symbols.rows + symbols.past <= program.max_seq &&
         symbols.outputs >= 0 &&
         symbols.outputs <= std::min(symbols.rows, program.max_outputs);
}

bool baton::check::fits(const Plan &plan, const Symbols &symbols) {
  return std::any_of(
      plan.programs.begin(), plan.programs.end(),
      [&](const Program &program) { return ::fits(program, symbols); });
}

std::vector<Instance> baton::check::choose_instances(
    const Plan &plan, std::optional<int64_t> rows, std::optional<int64_t> past,
    std::optional<int64_t> outputs, std::vector<uint32_t> workers) {
  int64_t max_rows = 1;
  bool has_past = false, has_schedule = false;
  std::set<Symbols> chosen;
  for (const Program &program : plan.programs) {
    max_rows = std::max(max_rows, program.max_rows);
    visit_expressions(program, [&](const Expression &expression) {
      has_past |= expression.names_past();
    });
    has_schedule |= !program.schedules.empty();
    for (const Schedule &schedule : program.schedules)
      chosen.insert(schedule.symbols);
  }
  if (workers.empty())
    workers = {1, 2, 3, 8, 0};
  // Numbers that no tile's size divides.
  std::vector<int64_t> all_rows = {1, 2, 37, std::min<int64_t>(max_rows, 150)},
                       all_past = {0}, all_outputs = {1, 0, 3};
  if (has_past)
    all_past = {0, 1, 19, 45};
  if (plan.training || !plan.places.empty())
    all_outputs = {1};
  if (rows)
    all_rows = {*rows};
  if (past)
    all_past = {*past};
  if (outputs)
    all_outputs = {*outputs};
  if (!has_schedule || rows || past || outputs)
    for (int64_t r : all_rows)
      for (int64_t p : all_past)
        for (int64_t o : all_outputs)
          if (Symbols symbols{r, p, o}; fits(plan, symbols))
            chosen.insert(symbols);
  std::vector<Instance> instances;
  for (const Symbols &symbols : chosen)
    instances.push_back({symbols, workers});
  return instances;
}

Verdict baton::check::judge(const Plan &plan, const Instance &instance,
                            bool all) {
  if (!fits(plan, instance.symbols))
    throw Error("no program takes a step of " +
                std::to_string(instance.symbols.rows) + " rows, past " +
                std::to_string(instance.symbols.past) + ", outputs " +
                std::to_string(instance.symbols.outputs));
  if (!plan.places.empty())
    return StepJudge(plan, instance, plan.places[0][0].program, all).judge();
  Verdict verdict;
  for (uint32_t program = 0; program < plan.programs.size(); ++program) {
    if (!::fits(plan.programs[program], instance.symbols))
      continue;
    Verdict own = StepJudge(plan, instance, program, all).judge();
    verdict.tasks += own.tasks;
    verdict.findings.insert(verdict.findings.end(), own.findings.begin(),
                            own.findings.end());
  }
  return verdict;
}

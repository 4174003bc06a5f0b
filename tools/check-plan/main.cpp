//===- main.cpp - check-plan's command line -------------------------------===//
//
// Exit status 0 when the plan is accepted, 1 when it is not, or cannot be read.
//
//===----------------------------------------------------------------------===//

#include "tools/check-plan/judge.h"
#include "tools/command/command.h"

#include <nlohmann/json.hpp>

#include <charconv>
#include <cstdio>
#include <fstream>
#include <optional>

using namespace baton::check;
using nlohmann::json;

static const char about[] =
    "check-plan judges a plan (batonc MODEL --emit=plan-json) by unrolling "
    "steps of it: every task, event, message and byte, for some numbers of "
    "workers. It shares no code with the proof that batonc makes of plans.";

static const char footer[] =
    R"(Found are: races and pairs of tasks in the wrong order; values that nobody has
written, or somebody has overwritten; deadlocks; words that get another number of
notifications than their event counts; exchanges and messages that do not match;
elements outside of their storage; tasks that nobody runs.

Example:
  batonc ./llama --emit=plan-json -o plan.json
  check-plan plan.json
  check-plan plan.json --rows 17 --past 5 --workers all
)";

namespace {
struct Options {
  std::string file, workers;
  std::optional<int64_t> rows, past, outputs;
  bool as_json = false, all = false;
};
} // namespace

static std::vector<uint32_t> workers_of(const Options &options) {
  if (options.workers.empty())
    return {};
  if (options.workers == "all")
    return {0};
  uint32_t number = 0;
  const char *end = options.workers.data() + options.workers.size();
  const auto [rest, wrong] =
      std::from_chars(options.workers.data(), end, number);
  if (wrong != std::errc() || rest != end || number < 1 || number > 1024)
    throw Error("--workers=" + options.workers +
                ": expected a number from 1 to 1024, or all");
  return {number};
}

static json read(const std::string &path) {
  std::ifstream stream(path);
  if (!stream)
    throw Error(path + ": cannot be read");
  try {
    return json::parse(stream);
  } catch (const json::exception &failure) {
    throw Error(path + ": is no JSON: " + failure.what());
  }
}

/// Whether the plan is accepted.
static bool check(const Options &options) {
  const std::vector<uint32_t> workers = workers_of(options);
  const Plan plan = parse_plan(read(options.file));
  const std::vector<Instance> instances = choose_instances(
      plan, options.rows, options.past, options.outputs, workers);
  if (instances.empty())
    throw Error(options.file + ": no program takes such a step");
  Verdict verdict;
  size_t judged = 0;
  std::set<std::string> faults;
  for (const Instance &instance : instances) {
    if (!options.all && !verdict.accepted())
      break;
    Verdict own = judge(plan, instance, options.all);
    verdict.tasks += own.tasks;
    for (Finding &finding : own.findings)
      if (faults.insert(finding.kind + '\n' + finding.fault).second)
        verdict.findings.push_back(std::move(finding));
    ++judged;
  }
  if (options.as_json) {
    json findings = json::array();
    for (const Finding &finding : verdict.findings)
      findings.push_back(
          {{"kind", finding.kind}, {"message", finding.message}});
    const json all = {{"accepted", verdict.accepted()},
                      {"steps", judged},
                      {"tasks", verdict.tasks},
                      {"findings", std::move(findings)}};
    std::puts(all.dump().c_str());
  } else if (verdict.accepted()) {
    std::puts(text("accepted: ", judged, " steps, ", verdict.tasks, " tasks")
                  .c_str());
  } else {
    const Finding &first = verdict.findings.front();
    const size_t more = verdict.findings.size() - 1;
    const std::string rest =
        more ? text(" (and ", more, " more; --json lists them)") : "";
    std::fprintf(stderr, "rejected: %s: %s%s\n", first.kind.c_str(),
                 first.message.c_str(), rest.c_str());
  }
  if (std::fflush(stdout) != 0)
    throw Error("standard output cannot be written");
  return verdict.accepted();
}

int main(int argc, char **argv) {
  CLI::App app{about, "check-plan"};
  app.footer(footer);
  Options options;
  const CLI::Range numbers(int64_t(0), int64_t(1) << 32);
  app.add_option("PLAN", options.file, "the plan as JSON")->required();
  app.add_option("--rows", options.rows,
                 "rows of the step to judge; several usual ones without it")
      ->check(numbers);
  app.add_option("--past", options.past, "positions before them")
      ->check(numbers);
  app.add_option("--outputs", options.outputs,
                 "rows that get logits; in training 1 when the step updates")
      ->check(numbers);
  app.add_option("--workers", options.workers,
                 "1 to 1024 workers; all: one for each task, so that only "
                 "events order tasks (small steps); 1, 2, 3, 8 and all "
                 "without it");
  app.add_flag("--all", options.all, "go on behind a fault, to find others");
  app.add_flag("--json", options.as_json,
               "print one JSON object, with all faults that were found");
  return baton::run_command(app, argc, argv, [&] {
    if (!check(options))
      throw baton::AlreadySaid();
  });
}

//===- main.cpp - check-plan's command line -------------------------------===//
//
// Exit status 0 when the plan is accepted, 1 when it is not, or cannot be read.
//
//===----------------------------------------------------------------------===//

#include "tools/check-plan/judge.h"

#include <nlohmann/json.hpp>

#include <charconv>
#include <cstdio>
#include <fstream>
#include <map>

using namespace baton::check;
using nlohmann::json;

static const char help[] =
    R"(check-plan judges a plan (batonc MODEL --emit=plan-json) by unrolling steps of it:
every task, event, message and byte, for some numbers of workers. It shares no
code with the proof that batonc makes of plans.

Usage: check-plan PLAN.json [OPTIONS]

  --rows N      rows of the step to judge; several usual ones without it
  --past N      positions before them
  --outputs N   rows that get logits; in training 1 when the step updates
  --workers W   1 to 1024 workers; all: one for each task, so that only events
                order tasks (small steps); 1, 2, 3, 8 and all without it
  --all         go on behind a fault, to find others
  --json        print one JSON object, with all faults that were found
  --help        print this help

Found are: races and pairs of tasks in the wrong order; values that nobody has
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
  std::string file;
  std::optional<int64_t> rows, past, outputs, workers;
  bool as_json = false, all = false, wants_help = false;
};
} // namespace

static int64_t number(const std::string &flag, const std::string &text) {
  int64_t value = 0;
  const char *end = text.data() + text.size();
  auto [rest, wrong] = std::from_chars(text.data(), end, value);
  if (wrong != std::errc() || rest != end || value < 0)
    throw Error(flag + ": '" + text + "' is no whole number");
  return value;
}

static Options parse(const std::vector<std::string> &arguments) {
  Options options;
  const std::map<std::string, bool *> switches = {
      {"--json", &options.as_json},
      {"--all", &options.all},
      {"--help", &options.wants_help},
      {"-h", &options.wants_help}};
  const std::map<std::string, std::optional<int64_t> *> numbers = {
      {"--rows", &options.rows},
      {"--past", &options.past},
      {"--outputs", &options.outputs},
      {"--workers", &options.workers}};
  for (size_t i = 0; i < arguments.size() && !options.wants_help; ++i) {
    const std::string &argument = arguments[i];
    if (auto found = switches.find(argument); found != switches.end()) {
      *found->second = true;
      continue;
    }
    if (argument.empty() || argument[0] != '-') {
      if (!options.file.empty())
        throw Error(argument + ": there is a plan already, " + options.file);
      options.file = argument;
      continue;
    }
    const size_t equals = argument.find('=');
    const std::string flag = argument.substr(0, equals);
    auto found = numbers.find(flag);
    if (found == numbers.end())
      throw Error(flag + " is unknown; see check-plan --help");
    const std::string value = equals != std::string::npos
                                  ? argument.substr(equals + 1)
                              : ++i < arguments.size() ? arguments[i]
                                                       : "";
    const bool all = flag == "--workers" && value == "all";
    *found->second = all ? 0 : number(flag, value);
    if (options.workers > 1024)
      throw Error("--workers: " + value +
                  " is out of range, expected 1 to 1024, or all");
  }
  if (options.file.empty() && !options.wants_help)
    throw Error("which plan? see check-plan --help");
  return options;
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

static int check(const Options &options) {
  const Plan plan = parse_plan(read(options.file));
  std::vector<uint32_t> workers;
  if (options.workers)
    workers = {uint32_t(*options.workers)};
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
  return verdict.accepted() ? 0 : 1;
}

int main(int argc, char **argv) {
  try {
    const Options options = parse({argv + 1, argv + argc});
    if (options.wants_help) {
      std::fputs(help, stdout);
      return 0;
    }
    return check(options);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}

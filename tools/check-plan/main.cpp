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

using namespace baton::check;
using nlohmann::json;

static const char help[] =
    "check-plan judges a plan (batonc MODEL --emit=plan-json) by unrolling "
    "steps of it:\n"
    "every task, event, message and byte, for some numbers of workers. It "
    "shares no\ncode with the proof that batonc makes of plans.\n\n"
    "Usage: check-plan PLAN.json [OPTIONS]\n\n"
    "  --rows N      rows of the step to judge; several usual ones without it\n"
    "  --past N      positions before them\n"
    "  --outputs N   rows that get logits; in training 1 when the step "
    "updates\n"
    "  --workers W   1 to 1024 workers; all: one for each task, so that only "
    "events\n                order tasks (small steps); 1, 2, 3, 8 and all "
    "without it\n"
    "  --all         go on behind a fault, to find others\n"
    "  --json        print one JSON object, with all faults that were found\n"
    "  --help        print this help\n\n"
    "Found are: races and pairs of tasks in the wrong order; values that "
    "nobody "
    "has\nwritten, or somebody has overwritten; deadlocks; words that get "
    "another number of\nnotifications than their event counts; exchanges and "
    "messages that do not match;\nelements outside of their storage; tasks "
    "that "
    "nobody runs.\n\n"
    "Example:\n"
    "  batonc ./llama --emit=plan-json -o plan.json\n"
    "  check-plan plan.json\n"
    "  check-plan plan.json --rows 17 --past 5 --workers all\n";

namespace {
struct Options {
  std::string file;
  std::optional<int64_t> rows, past, outputs;
  std::vector<uint32_t> workers;
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

static Options parse(int argc, char **argv) {
  Options options;
  std::vector<std::string> arguments(argv + 1, argv + argc);
  for (size_t i = 0; i < arguments.size(); ++i) {
    std::string flag = arguments[i], value;
    if (flag == "--help" || flag == "-h") {
      options.wants_help = true;
      return options;
    }
    if (flag == "--json") {
      options.as_json = true;
      continue;
    }
    if (flag == "--all") {
      options.all = true;
      continue;
    }
    if (flag.empty() || flag[0] != '-') {
      if (!options.file.empty())
        throw Error(flag + ": there is a plan already, " + options.file);
      options.file = flag;
      continue;
    }
    if (size_t equals = flag.find('='); equals != std::string::npos) {
      value = flag.substr(equals + 1);
      flag.resize(equals);
    } else if (i + 1 < arguments.size()) {
      value = arguments[++i];
    }
    if (flag == "--rows")
      options.rows = number(flag, value);
    else if (flag == "--past")
      options.past = number(flag, value);
    else if (flag == "--outputs")
      options.outputs = number(flag, value);
    else if (flag == "--workers")
      options.workers = {value == "all" ? 0 : uint32_t(number(flag, value))};
    else
      throw Error(flag + " is unknown; see check-plan --help");
    if (flag == "--workers" && options.workers[0] > 1024)
      throw Error("--workers: " + value +
                  " is out of range, expected 1 to "
                  "1024, or all");
  }
  if (options.file.empty())
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
  const std::vector<Instance> instances = choose_instances(
      plan, options.rows, options.past, options.outputs, options.workers);
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
    std::printf("%s\n", json{{"accepted", verdict.accepted()},
                             {"steps", judged},
                             {"tasks", verdict.tasks},
                             {"findings", std::move(findings)}}
                            .dump()
                            .c_str());
  } else if (verdict.accepted()) {
    std::printf("accepted: %zu steps, %llu tasks\n", judged,
                static_cast<unsigned long long>(verdict.tasks));
  } else {
    const Finding &first = verdict.findings.front();
    std::fprintf(stderr, "rejected: %s: %s", first.kind.c_str(),
                 first.message.c_str());
    if (size_t more = verdict.findings.size() - 1)
      std::fprintf(stderr, " (and %zu more; --json lists them)", more);
    std::fprintf(stderr, "\n");
  }
  if (std::fflush(stdout) != 0)
    throw Error("standard output cannot be written");
  return verdict.accepted() ? 0 : 1;
}

int main(int argc, char **argv) {
  try {
    const Options options = parse(argc, argv);
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

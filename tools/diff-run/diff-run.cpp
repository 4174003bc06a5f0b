//===- diff-run.cpp - names the first op where two runs diverge -----------===//
//
// Values are compared in the order in which the first run computed them: what
// differs first is where the difference began. Both runs need not come from one
// plan; what only one of them has is counted and left out.
//
// Exit status 0 when nothing differs, 1 when something does or cannot be read.
//
//===----------------------------------------------------------------------===//

#include "tools/command/command.h"
#include "tools/diff-run/Dump.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdio>
#include <map>
#include <optional>
#include <tuple>

using namespace baton;
using namespace baton::diff;

namespace {
/// Of one value in both runs.
struct Comparison {
  const Value *value = nullptr;
  /// The largest difference, relative to the largest magnitude of the value in
  /// the first run; infinite where one side is not finite and the other is.
  double ratio = 0;
  /// Where it is, and what is there.
  std::vector<uint64_t> index;
  double first = 0, second = 0;
  /// Why they cannot be compared, if they cannot.
  std::string problem;
};
} // namespace

static std::string textOf(const std::vector<uint64_t> &numbers) {
  std::string text = "[";
  for (size_t i = 0; i < numbers.size(); ++i)
    text += (i ? ", " : "") + std::to_string(numbers[i]);
  return text + "]";
}

/// "layers.self_attn.q_proj, iteration 2"
static std::string nameOf(const Value &value) {
  std::string name = value.phase;
  if (value.buffer != value.phase)
    name += " (@" + value.buffer + ")";
  return name + ", iteration " + std::to_string(value.iteration);
}

static Comparison compare(const Value &value, const Array &one,
                          const Array &other) {
  Comparison result;
  result.value = &value;
  if (one.shape != other.shape) {
    result.problem =
        "has shape " + textOf(one.shape) + " and " + textOf(other.shape);
    result.ratio = INFINITY;
    return result;
  }
  double largest = 0, difference = -1;
  size_t where = 0;
  for (size_t i = 0; i < one.elements.size(); ++i) {
    double a = one.elements[i], b = other.elements[i];
    if (std::isfinite(a))
      largest = std::max(largest, std::fabs(a));
    bool same = a == b || (std::isnan(a) && std::isnan(b));
    double here = same ? 0 : std::fabs(a - b);
    if (std::isnan(here))
      here = INFINITY;
    if (here > difference) {
      difference = here;
      where = i;
    }
  }
  if (difference <= 0)
    return result;
  result.ratio = largest > 0 ? difference / largest : INFINITY;
  result.first = one.elements[where];
  result.second = other.elements[where];
  result.index.resize(one.shape.size());
  for (size_t i = one.shape.size(); i-- > 0; where /= one.shape[i])
    result.index[i] = where % one.shape[i];
  return result;
}

static std::string describe(const Comparison &comparison) {
  if (!comparison.problem.empty())
    return comparison.problem;
  char text[200];
  std::snprintf(text, sizeof(text),
                "at %s %.9g and %.9g, %.3g of the largest magnitude",
                textOf(comparison.index).c_str(), comparison.first,
                comparison.second, comparison.ratio);
  return text;
}

/// Whether something differs.
static bool run(const std::string &firstFolder, const std::string &secondFolder,
                double tolerance, bool showAll, bool json) {
  std::vector<Value> first = readIndex(firstFolder);
  std::vector<Value> second = readIndex(secondFolder);
  std::map<std::tuple<std::string, uint64_t, std::string>, const Value *>
      others;
  for (const Value &value : second)
    others[{value.phase, value.iteration, value.buffer}] = &value;

  size_t compared = 0;
  std::optional<Comparison> diverged;
  auto list = nlohmann::ordered_json::array();
  for (const Value &value : first) {
    auto other = others.find({value.phase, value.iteration, value.buffer});
    if (other == others.end())
      continue;
    ++compared;
    Comparison comparison =
        compare(value, readArray(value.file), readArray(other->second->file));
    bool differs = comparison.ratio > tolerance;
    if (showAll && json)
      list.push_back({{"phase", value.phase},
                      {"iteration", value.iteration},
                      {"buffer", value.buffer},
                      {"ratio", comparison.ratio}});
    else if (showAll && comparison.ratio > 0)
      std::printf("%s: %s\n", nameOf(value).c_str(),
                  describe(comparison).c_str());
    if (differs && !diverged)
      diverged = comparison;
    if (diverged && !showAll)
      break;
  }
  if (compared == 0)
    throw Error(firstFolder + " and " + secondFolder +
                " have no value in common");

  if (json) {
    nlohmann::ordered_json result;
    result["first"] = nullptr;
    if (diverged)
      result["first"] = {{"phase", diverged->value->phase},
                         {"iteration", diverged->value->iteration},
                         {"buffer", diverged->value->buffer},
                         {"index", diverged->index},
                         {"values", {diverged->first, diverged->second}},
                         {"ratio", diverged->ratio}};
    result["compared"] = compared;
    result["values"] = {first.size(), second.size()};
    if (showAll)
      result["all"] = list;
    std::printf("%s\n", result.dump().c_str());
  } else if (diverged) {
    std::printf("first difference: %s: %s\n", nameOf(*diverged->value).c_str(),
                describe(*diverged).c_str());
  } else {
    std::printf("no difference in %zu values (of %zu and %zu)\n", compared,
                first.size(), second.size());
  }
  return diverged.has_value();
}

int main(int argc, char **argv) {
  CLI::App app{"diff-run names the first op where two runs of a model diverge, "
               "from what `logits --dump` wrote.",
               "diff-run"};
  std::string first, second;
  double tolerance = 0;
  bool showAll = false, json = false;
  app.add_option("A", first, "folder of the first dump")->required();
  app.add_option("B", second, "folder of the second dump")->required();
  app.add_option(
         "--tolerance", tolerance,
         "largest difference allowed, relative to the largest magnitude "
         "of a value; 0 (the default) wants equal numbers")
      ->check(CLI::Range(0.0, 1e9));
  app.add_flag("--all", showAll,
               "every value that differs, not just the first");
  app.add_flag("--json", json, "print one JSON object");
  app.footer("Example:\n"
             "  ./a logits --weights W --tokens 1,2,3 --out a.npy --dump a/\n"
             "  ./b logits --weights W --tokens 1,2,3 --out b.npy --dump b/\n"
             "  diff-run a/ b/ --tolerance 1e-5\n");
  return run_command(app, argc, argv, [&] {
    const bool differs = run(first, second, tolerance, showAll, json);
    if (std::fflush(stdout) != 0)
      throw Error("standard output cannot be written");
    if (differs)
      throw AlreadySaid();
  });
}

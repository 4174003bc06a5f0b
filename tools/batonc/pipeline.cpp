//===- pipeline.cpp - batonc pipeline: what a schedule would cost ---------===//

#include "tools/batonc/pipeline.h"

#include "compiler/Outputs.h"
#include "passes/pipeline/Drawing.h"
#include "passes/pipeline/Generators.h"
#include "tools/batonc/errors.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace baton;
using namespace baton::pipeline;
using Json = nlohmann::ordered_json;

namespace {
struct Options {
  std::string schedule;
  int stages = 0, microbatches = 0;
  std::vector<double> times = {1, 1, 1, 0}, activations = {1, 1}, loads;
  int width = 100;
  bool json = false;
  std::string svg;
};
} // namespace

static void addFlags(CLI::App &app, Options &options) {
  app.footer(
      "Examples:\n"
      "  batonc pipeline --schedule 1f1b --stages 4 --microbatches 8\n"
      "  batonc pipeline --schedule zb-h2 --stages 8 --microbatches 24 --times "
      "18.522,18.086,9.337,0.601\n"
      "  batonc pipeline --schedule interleaved:2 --stages 4 --microbatches 8 "
      "--svg timeline.svg");
  app.add_option("--schedule", options.schedule,
                 "gpipe, 1f1b, interleaved:CHUNKS, zb-h1 or zb-h2")
      ->required();
  app.add_option("--stages", options.stages, "stages")->required();
  app.add_option("--microbatches", options.microbatches,
                 "microbatches of a step")
      ->required();
  app.add_option("--times", options.times,
                 "what a position's forward, input-gradient and "
                 "weight-gradient phases of a microbatch take, and a message, "
                 "in any unit: F,B,W or F,B,W,MESSAGE (1,1,1,0)")
      ->delimiter(',');
  app.add_option("--load", options.loads,
                 "how much longer each position takes, such as 1,1,1,1.5; one "
                 "for each stage and chunk")
      ->delimiter(',');
  app.add_option("--activations", options.activations,
                 "what a position keeps of a microbatch up to the end of its "
                 "input-gradient phase, and from then on, in any unit (1,1)")
      ->delimiter(',');
  app.add_option("--width", options.width,
                 "columns of the timeline (100), 0 for none");
  app.add_flag("--json", options.json, "print JSON");
  app.add_option("--svg", options.svg, "draw the timeline into a file");
}

/// Products of two flags' numbers, and sums of them, are finite.
static constexpr double largestNumber = 1e100;

/// What is wrong with numbers of a flag.
static std::string checkNumbers(const char *flag,
                                const std::vector<double> &numbers,
                                size_t least, size_t most) {
  if (numbers.size() < least || numbers.size() > most)
    return std::string(flag) + " has " + std::to_string(numbers.size()) +
           " numbers, expected " +
           (least == most
                ? std::to_string(most)
                : std::to_string(least) + " or " + std::to_string(most));
  for (double number : numbers) {
    if (!(number >= 0) || !std::isfinite(number))
      return std::string(flag) + " has a number that is negative or none";
    if (number > largestNumber)
      return std::string(flag) + " has a number above 1e100";
  }
  return "";
}

static Json toJson(const Schedule &schedule, const Timeline &timeline) {
  Json json;
  json["schedule"] = schedule.name;
  json["stages"] = schedule.stages;
  json["microbatches"] = schedule.microbatches;
  json["chunks"] = schedule.chunks;
  json["total"] = timeline.total;
  json["longest"] = timeline.longest;
  json["bubble"] = timeline.bubble;
  json["in_flight"] = schedule.inFlight;
  json["peak_activations"] = timeline.peakActivations;
  json["tables"] = Json::array();
  for (const Table &table : schedule.tables)
    json["tables"].push_back(toText(table));
  return json;
}

static std::string toText(const Schedule &schedule, const Timeline &timeline,
                          const PipelineCosts &costs, int width) {
  char line[256];
  std::string text;
  std::snprintf(line, sizeof line, "%s: %d stages, %d microbatches",
                schedule.name.c_str(), schedule.stages, schedule.microbatches);
  text += line;
  if (schedule.chunks > 1)
    text += ", " + std::to_string(schedule.chunks) + " chunks a stage";
  std::snprintf(line, sizeof line,
                "\nfrom the first start to the last end %g; longest stage %g, "
                "of which %.2f %% bubble\n\n"
                "stage       busy   in flight   peak activations\n",
                timeline.total, timeline.longest, 100 * timeline.bubble);
  text += line;
  for (int stage = 0; stage < schedule.stages; ++stage) {
    double busy = 0;
    for (const Step &step : schedule.tables[stage])
      busy += costs.timeOf(schedule, stage, step);
    std::snprintf(line, sizeof line, "%5d %10g %11d %18g\n", stage, busy,
                  schedule.inFlight[stage], timeline.peakActivations[stage]);
    text += line;
  }
  if (width > 0)
    text += "\n" + drawText(schedule, timeline, width);
  return text;
}

int tools::pipelineCommand(int argc, char **argv) {
  CLI::App app{
      "batonc pipeline says what a pipeline schedule would cost: its bubble, "
      "its peak of activations,\nand when each stage does what.",
      "batonc pipeline"};
  Options options;
  addFlags(app, options);
  if (auto status = parse(app, argc, argv, "batonc pipeline"))
    return *status;
  std::string error;
  std::optional<Schedule> schedule = makeSchedule(
      options.schedule, options.stages, options.microbatches, error);
  if (!schedule)
    return fail(error);
  size_t positions = schedule->countPositions();
  if (error = checkNumbers("--times", options.times, 3, 4); !error.empty())
    return fail(error);
  if (error = checkNumbers("--activations", options.activations, 1, 2);
      !error.empty())
    return fail(error);
  if (options.loads.empty())
    options.loads.assign(positions, 1);
  if (error = checkNumbers("--load", options.loads, positions, positions);
      !error.empty())
    return fail(error);
  PipelineCosts costs;
  for (double load : options.loads)
    costs.positions.push_back({options.times[0] * load, options.times[1] * load,
                               options.times[2] * load,
                               options.activations.front(),
                               options.activations.back()});
  if (options.times.size() == 4)
    costs.transfer = options.times[3];
  Timeline timeline = simulate(*schedule, costs);
  std::string text = options.json
                         ? toJson(*schedule, timeline).dump(2) + "\n"
                         : toText(*schedule, timeline, costs, options.width);
  llvm::Error wrong = compiler::writeOutput("", text);
  if (!wrong && !options.svg.empty())
    wrong = compiler::writeOutput(options.svg, drawSvg(*schedule, timeline));
  if (wrong)
    return fail(llvm::toString(std::move(wrong)));
  return 0;
}

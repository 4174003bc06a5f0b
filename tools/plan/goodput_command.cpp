//===- goodput_command.cpp - batonc plan goodput --------------------------===//

#include "tools/plan/commands.h"

#include "runtime/error.h"
#include "runtime/main/output.h"
#include "runtime/main/table.h"
#include "tools/plan/facts.h"
#include "tools/plan/goodput.h"
#include "tools/plan/page.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <memory>

using namespace baton;
using namespace baton::plan;
using Json = nlohmann::ordered_json;

namespace {
struct Options {
  std::string cluster, html;
  bool best_spares = false, best_interval = false, json = false;
};
} // namespace

static Cluster read_cluster(const std::string &file) {
  Facts facts(file);
  Cluster cluster;
  cluster.zones = facts.count("zones");
  cluster.blocks = facts.count("blocks");
  cluster.trays = facts.count("trays");
  auto spare = [&](const char *key, int64_t of) {
    const double value = facts.not_negative(key);
    if (value != double(int64_t(value)) || value >= double(of))
      throw Error(file + ": " + key + " is no whole number below " +
                  std::to_string(of));
    return int64_t(value);
  };
  cluster.spare_blocks = spare("spare_blocks", cluster.blocks);
  cluster.spare_trays = spare("spare_trays", cluster.trays);
  cluster.group = facts.count("group");
  cluster.tray_failure = facts.positive("tray_failure_hours") * 3600;
  cluster.rack_failure = facts.positive("rack_failure_hours") * 3600;
  cluster.repair = facts.positive("repair_hours") * 3600;
  if (cluster.repair > 1e12)
    throw Error(file + ": repair_hours is above 2.7e8");
  cluster.interval = facts.positive("checkpoint_interval_s");
  cluster.save = facts.not_negative("checkpoint_save_s");
  cluster.detect = facts.not_negative("detect_s");
  cluster.restart = facts.not_negative("restart_s");
  facts.finish();
  if (cluster.group > cluster.blocks)
    throw Error(file + ": group is above blocks");
  if (cluster.blocks > 1000000 || cluster.trays > 1000000 ||
      cluster.zones > 1000000)
    throw Error(file + ": zones, blocks and trays are up to 1000000");
  return cluster;
}

/// Where all trays' time goes, and how it would with other spares and
/// intervals.
static void write_html(const Options &options, const Cluster &cluster,
                       const Goodput &result) {
  const std::string bars = stacked_bars(
      {"kept work", "lost to failures", "a zone blocked", "spare or left over"},
      {{"all trays",
        {100 * result.total,
         100 * result.working * result.open * (1 - result.kept),
         100 * result.working * (1 - result.open),
         100 * (1 - result.working)}}},
      "%");
  auto point = [&](const Cluster &other, double x, const std::string &label) {
    const double percent = 100 * goodput(other).total;
    return Point{x, percent, label + ": " + fixed_text(percent, 2) + " %",
                 other.spare_blocks == cluster.spare_blocks &&
                     other.interval == cluster.interval};
  };
  std::vector<Point> spares, intervals;
  // Few of many, with the cluster's own.
  const int64_t step = std::max<int64_t>(cluster.blocks / 64, 1);
  for (int64_t count = cluster.spare_blocks % step; count < cluster.blocks;
       count += step) {
    Cluster other = cluster;
    other.spare_blocks = count;
    spares.push_back(
        point(other, double(count), std::to_string(count) + " spare blocks"));
  }
  for (int eighth = -32; eighth <= 32; eighth += 2) {
    Cluster other = cluster;
    other.interval *= std::exp2(eighth / 8.);
    intervals.push_back(point(other, std::log10(other.interval),
                              fixed_text(other.interval, 0) + " s"));
  }
  write_page(options.html, "batonc plan goodput " + options.cluster,
             {{"What becomes of all trays' time", "", bars},
              {"Spare blocks of a zone", "",
               scatter(spares, "spare blocks", "% kept work", Axes::linear)},
              {"Time between checkpoints", "",
               scatter(intervals, "decimal logarithm of seconds", "% kept work",
                       Axes::linear)}});
}

void plan::add_goodput_command(CLI::App &app) {
  auto options = std::make_shared<Options>();
  CLI::App *command = app.add_subcommand(
      "goodput", "says what a job has of a cluster whose parts fail, and how "
                 "many spares are best");
  command->footer(
      "The file is a JSON object with zones, blocks (of a zone), trays (of a "
      "block), spare_blocks, spare_trays,\ngroup (blocks that are placed "
      "together), tray_failure_hours and rack_failure_hours (mean times "
      "between),\nrepair_hours, checkpoint_interval_s, checkpoint_save_s, "
      "detect_s and restart_s.\n\nExample:\n"
      "  batonc plan goodput cluster.json --best-spares");
  command->add_option("CLUSTER", options->cluster, "the file")->required();
  command->add_flag("--best-spares", options->best_spares,
                    "with as many spare blocks as give most");
  command->add_flag("--best-interval", options->best_interval,
                    "with checkpoints as often as gives most");
  command
      ->add_option("--html", options->html,
                   "a page with other spares and intervals, too")
      ->type_name("FILE");
  command->add_flag("--json", options->json, "print JSON");
  command->callback([options] {
    Cluster cluster = read_cluster(options->cluster);
    if (options->best_interval && cluster.save == 0)
      throw Error(options->cluster +
                  ": checkpoint_save_s is 0, so that the "
                  "best interval of --best-interval is none");
    // The best interval hangs on the spares that it runs with, and hardly the
    // other way round: a step of each comes to rest.
    const int rounds = options->best_spares && options->best_interval ? 3 : 1;
    for (int round = 0; round < rounds; ++round) {
      if (options->best_spares)
        cluster = best_spares(cluster);
      if (options->best_interval)
        cluster = best_interval(cluster);
    }
    const Goodput result = goodput(cluster);
    if (result.working == 0)
      throw Error(options->cluster + ": no group of blocks is left beside the "
                                     "spare ones");
    if (!options->html.empty())
      write_html(*options, cluster, result);
    const double spare = double(cluster.spare_blocks) / double(cluster.blocks);
    const double idle = 1 - result.working * double(cluster.trays) /
                                double(cluster.trays - cluster.spare_trays);
    Json json = {{"goodput", result.total},
                 {"working", result.working},
                 {"open", result.open},
                 {"kept", result.kept},
                 {"spare_blocks", cluster.spare_blocks},
                 {"spare", spare},
                 {"stranded", std::max(idle - spare, 0.0)},
                 {"checkpoint_interval_s", cluster.interval},
                 {"block_failure_hours", result.block_failure / 3600},
                 {"job_failure_hours", result.job_failure / 3600}};
    if (options->json) {
      print(text_of(json));
      return;
    }
    print(percent_text(result.total) +
          " of all trays' time becomes work that is kept: " +
          percent_text(result.working) + " of them work, " +
          fixed_text(result.open * 100, 2) +
          " % of the time no zone is blocked, " + percent_text(result.kept) +
          " of a running job's work is kept\n" +
          std::to_string(cluster.spare_blocks) + " spare blocks of " +
          std::to_string(cluster.blocks) + " (" + percent_text(spare) + "), " +
          percent_text(std::max(idle - spare, 0.0)) +
          " more idle for groups of " + std::to_string(cluster.group) +
          "\na block fails every " +
          fixed_text(result.block_failure / 3600, 0) +
          " hours, the job every " + fixed_text(result.job_failure / 3600, 2) +
          "; a checkpoint every " + fixed_text(cluster.interval, 0) + " s\n");
  });
}

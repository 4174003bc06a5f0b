//===- main.cpp - batonc health -------------------------------------------===//
//
// A program of its own, as it needs no compiler. One line on standard error and
// status 1 for anything wrong; a rank that is slow is nothing wrong with it.
//
//===----------------------------------------------------------------------===//

#include "runtime/error.h"
#include "runtime/main/interrupt.h"
#include "runtime/main/output.h"
#include "tools/command/command.h"
#include "tools/health/report.h"

using namespace baton;

int main(int argc, char **argv) {
  occupy_standard_streams();
  handle_signals();
  CLI::App app{
      "batonc health says which ranks of a training run are slower than their "
      "peers, by logs of their times.",
      "batonc health"};
  std::vector<std::filesystem::path> files;
  double threshold = usual_health_threshold;
  std::string page;
  bool json = false;
  app.add_option("LOG", files,
                 "what a run with --health-log has written, health-STEP.csv; "
                 "or a log of any other trainer's ranks, in one file or in "
                 "several: comma-separated values, whose first line names the "
                 "columns step, rank, indicator and value (in seconds), and "
                 "may name work (ranks of the same work are compared) and host")
      ->required();
  app.add_option("--threshold", threshold,
                 "how much longer than its peers a rank takes that is slow "
                 "(default: 0.03, which is 3 %)")
      ->type_name("X");
  app.add_option("--html", page, "also write a page with pictures")
      ->type_name("OUT.html");
  app.add_flag("--json", json, "print JSON");
  app.footer("Examples:\n"
             "  batonc health run/health-1.csv\n"
             "  batonc health rank0.csv rank1.csv rank2.csv --html ranks.html");
  return run_command(app, argc, argv, [&] {
    if (!(threshold > 0 && threshold <= 10))
      throw Error("--threshold: expected a number above 0 and of at most 10, "
                  "as 0.03 for 3 %");
    const HealthReport report(HealthLog::read(files), threshold);
    if (!page.empty())
      report.write_page(page);
    print(json ? report.json().dump(
                     2, ' ', false,
                     nlohmann::ordered_json::error_handler_t::replace) +
                     "\n"
               : report.text());
  });
}

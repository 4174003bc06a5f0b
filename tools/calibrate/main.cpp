//===- main.cpp - what batonc calibrate and batonc sweep run --------------===//
//
// A program of its own, as the compiler has nothing of the runtime. One line on
// standard error and status 1 for anything wrong; sweep's status is 2 where the
// machine is slower than its file.
//
//===----------------------------------------------------------------------===//

#include "runtime/error.h"
#include "runtime/files/temporary.h"
#include "runtime/main/interrupt.h"
#include "runtime/main/output.h"
#include "runtime/main/table.h"
#include "tools/calibrate/calibration.h"
#include "tools/calibrate/pages.h"
#include "tools/calibrate/sweep.h"
#include "tools/command/child.h"
#include "tools/command/command.h"
#include "tools/plan/measured_ops.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <set>

#include <unistd.h>

using namespace baton;
using namespace baton::calibrate;
namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

static const char *const calibrate_footer =
    R"(Micro-programs (linears of many sizes and rows, gated ones, attention over contexts, ropes, states) are
compiled as any model, and run with random weights; each phase of each step is timed, with all workers.
Ranks that are threads exchange bytes. batonc plan reads what is written; a file is whole, or not there.

Examples:
  batonc calibrate -o here.json                       some minutes
  batonc calibrate -o here.json --quick               a coarse grid, in half a minute
  batonc calibrate -o here.json --dtype f32,bf16,q4_k --ranks 4
  batonc plan decode --model ./llama --device here.json --rows 1,16
  batonc sweep here.json                              whether it still is as fast
)";

static const char *const sweep_footer =
    R"(Programs of batonc calibrate are measured again in fewer steps, round by round. An indicator is slower where every round
is, by more than the tolerance; then the status is 2. It is unclear where only some are.

Examples:
  batonc sweep here.json
  batonc sweep here.json --tolerance 20% --rounds 5
  batonc sweep here.json --json
)";

/// "10%", or 0.1.
static double parse_tolerance(const std::string &text) {
  double value = 0;
  int read = 0;
  const bool is_number = std::sscanf(text.c_str(), "%lf%n", &value, &read) == 1;
  const std::string unit = is_number ? text.substr(size_t(read)) : "";
  if (unit == "%")
    value /= 100;
  if (!is_number || (unit != "" && unit != "%") || !(value > 0) || value > 1000)
    throw Error("--tolerance=" + text +
                " is no part above 0, as 10% or 0.1, and up to 1000");
  return value;
}

static void check_target(const std::string &target) {
  if (target != "cpu")
    throw Error("--target=" + target +
                ": only the CPU that this runs on is measured; batonc plan has "
                "files of GPUs from data sheets, and bench --steps times "
                "their phases");
}

/// Beside the output, or where temporary files are.
static fs::path scratch_path(const std::string &output) {
  const std::string name = "baton-calibrate." + std::to_string(getpid());
  return output.empty() ? fs::temp_directory_path() / name
                        : fs::path(output + "." + name);
}

static int run_calibrate(int argc, char **argv) {
  std::atomic<bool> stopped = false;
  const Interruptible interruptible(stopped);
  CLI::App app{"batonc calibrate measures this machine with programs that it "
               "compiles, and writes a device file for batonc plan.",
               "batonc calibrate"};
  app.footer(calibrate_footer);
  CalibrationOptions options;
  std::string output, html, target = "cpu";
  app.add_option("-o", output, "where the device file goes")
      ->type_name("FILE.json")
      ->required();
  app.add_option(
         "--dtype", options.types,
         "types of linear weights, f32,bf16 without it: f32, bf16, f16, "
         "or formats of quantised weights such as q4_k")
      ->type_name("TYPE,...")
      ->delimiter(',');
  app.add_option("--ranks", options.ranks,
                 "the most ranks, threads of one process, that exchange bytes; "
                 "1 measures none")
      ->type_name("N")
      ->check(CLI::Range(int64_t(1), int64_t(64)))
      ->capture_default_str();
  app.add_option("--rounds", options.rounds,
                 "rounds, of whose times the median counts")
      ->type_name("N")
      ->check(CLI::Range(int64_t(1), int64_t(100)))
      ->capture_default_str();
  app.add_option("--target", target, "the machine that is measured: cpu")
      ->type_name("TARGET");
  app.add_option("--html", html, "a page with what was measured, too")
      ->type_name("FILE");
  app.add_flag("--quick", options.quick, "fewer sizes");
  app.add_flag("--quiet", options.quiet, "nothing but errors");
  // Said by batonc.
  app.add_option("--batonc", options.batonc)->group("");
  return run_command(app, argc, argv, [&] {
    check_target(target);
    std::set<std::string> types;
    for (const std::string &type : options.types) {
      plan::weight_bytes(type); // Refuses what is no type.
      if (!types.insert(type).second)
        throw Error("--dtype names " + type + " twice");
    }
    // Before work that takes long.
    TemporaryFile file{output};
    const ScratchFolder folder(scratch_path(output));
    const Calibration calibration = measure(options, folder.path, stopped);
    const std::string text = device_json(options, calibration).dump(1) + "\n";
    file.write(text.data(), text.size(), 0);
    file.publish();
    if (!html.empty())
      write_device_page(html, plan::read_device(fs::absolute(output)));
    if (!options.quiet)
      std::fprintf(stderr, "%s: %zu points of this machine, %lld rounds\n",
                   output.c_str(), calibration.points.size(),
                   static_cast<long long>(options.rounds));
  });
}

static std::string number(double value) {
  return fixed_text(value, value < 10 ? 2 : 1);
}

static std::string to_text(const std::vector<Indicator> &indicators,
                           double tolerance) {
  Table table({1, 2, 3, 4});
  table.add({"", "expected", "measured", "times as slow", "rounds", ""});
  for (const Indicator &one : indicators)
    table.add({one.name, number(one.expected) + " " + one.unit,
               number(one.measured) + " " + one.unit, fixed_text(one.ratio, 2),
               fixed_text(one.least, 2) + " to " + fixed_text(one.most, 2),
               name(one.verdict(tolerance))});
  return table.text(0);
}

static Json to_json(const std::vector<Indicator> &indicators,
                    double tolerance) {
  Json list = Json::array();
  for (const Indicator &one : indicators)
    list.push_back({{"indicator", one.name},
                    {"unit", one.unit},
                    {"expected", one.expected},
                    {"measured", one.measured},
                    {"times_as_slow", one.ratio},
                    {"fastest_round", one.least},
                    {"slowest_round", one.most},
                    {"verdict", name(one.verdict(tolerance))}});
  return list;
}

static int run_sweep(int argc, char **argv) {
  std::atomic<bool> stopped = false;
  const Interruptible interruptible(stopped);
  CLI::App app{"batonc sweep measures this machine again, and says what has "
               "become slower than its device file says.",
               "batonc sweep"};
  app.footer(sweep_footer);
  std::string file, tolerance_text = "10%", html, batonc;
  int64_t rounds = 3;
  bool json = false, quiet = false;
  app.add_option("DEVICE", file, "a file that batonc calibrate has written")
      ->type_name("FILE.json")
      ->required();
  app.add_option("--tolerance", tolerance_text,
                 "by how much an op may be slower, as 10% or 0.1")
      ->type_name("PART")
      ->capture_default_str();
  app.add_option("--rounds", rounds, "rounds, in all of which it has to be so")
      ->type_name("N")
      ->check(CLI::Range(int64_t(1), int64_t(100)))
      ->capture_default_str();
  app.add_option("--html", html, "a page with bars, too")->type_name("FILE");
  app.add_flag("--json", json, "print JSON");
  app.add_flag("--quiet", quiet, "no progress");
  // Said by batonc.
  app.add_option("--batonc", batonc)->group("");
  int slower = 0;
  const int status = run_command(app, argc, argv, [&] {
    const double tolerance = parse_tolerance(tolerance_text);
    const plan::Device device = plan::read_device(file);
    if (std::string why = check_machine(device, this_host()); !why.empty())
      throw Error(file + " " + why);
    CalibrationOptions options = sweep_options(device);
    options.batonc = batonc;
    options.rounds = rounds;
    options.quiet = quiet;
    const ScratchFolder folder(scratch_path(""));
    const std::vector<Indicator> indicators =
        compare(device, options, measure(options, folder.path, stopped));
    if (!html.empty())
      write_sweep_page(html, device, indicators, tolerance);
    for (const Indicator &one : indicators)
      slower += one.verdict(tolerance) == Indicator::Verdict::slower;
    if (json) {
      print(Json({{"device", device.name},
                  {"tolerance", tolerance},
                  {"rounds", rounds},
                  {"slower", slower},
                  {"indicators", to_json(indicators, tolerance)}})
                .dump(2) +
            "\n");
      return;
    }
    print(device.name + ", measured on " + device.measured->date + "\n\n" +
          to_text(indicators, tolerance));
    if (slower)
      std::fprintf(stderr,
                   "%d of %zu indicators are slower than %s by more than %s, "
                   "in every round\n",
                   slower, indicators.size(), file.c_str(),
                   tolerance_text.c_str());
  });
  return status != 0 ? status : slower ? 2 : 0;
}

int main(int argc, char **argv) {
  occupy_standard_streams();
  handle_signals();
  // Which of the two, batonc says.
  if (argc > 1 && std::strcmp(argv[1], "sweep") == 0)
    return run_sweep(argc - 1, argv + 1);
  if (argc > 1 && std::strcmp(argv[1], "calibrate") == 0)
    return run_calibrate(argc - 1, argv + 1);
  return fail("this is run by batonc calibrate and batonc sweep");
}

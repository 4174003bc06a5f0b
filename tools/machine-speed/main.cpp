//===- main.cpp - machine-speed: what this machine can do at best ---------===//
//
// One JSON object on standard output, for `batonc`, which keeps it: a program
// of its own, because the compiler has nothing of the runtime in it.
//
//===----------------------------------------------------------------------===//

#include "runtime/error.h"
#include "runtime/execute/machine_speed.h"
#include "runtime/execute/team.h"

#include <nlohmann/json.hpp>

#include <cstdio>

int main(int argc, char **) {
  if (argc > 1) {
    std::fprintf(stderr, "error: machine-speed takes no arguments; it measures "
                         "the cores that it may run on\n");
    return 1;
  }
  try {
    const unsigned workers = baton::available_workers();
    nlohmann::ordered_json figures = {
        {"workers", workers},
        {"read_bandwidth_gb_s", baton::measure_read_bandwidth(workers) / 1e9},
        {"fma_gflop_s_per_worker",
         baton::measure_arithmetic_peak(workers) / workers / 1e9},
        {"event_us", baton::measure_hand_over(workers) * 1e6}};
    std::printf("%s\n", figures.dump(2).c_str());
  } catch (const baton::Error &error) {
    std::fprintf(stderr, "error: machine-speed: %s\n", error.what());
    return 1;
  }
  return std::fflush(stdout) == 0 ? 0 : 1;
}

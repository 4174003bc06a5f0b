//===- machine_forecast.h - what a run has at hand ------------------------===//

#ifndef BATON_RUNTIME_MAIN_MACHINE_FORECAST_H
#define BATON_RUNTIME_MAIN_MACHINE_FORECAST_H

#include "runtime/execute/machine_speed.h"
#include "runtime/execute/metadata.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>

namespace baton {

/// Of the machine at hand; what is not known is 0.
struct MachineForecast {
  unsigned workers = 0;
  /// In all, and what can be had of it.
  uint64_t memory = 0, free = 0;
  /// What this process has of it before it loads anything.
  uint64_t process = 0;
  /// A second.
  double flops = 0, bytes = 0;
};

/// `workers`: those that a run would have. Of a program on a device nothing is
/// known; `times`: whether the machine's speed is asked for.
MachineForecast measure_machine(const Metadata &metadata, unsigned workers,
                                bool times,
                                Arithmetic products = Arithmetic::multiply_add);

nlohmann::ordered_json machine_json(const MachineForecast &machine);
/// Whether so many bytes fit; a line, or nothing where nothing is known.
std::string memory_verdict(const MachineForecast &machine, uint64_t needed);
/// "2 workers of this machine compute 1.00 GFLOP/s and read 1.00 GB/s"
std::string speed_text(const MachineForecast &machine);

/// A number with the prefix that leaves few digits: "1.20 TFLOP".
std::string scaled_text(double number, const std::string &unit);
std::string seconds_text(double seconds);
std::string count_text(uint64_t count, const std::string &what);

} // namespace baton

#endif // BATON_RUNTIME_MAIN_MACHINE_FORECAST_H

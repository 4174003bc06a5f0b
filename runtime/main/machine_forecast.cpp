//===- machine_forecast.cpp - what a run has at hand ----------------------===//

#include "runtime/main/machine_forecast.h"

#include "runtime/execute/machine_speed.h"
#include "runtime/main/free_memory.h"
#include "runtime/main/table.h"

#include <fstream>

#include <unistd.h>

namespace baton {

MachineForecast measure_machine(const Metadata &metadata, unsigned workers,
                                bool times, Arithmetic products) {
  MachineForecast machine;
  if (!metadata.device.is_null())
    return machine;
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  uint64_t all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  machine.process = resident * page;
  machine.memory = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * page;
  machine.free = free_memory().value_or(0);
  machine.workers = workers;
  if (!times)
    return machine;
  machine.flops = measure_arithmetic_peak(machine.workers, products);
  machine.bytes = measure_read_bandwidth(machine.workers);
  return machine;
}

nlohmann::ordered_json machine_json(const MachineForecast &machine) {
  return {{"workers", machine.workers},
          {"bytes", machine.memory},
          {"free_bytes", machine.free},
          {"flops_per_s", machine.flops},
          {"read_bytes_per_s", machine.bytes}};
}

std::string memory_verdict(const MachineForecast &machine, uint64_t needed) {
  if (!machine.memory)
    return "";
  std::string text = "  this machine has " + bytes_text(double(machine.memory));
  if (machine.free)
    text +=
        ", of which " + bytes_text(double(machine.free)) + " are free: " +
        (needed <= machine.free
             ? "it fits"
             : "it does not fit, " + bytes_text(double(needed - machine.free)) +
                   " are missing");
  return text + "\n";
}

std::string speed_text(const MachineForecast &machine) {
  return count_text(machine.workers, "worker") + " of this machine compute " +
         scaled_text(machine.flops, "FLOP/s") + " and read " +
         scaled_text(machine.bytes, "B/s");
}

std::string scaled_text(double number, const std::string &unit) {
  static constexpr const char *prefixes[] = {"", "k", "M", "G", "T", "P", "E"};
  size_t prefix = 0;
  while (number >= 1000 && prefix + 1 < std::size(prefixes)) {
    number /= 1000;
    ++prefix;
  }
  return fixed_text(number, 2) + " " + prefixes[prefix] + unit;
}

std::string seconds_text(double seconds) {
  if (seconds < 0.1)
    return fixed_text(seconds * 1e3, 2) + " ms";
  if (seconds < 600)
    return fixed_text(seconds, seconds < 10 ? 2 : 1) + " s";
  return fixed_text(seconds / 60, 1) + " min";
}

std::string count_text(uint64_t count, const std::string &what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

} // namespace baton

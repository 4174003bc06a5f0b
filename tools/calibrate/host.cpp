//===- host.cpp - the machine that this process runs on -------------------===//

#include "tools/calibrate/host.h"

#include "runtime/execute/team.h"

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>

#include <unistd.h>

using namespace baton;
using namespace baton::calibrate;

static std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos)
      return line.substr(colon + 2);
  }
  return "unknown processor";
}

/// "32768K"; what it is not is 0.
static double largest_cache() {
  double most = 0;
  std::error_code ignored;
  for (const auto &entry : std::filesystem::directory_iterator(
           "/sys/devices/system/cpu/cpu0/cache", ignored)) {
    std::ifstream file(entry.path() / "size");
    double size = 0;
    char unit = 0;
    if (file >> size >> unit)
      most = std::max(most, size * (unit == 'M' ? 1 << 20 : 1 << 10));
  }
  return most;
}

Host calibrate::this_host() {
  Host host;
  host.processor = processor();
  host.cores = available_workers();
  host.memory = double(sysconf(_SC_PHYS_PAGES)) * double(sysconf(_SC_PAGESIZE));
  host.cache = largest_cache();
  char text[16];
  const std::time_t now = std::time(nullptr);
  std::tm parts;
  std::strftime(text, sizeof(text), "%Y-%m-%d", gmtime_r(&now, &parts));
  host.date = text;
  return host;
}

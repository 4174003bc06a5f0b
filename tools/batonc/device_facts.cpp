//===- device_facts.cpp - devices of batonc plan, for the compiler's plans ===//

#include "tools/batonc/device_facts.h"

#include "tools/plan/device.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <filesystem>

using namespace baton;
using namespace baton::tools;
using llvm::createStringError;

/// A file beside the tools, or the given one.
static llvm::Expected<std::string>
findFile(const std::string &nameOrFile,
         const compiler::Installation &installation) {
  if (nameOrFile.find('/') != std::string::npos ||
      llvm::StringRef(nameOrFile).ends_with(".json"))
    return nameOrFile;
  const std::filesystem::path folder =
      std::filesystem::path(installation.root) / "devices";
  const std::filesystem::path file = folder / (nameOrFile + ".json");
  std::error_code ignored;
  if (std::filesystem::exists(file, ignored))
    return file.string();
  std::vector<std::string> names;
  for (const auto &entry : std::filesystem::directory_iterator(folder, ignored))
    names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return createStringError("--device: there is no '" + nameOrFile +
                           "'; there are " + llvm::join(names, ", ") +
                           ", or give a file");
}

llvm::Expected<NamedDevice>
tools::readDeviceFacts(const std::string &nameOrFile, int64_t ranks,
                       const compiler::Installation &installation) {
  auto file = findFile(nameOrFile, installation);
  if (!file)
    return file.takeError();
  plan::Device device;
  try {
    device = plan::read_device(*file);
  } catch (const std::exception &error) {
    return createStringError(error.what());
  }
  NamedDevice result{device.name,
                     {},
                     device.devices_per_node,
                     device.link_rate,
                     device.link_latency,
                     device.network_rate,
                     device.network_latency};
  result.facts.flops = device.matmul_rate * device.matmul_fraction;
  result.facts.bandwidth = device.bandwidth * device.stream_fraction;
  result.facts.memory = device.memory;
  bool isInside = ranks <= device.devices_per_node;
  result.facts.link =
      isInside ? device.link_rate
               : device.network_rate / double(device.devices_per_node);
  result.facts.latency =
      isInside ? device.link_latency : device.network_latency;
  return result;
}

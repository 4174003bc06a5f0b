//===- HostFigures.cpp - what the machine at hand can do, measured once ---===//

#include "compiler/explain/HostFigures.h"

#include "codegen/link/Cache.h"
#include "codegen/link/Scratch.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Threading.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"

#include <nlohmann/json.hpp>

#include <ctime>

using namespace baton;
using namespace baton::explain;
using link::Cache;
using llvm::createStringError;
using llvm::Expected;
using llvm::StringRef;

/// A change of what machine-speed measures is a change of this.
static constexpr StringRef kMeasurement = "machine-speed 1";

/// Lines of the kernel's description of the first processor; what is in all of
/// them tells steppings of one name apart.
static std::string describeProcessor(std::string &name) {
  auto file = llvm::MemoryBuffer::getFileAsStream("/proc/cpuinfo");
  std::string text;
  if (!file)
    return text;
  llvm::SmallVector<StringRef> lines;
  (*file)->getBuffer().split("\n\n").first.split(lines, '\n');
  for (StringRef line : lines) {
    auto [entry, value] = line.split(':');
    entry = entry.trim();
    if (entry == "model name")
      name = value.trim().str();
    for (StringRef telling :
         {"vendor_id", "cpu family", "model", "model name", "stepping"})
      if (entry == telling)
        text += (entry + "=" + value.trim() + "\n").str();
  }
  return text;
}

Host Host::current() {
  std::string name;
  describeProcessor(name);
  if (name.empty())
    name = llvm::sys::getHostCPUName().str();
  return {name, llvm::hardware_concurrency().compute_thread_count()};
}

std::string Host::text() const {
  return std::to_string(cores) + (cores == 1 ? " core of " : " cores of ") +
         model;
}

std::string explain::today() {
  char text[16];
  std::time_t now = std::time(nullptr);
  std::tm parts;
  std::strftime(text, sizeof(text), "%Y-%m-%d", gmtime_r(&now, &parts));
  return text;
}

/// Nothing where the text has not all of them.
static std::optional<MachineFigures> parse(StringRef text) {
  auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  MachineFigures figures;
  for (auto [name, figure] :
       {std::pair<const char *, std::optional<double> *>{"workers",
                                                         &figures.workers},
        {"read_bandwidth_gb_s", &figures.bandwidthGigabytes},
        {"fma_gflop_s_per_worker", &figures.workerGigaflops},
        {"event_us", &figures.eventMicroseconds}}) {
    if (!json.is_object() || !json.contains(name) || !json[name].is_number() ||
        !(json[name].get<double>() > 0))
      return std::nullopt;
    *figure = json[name].get<double>();
  }
  figures.from = "measured here on " + json.value("date", "an unknown day");
  return figures;
}

/// The text that machine-speed prints, with the day.
static Expected<std::string>
measureHost(const compiler::Installation &installation) {
  llvm::SmallString<128> beside;
  llvm::sys::path::system_temp_directory(/*ErasedOnReboot=*/true, beside);
  llvm::sys::path::append(beside, "baton-machine-speed");
  auto scratch = link::Scratch::beside(beside);
  if (!scratch)
    return scratch.takeError();
  auto text = link::outputOf(*scratch, {installation.machineSpeed()});
  std::string problem = "states no figures";
  if (!text)
    problem = llvm::toString(text.takeError());
  else if (parse(*text)) {
    auto json = nlohmann::ordered_json::parse(*text);
    json["date"] = today();
    return json.dump(2);
  }
  return createStringError(
      "cannot measure this machine: " + installation.machineSpeed() + ": " +
      problem + "; --workers, --bandwidth, --peak and --event-us state it");
}

Expected<MachineFigures>
explain::hostFigures(const compiler::Installation &installation,
                     const std::string &folder, bool quiet) {
  const Host host = Host::current();
  std::string name, processor = describeProcessor(name);
  if (processor.empty())
    processor = host.model;
  const std::string key =
      Cache::key({kMeasurement, processor, std::to_string(host.cores)});
  const Cache cache(folder);
  if (auto kept = cache.find(Cache::Kind::figures, key))
    if (auto figures = parse(*kept))
      return *figures;
  if (!quiet)
    llvm::errs() << "measuring this machine, " << host.text()
                 << ": about two seconds\n";
  auto text = measureHost(installation);
  if (!text)
    return text.takeError();
  cache.store(Cache::Kind::figures, key, *text);
  if (!quiet && !folder.empty())
    llvm::errs() << "its figures are "
                 << (cache.find(Cache::Kind::figures, key) ? "kept in "
                                                           : "not kept: cannot "
                                                             "write to ")
                 << folder << "\n";
  return *parse(*text);
}

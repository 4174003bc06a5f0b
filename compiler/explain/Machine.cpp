//===- Machine.cpp - the figures that predictions rest on -----------------===//

#include "compiler/explain/Machine.h"

#include "llvm/Support/Path.h"

using namespace baton;
using namespace baton::explain;
using llvm::createStringError;

MachineFigures explain::figuresOf(const compiler::TargetDescription &target,
                                  const std::string &path) {
  MachineFigures figures;
  figures.from = llvm::sys::path::filename(path).str();
  figures.workers = target.workers;
  figures.bandwidthGigabytes = target.readBandwidthGigabytes;
  figures.workerGigaflops = target.workerGigaflops;
  figures.workerTensorGigaflops = target.workerTensorGigaflops;
  figures.eventMicroseconds = target.eventMicroseconds;
  return figures;
}

namespace {
struct Need {
  const Figure &figure;
  const char *flag, *entry;
};
} // namespace

/// What nobody states is 0.
static Machine combine(llvm::ArrayRef<MachineFigures> stated) {
  auto choose = [&](auto statedBy) -> Figure {
    for (const MachineFigures &figures : stated)
      if (std::optional<double> figure = statedBy(figures))
        return {*figure, figures.from};
    return {0, ""};
  };
  Machine machine;
  machine.workers =
      choose([](const MachineFigures &figures) { return figures.workers; });
  machine.bandwidthGigabytes = choose(
      [](const MachineFigures &figures) { return figures.bandwidthGigabytes; });
  auto peak = [&](std::optional<double> MachineFigures::*all,
                  std::optional<double> MachineFigures::*one) {
    return choose([&](const MachineFigures &figures) {
      if (figures.*all || !(figures.*one))
        return figures.*all;
      return std::optional(*(figures.*one) * machine.workers.value);
    });
  };
  machine.peakGigaflops =
      peak(&MachineFigures::peakGigaflops, &MachineFigures::workerGigaflops);
  if (Figure tensor = peak(&MachineFigures::tensorGigaflops,
                           &MachineFigures::workerTensorGigaflops);
      tensor.value > 0)
    machine.tensorGigaflops = tensor;
  machine.eventMicroseconds = choose(
      [](const MachineFigures &figures) { return figures.eventMicroseconds; });
  return machine;
}

/// The first figure that nobody states.
static std::optional<Need> missingOf(const Machine &machine) {
  for (const Need &need :
       {Need{machine.workers, "--workers", "workers"},
        Need{machine.bandwidthGigabytes, "--bandwidth", "read_bandwidth_gb_s"},
        Need{machine.peakGigaflops, "--peak", "fma_gflop_s_per_worker"},
        Need{machine.eventMicroseconds, "--event-us", "event_us"}})
    if (!(need.figure.value > 0))
      return need;
  return std::nullopt;
}

llvm::Expected<Machine> explain::chooseMachine(
    std::vector<MachineFigures> stated, const std::string &path,
    llvm::function_ref<llvm::Expected<MachineFigures>()> measure) {
  Machine machine = combine(stated);
  if (missingOf(machine) && measure) {
    auto measured = measure();
    if (!measured)
      return measured.takeError();
    stated.push_back(*measured);
    machine = combine(stated);
  }
  if (std::optional<Need> need = missingOf(machine))
    return createStringError(llvm::Twine(need->flag) + " is missing, and " +
                             path + " states no '" + need->entry + "'");
  return machine;
}

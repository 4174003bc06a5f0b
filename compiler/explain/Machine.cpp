//===- Machine.cpp - the figures that predictions rest on -----------------===//

#include "compiler/explain/Machine.h"

#include "llvm/Support/Path.h"

using namespace baton;
using namespace baton::explain;
using llvm::createStringError;

llvm::Expected<Machine>
explain::chooseMachine(llvm::ArrayRef<MachineFigures> stated,
                       const compiler::TargetDescription &target,
                       const std::string &path) {
  const std::string file = llvm::sys::path::filename(path).str();
  auto choose = [&](std::optional<double> MachineFigures::*figure,
                    std::optional<double> otherwise) -> Figure {
    for (const MachineFigures &figures : stated)
      if (figures.*figure)
        return {*(figures.*figure), figures.from};
    return {otherwise.value_or(0), file};
  };
  Machine machine;
  machine.workers = choose(&MachineFigures::workers, target.workers);
  machine.bandwidthGigabytes = choose(&MachineFigures::bandwidthGigabytes,
                                      target.readBandwidthGigabytes);
  // A description states what one worker can do.
  auto together = [&](std::optional<double> one) {
    return one ? std::optional(*one * machine.workers.value) : std::nullopt;
  };
  machine.peakGigaflops =
      choose(&MachineFigures::peakGigaflops, together(target.workerGigaflops));
  if (Figure tensor = choose(&MachineFigures::tensorGigaflops,
                             together(target.workerTensorGigaflops));
      tensor.value > 0)
    machine.tensorGigaflops = tensor;
  machine.eventMicroseconds =
      choose(&MachineFigures::eventMicroseconds, target.eventMicroseconds);
  struct Need {
    const Figure &figure;
    const char *flag, *entry;
  } needs[] = {
      {machine.workers, "--workers", "workers"},
      {machine.bandwidthGigabytes, "--bandwidth", "read_bandwidth_gb_s"},
      {machine.peakGigaflops, "--peak", "fma_gflop_s_per_worker"},
      {machine.eventMicroseconds, "--event-us", "event_us"}};
  for (const Need &need : needs)
    if (!(need.figure.value > 0))
      return createStringError(llvm::Twine(need.flag) + " is missing, and " +
                               path + " states no '" + need.entry + "'");
  return machine;
}

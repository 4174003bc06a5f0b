//===- Machine.h - the figures that predictions rest on -------------------===//

#ifndef BATON_COMPILER_EXPLAIN_MACHINE_H
#define BATON_COMPILER_EXPLAIN_MACHINE_H

#include "compiler/TargetDescription.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <optional>
#include <string>
#include <vector>

namespace baton::explain {

/// A number, and where it comes from, in words.
struct Figure {
  double value;
  std::string from;
};

struct Machine {
  Figure workers;
  /// Of all workers together.
  Figure bandwidthGigabytes, peakGigaflops;
  /// The peak of products with BF16 weights, where tensor cores do them.
  std::optional<Figure> tensorGigaflops;
  /// From a notification to the start of the task that waits for it.
  Figure eventMicroseconds;

  unsigned workerCount() const { return static_cast<unsigned>(workers.value); }
  /// Microseconds that all workers together need at least.
  double memoryMicroseconds(double bytes) const {
    return bytes / (bandwidthGigabytes.value * 1e3);
  }
  /// `bf16` of the operations are products with BF16 weights.
  double computeMicroseconds(double flops, double bf16) const {
    const Figure &products = tensorGigaflops ? *tensorGigaflops : peakGigaflops;
    return (flops - bf16) / (peakGigaflops.value * 1e3) +
           bf16 / (products.value * 1e3);
  }
};

/// What somebody states about the machine, the rest unset; `from` says who.
struct MachineFigures {
  std::string from;
  std::optional<double> workers, bandwidthGigabytes, peakGigaflops,
      tensorGigaflops, eventMicroseconds;
  /// The peaks of one worker, which count where those of all are not stated.
  std::optional<double> workerGigaflops, workerTensorGigaflops;
};

/// What a target's description at `path` states.
MachineFigures figuresOf(const compiler::TargetDescription &target,
                         const std::string &path);

/// Takes each figure from the first of `stated` that states it. Where nobody
/// states one that is needed, asks `measure`, if there is one. Errors name the
/// figure that nobody states, and the description at `path`.
llvm::Expected<Machine> chooseMachine(
    std::vector<MachineFigures> stated, const std::string &path,
    llvm::function_ref<llvm::Expected<MachineFigures>()> measure = nullptr);

} // namespace baton::explain

#endif // BATON_COMPILER_EXPLAIN_MACHINE_H

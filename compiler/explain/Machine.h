//===- Machine.h - the figures that predictions rest on -------------------===//

#ifndef BATON_COMPILER_EXPLAIN_MACHINE_H
#define BATON_COMPILER_EXPLAIN_MACHINE_H

#include "compiler/TargetDescription.h"

#include <optional>
#include <string>

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
};

/// Takes each figure from the first that states it: `stated` in their order,
/// then the target's description at `path`. Errors name the figure that nobody
/// states.
llvm::Expected<Machine> chooseMachine(llvm::ArrayRef<MachineFigures> stated,
                                      const compiler::TargetDescription &target,
                                      const std::string &path);

} // namespace baton::explain

#endif // BATON_COMPILER_EXPLAIN_MACHINE_H

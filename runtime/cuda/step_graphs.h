//===- step_graphs.h - steps as CUDA graphs -------------------------------===//

#ifndef BATON_RUNTIME_CUDA_STEP_GRAPHS_H
#define BATON_RUNTIME_CUDA_STEP_GRAPHS_H

#include "runtime/cuda/driver.h"
#include "runtime/cuda/step_kernels.h"
#include "runtime/device_program.h"

#include <map>
#include <tuple>

namespace baton {

/// The launches of a step's kernels, captured once and launched as one. They go
/// with the context, whose thread's calls these are.
class StepGraphs {
public:
  StepGraphs(const CudaDriver &driver, const nlohmann::json &description,
             std::string gpu_name);

  /// A program's kernels, of a module that is loaded.
  void add(const nlohmann::json &program, CudaDriver::Module module);
  /// Captures the steps of all programs.
  void prepare(unsigned workers, BatonDevice *argument);
  /// Step `number` by a program that was prepared.
  void launch(size_t program, BatonDevice *argument, uint32_t number,
              CudaDriver::Stream stream) const;

  /// Some kernels of that step, [first, last) of its launches, without a graph.
  void launch_part(size_t program, BatonPart part, unsigned workers,
                   BatonDevice *argument, uint32_t number,
                   CudaDriver::Stream stream) const;

private:
  struct Program {
    StepKernels step;
    std::vector<CudaDriver::Function> functions;
  };
  void issue(const Program &program, BatonPart part, unsigned workers,
             BatonDevice *argument, uint32_t number, CudaDriver::Stream stream,
             const std::string &what) const;
  CudaDriver::GraphExecutable capture(const Program &program, unsigned workers,
                                      BatonDevice *argument,
                                      uint32_t number) const;

  const CudaDriver &driver;
  std::string gpu_name;
  /// A kernel starts while the one before still runs.
  bool programmatic;
  std::vector<Program> programs;
  CudaDriver::Stream capture_stream = nullptr;
  /// Steps of even and of odd numbers read different places.
  std::map<std::tuple<size_t, BatonDevice *, uint32_t>,
           CudaDriver::GraphExecutable>
      graphs;
};

} // namespace baton

#endif // BATON_RUNTIME_CUDA_STEP_GRAPHS_H

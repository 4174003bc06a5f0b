//===- step_graphs.cpp - steps as CUDA graphs -----------------------------===//

#include "runtime/cuda/step_graphs.h"

namespace baton {

StepGraphs::StepGraphs(const CudaDriver &driver,
                       const nlohmann::json &description, std::string gpu_name)
    : driver(driver), gpu_name(std::move(gpu_name)),
      programmatic(description.value("programmatic", false)) {
  driver.check(driver.stream_create(&capture_stream, CudaDriver::non_blocking),
               "no stream for graphs");
}

void StepGraphs::add(const nlohmann::json &description,
                     CudaDriver::Module module) {
  Program &program =
      programs.emplace_back(Program{StepKernels(description), {}});
  for (const StepKernel &kernel : program.step.kernels) {
    CudaDriver::Function &function = program.functions.emplace_back(nullptr);
    driver.check(driver.module_function(&function, module, kernel.name.c_str()),
                 "the program has no kernel " + kernel.name);
    driver.check(driver.function_set(function, CudaDriver::max_dynamic_shared,
                                     static_cast<int>(kernel.shared_bytes)),
                 gpu_name + " has less shared memory than " + kernel.name +
                     " needs, " + std::to_string(kernel.shared_bytes) +
                     " bytes");
  }
}

void StepGraphs::prepare(unsigned workers, BatonDevice *argument) {
  for (size_t program = 0; program < programs.size(); ++program)
    for (uint32_t number : {0, 1})
      graphs[{program, argument, number}] =
          capture(programs[program], workers, argument, number);
}

void StepGraphs::issue(const Program &program, BatonPart part, unsigned workers,
                       BatonDevice *argument, uint32_t number,
                       CudaDriver::Stream stream,
                       const std::string &what) const {
  for (uint32_t place = part.first; place < part.last; ++place) {
    const StepKernels::Launch &launch = program.step.launches[place];
    const StepKernel &kernel = program.step.kernels[launch.kernel];
    int64_t iteration = launch.iteration;
    void *arguments[] = {&argument, &number, &iteration};
    CudaDriver::LaunchAttribute early = {};
    early.id = CudaDriver::programmatic_stream_serialization;
    early.value = 1;
    CudaDriver::LaunchConfig config = {};
    config.grid_x = program.step.blocks(launch, workers);
    config.block_x = program.step.threads;
    config.grid_y = config.grid_z = config.block_y = config.block_z = 1;
    config.shared_bytes = kernel.shared_bytes;
    config.stream = stream;
    config.attributes = &early;
    // The first has none before it.
    config.attribute_count = programmatic && place != 0;
    driver.check(driver.launch_kernel(&config, program.functions[launch.kernel],
                                      arguments, nullptr),
                 what + ", " + kernel.name);
  }
}

CudaDriver::GraphExecutable StepGraphs::capture(const Program &program,
                                                unsigned workers,
                                                BatonDevice *argument,
                                                uint32_t number) const {
  const std::string what = "the graph of a step on " + gpu_name;
  driver.check(
      driver.capture_begin(capture_stream, CudaDriver::capture_thread_local),
      what);
  issue(program, {0, static_cast<uint32_t>(program.step.launches.size())},
        workers, argument, number, capture_stream, what);
  CudaDriver::Graph graph = nullptr;
  driver.check(driver.capture_end(capture_stream, &graph), what);
  CudaDriver::GraphExecutable executable = nullptr;
  driver.check(driver.graph_instantiate(&executable, graph, 0), what);
  driver.check(driver.graph_destroy(graph), what);
  driver.check(driver.graph_upload(executable, capture_stream), what);
  driver.check(driver.stream_synchronize(capture_stream), what);
  return executable;
}

void StepGraphs::launch(size_t program, BatonDevice *argument, uint32_t number,
                        CudaDriver::Stream stream) const {
  driver.check(
      driver.graph_launch(graphs.at({program, argument, number % 2}), stream),
      "a step does not start on " + gpu_name);
}

void StepGraphs::launch_part(size_t program, BatonPart part, unsigned workers,
                             BatonDevice *argument, uint32_t number,
                             CudaDriver::Stream stream) const {
  issue(programs[program], part, workers, argument, number, stream,
        "a step does not start on " + gpu_name);
}

} // namespace baton

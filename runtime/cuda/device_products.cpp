//===- device_products.cpp - steps with products by cuBLASLt --------------===//

#include "runtime/cuda/cublaslt.h"
#include "runtime/cuda/device_execution.h"
#include "runtime/error.h"

#include <cstdio>
#include <mutex>

namespace baton {

/// Where cuBLASLt is not to be had, the kernels' own bodies multiply, unless
/// the program needs it.
void DeviceExecution::prepare_products() {
  const nlohmann::json &description = metadata.device.at("cublaslt");
  try {
    device->open_cublaslt();
  } catch (const Error &error) {
    if (description.at("required").get<bool>())
      throw;
    static std::once_flag said;
    std::call_once(said, [&] {
      std::fprintf(stderr,
                   "warning: %s; the program's own kernels multiply instead\n",
                   error.what());
    });
    return;
  }
  auto bytes = [&](const char *name) {
    return description.at(name).get<uint64_t>();
  };
  product_memory = {
      device->allocate(bytes("activation_bytes"), "cuBLASLt's activations"),
      device->allocate(bytes("weight_bytes"), "cuBLASLt's weights"),
      device->allocate(bytes("product_bytes"), "cuBLASLt's products"),
      device->allocate(CublasLt::workspace_bytes, "cuBLASLt's workspace")};
  state.rounded_activations =
      static_cast<uint16_t *>(product_memory.activations);
  state.unpacked_weights = static_cast<uint16_t *>(product_memory.weights);
  state.product = static_cast<float *>(product_memory.product);
  state.has_cublaslt = 1;
  for (const nlohmann::json &kernel : metadata.device.at("kernels"))
    parts_of_programs.emplace_back(kernel);
}

/// Starts a step of so many rows part by part, if it has products by cuBLASLt.
bool DeviceExecution::begin_parts(uint32_t rows, uint32_t number) {
  parts.clear();
  next_part = 0;
  if (!parts_of_programs.empty())
    parts = parts_of_programs[metadata.program_of(rows)].of(rows);
  if (parts.empty())
    return false;
  rows_of_parts = rows;
  number_of_parts = number;
  launch_parts();
  return true;
}

/// As many as a stream takes without waiting, which would keep this thread from
/// answering. Where kernels ask behind every phase, one at a time: the driver
/// may wait for what runs while it loads what cuBLASLt launches.
void DeviceExecution::launch_parts() {
  constexpr size_t most_phases = 256, phases_of_product = 4;
  const size_t most = state.observed ? 1 : most_phases;
  for (size_t launched = 0; next_part < parts.size() && launched < most;) {
    const StepPart &part = parts[next_part++];
    device->launch_part(metadata.program_of(rows_of_parts), part, rows_of_parts,
                        worker_count, program, number_of_parts, product_memory);
    launched += part.product     ? phases_of_product
                : launches_graph ? part.phases.last - part.phases.first
                                 : 1;
  }
}

} // namespace baton

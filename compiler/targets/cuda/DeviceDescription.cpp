//===- DeviceDescription.cpp - what a program says of its kernels ---------===//

#include "compiler/targets/cuda/DeviceDescription.h"

using namespace baton;
using namespace baton::compiler;

static nlohmann::json describe(const cuda::KernelSegment &segment) {
  auto phases = nlohmann::json::array();
  for (const cuda::PhaseKernel &phase : segment.kernels)
    phases.push_back({{"name", phase.kernel},
                      {"shared_bytes", phase.sharedBytes},
                      {"tiles", phase.tiles}});
  return {{"repeat", segment.repeat}, {"phases", std::move(phases)}};
}

/// Products, and the order of a step's phases that they are among.
static void addProducts(const cuda::Source &source, event::ProgramOp program,
                        nlohmann::json &description) {
  auto phases = event::phasesOf(program);
  auto products = nlohmann::json::array(), order = nlohmann::json::array();
  for (const cuda::ProductKernel &kernel : source.products) {
    event::PhaseOp phase = phases[kernel.phase];
    products.push_back({{"name", phase.getName()},
                        {"phase", kernel.phase},
                        {"kernel", kernel.kernel},
                        {"least_rows", kernel.leastRows},
                        {"depth", kernel.product.paddedDepth()},
                        {"columns", kernel.product.columns()}});
  }
  for (auto segment : program.getBody().getOps<event::SegmentOp>()) {
    auto ops = segment.getBody().getOps<event::PhaseOp>();
    order.push_back({{"repeat", int64_t(segment.getRepeat())},
                     {"phases", std::distance(ops.begin(), ops.end())}});
  }
  description["products"] = std::move(products);
  description["order"] = std::move(order);
}

nlohmann::json compiler::describe(const cuda::Source &source,
                                  event::ProgramOp program) {
  nlohmann::json kernel = {{"name", source.kernel},
                           {"threads", source.threads},
                           {"shared_bytes", source.sharedBytes},
                           {"scratch_bytes", source.scratchBytes},
                           {"scratch_is_shared", source.scratchIsShared}};
  if (source.takesPart)
    kernel["takes_part"] = true;
  for (const cuda::KernelSegment &segment : source.segments)
    kernel["segments"].push_back(::describe(segment));
  if (!source.products.empty())
    addProducts(source, program, kernel);
  return kernel;
}

nlohmann::json
compiler::describeProducts(llvm::ArrayRef<cuda::Source> sources,
                           llvm::ArrayRef<plan::ProgramLayout> layouts,
                           const CompileOptions &options) {
  int64_t activations = 0, weights = 0, sums = 0;
  for (auto [source, layout] : llvm::zip_equal(sources, layouts)) {
    event::ProgramOp program = layout.program;
    auto rows = int64_t(program.getMaxRows());
    for (const cuda::ProductKernel &kernel : source.products) {
      const cuda::CublasLtProduct &product = kernel.product;
      activations = std::max(activations, product.activationBytes(rows));
      weights = std::max(weights, product.weightBytes());
      sums = std::max(sums, product.productBytes(rows));
    }
  }
  if (weights == 0)
    return nullptr;
  return {{"required", options.cublasLt == CublasLt::always},
          {"activation_bytes", activations},
          {"weight_bytes", weights},
          {"product_bytes", sums}};
}

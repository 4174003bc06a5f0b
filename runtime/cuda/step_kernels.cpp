//===- step_kernels.cpp - the kernels that a step is launched as ----------===//

#include "runtime/cuda/step_kernels.h"

namespace baton {

StepKernels::StepKernels(const nlohmann::json &program)
    : threads(program.at("threads").get<unsigned>()) {
  for (const nlohmann::json &segment : program.at("segments")) {
    size_t first = kernels.size();
    for (const nlohmann::json &phase : segment.at("phases"))
      kernels.push_back({phase.at("name").get<std::string>(),
                         phase.at("shared_bytes").get<unsigned>(),
                         phase.at("tiles").get<uint64_t>()});
    int64_t repeat = segment.at("repeat").get<int64_t>();
    for (int64_t iteration = 0; iteration < repeat; ++iteration)
      for (size_t kernel = first; kernel < kernels.size(); ++kernel)
        launches.push_back({kernel, iteration});
  }
}

} // namespace baton

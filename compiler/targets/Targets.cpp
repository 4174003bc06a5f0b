//===- Targets.cpp - the targets that Baton comes with --------------------===//

#include "compiler/targets/Targets.h"

#include "compiler/targets/cpu/CpuTarget.h"
#include "compiler/targets/cuda/CudaTarget.h"

using namespace baton;
using namespace baton::compiler;

std::vector<std::unique_ptr<compiler::Target>> compiler::builtInTargets() {
  std::vector<std::unique_ptr<compiler::Target>> targets;
  targets.push_back(std::make_unique<CpuTarget>());
  targets.push_back(std::make_unique<CudaTarget>());
  return targets;
}

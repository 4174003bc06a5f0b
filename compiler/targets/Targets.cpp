//===- Targets.cpp - the targets that there are ---------------------------===//

#include "compiler/targets/Targets.h"

#include "compiler/targets/cpu/CpuTarget.h"
#include "compiler/targets/cuda/CudaTarget.h"
#include "runtime/weights/message.h"

#include "llvm/ADT/StringExtras.h"

using namespace baton;
using namespace baton::compiler;
using llvm::createStringError;
using llvm::Expected;

static std::vector<std::unique_ptr<compiler::Target>> builtInTargets() {
  std::vector<std::unique_ptr<compiler::Target>> targets;
  targets.push_back(std::make_unique<CpuTarget>());
  targets.push_back(std::make_unique<CudaTarget>());
  return targets;
}

static std::vector<std::unique_ptr<compiler::Target>> &registry() {
  static std::vector<std::unique_ptr<compiler::Target>> targets =
      builtInTargets();
  return targets;
}

llvm::ArrayRef<std::unique_ptr<compiler::Target>> compiler::allTargets() {
  return registry();
}

void compiler::registerTarget(std::unique_ptr<Target> target) {
  registry().push_back(std::move(target));
}

Expected<const compiler::Target &> compiler::findTarget(llvm::StringRef name) {
  std::vector<std::string> examples;
  for (const std::unique_ptr<Target> &target : allTargets()) {
    if (target->answersTo(name))
      return *target;
    const std::string own = target->examples();
    for (llvm::StringRef example : llvm::split(own, ", "))
      examples.push_back(example.str());
  }
  return createStringError("--target=" + name + " is unknown; there is " +
                           llvm::join(examples, ", ") +
                           nearest_text(name.str(), examples));
}

Expected<std::vector<TargetDescription>>
compiler::readTarget(const CompileOptions &options,
                     const Installation &installation) {
  auto target = findTarget(options.target);
  if (!target)
    return target.takeError();
  return target->describe(options, installation);
}

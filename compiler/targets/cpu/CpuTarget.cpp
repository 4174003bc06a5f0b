//===- CpuTarget.cpp - programs for the host's cores ----------------------===//

#include "compiler/targets/cpu/CpuTarget.h"

#include "codegen/link/Cache.h"
#include "compiler/Metadata.h"
#include "compiler/targets/cpu/ObjectKey.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"

using namespace baton;
using namespace baton::compiler;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;

bool CpuTarget::has(Feature feature) const {
  return feature == Feature::pipeline || feature == Feature::gatheringAhead ||
         feature == Feature::batches || feature == Feature::roundedInputs ||
         feature == Feature::tiers || feature == Feature::offloading;
}

Expected<std::vector<TargetDescription>>
CpuTarget::describe(const CompileOptions &options,
                    const Installation &installation) const {
  auto descriptions = Target::describe(options, installation);
  if (!descriptions)
    return descriptions;
  Expected<bool> amx = sumsByAmx(options);
  if (!amx)
    return amx.takeError();
  for (TargetDescription &description : *descriptions)
    if (*amx && description.amxLinearRows)
      description.linearRows = description.amxLinearRows;
  return descriptions;
}

Error CpuTarget::check(const CompileOptions &options) const {
  if (options.stage == Stage::cuda)
    return createStringError("--emit=cuda: --target=" + options.target +
                             " has no kernel in CUDA C++");
  return Error::success();
}

std::string CpuTarget::library(const Installation &installation) const {
  return installation.cpuLibrary();
}

std::string CpuTarget::libraryInF64(const Installation &installation) const {
  return installation.cpuLibraryInF64();
}

cpu::TargetOptions
CpuTarget::codegenOptions(const CompileOptions &options,
                          const Installation &installation) const {
  cpu::TargetOptions result;
  result.cpu = options.targetCpu;
  result.sanitize = options.sanitize;
  // Checks multiply with what is unrolled, and nobody waits for less. The bits
  // are the same.
  if (!options.sanitize.empty())
    result.optimization = 1;
  else
    result.optimization = options.optimization;
  result.library = library(installation);
  result.libraryInF64 = libraryInF64(installation);
  return result;
}

static std::string print(const llvm::Module &module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return text;
}

/// Code that was compiled before, to the byte.
static bool findObject(const link::Cache &cache, const std::string &key,
                       Code &code) {
  auto found = cache.find(link::Cache::Kind::object, key);
  if (!found)
    return false;
  code.objects.emplace_back(found->begin(), found->end());
  code.cached = "code";
  return true;
}

Expected<Code> CpuTarget::emit(llvm::ArrayRef<plan::ProgramLayout> layouts,
                               nlohmann::json &metadata,
                               const CompileOptions &options,
                               llvm::ArrayRef<TargetDescription> descriptions,
                               const cpu::Target &host,
                               const Installation &installation) const {
  if (options.stage == Stage::description)
    return Code();
  cpu::TargetOptions targetOptions = codegenOptions(options, installation);
  std::string text = jsonText(metadata);
  Code code;
  code.machine = host.cpu;
  link::Cache cache(options.cache);
  std::optional<std::string> key;
  if (options.stage != Stage::llvm && !options.cache.empty())
    key = objectKey(layouts, text, host, targetOptions);
  if (key && findObject(cache, *key, code))
    return code;
  llvm::LLVMContext context;
  auto module =
      plan::hasStages(layouts.front().program)
          ? cpu::emitModule(layouts, text, host, targetOptions, context)
          : cpu::emitModule(layouts.front().program, text, host, targetOptions,
                            context);
  if (!module)
    return module.takeError();
  if (options.stage == Stage::llvm) {
    code.text = print(**module);
    return code;
  }
  if (Error error = code.addObject(**module, host, targetOptions.optimization))
    return std::move(error);
  if (key) {
    const auto &object = code.objects.back();
    cache.store(link::Cache::Kind::object, *key,
                {object.data(), object.size()});
  }
  return code;
}

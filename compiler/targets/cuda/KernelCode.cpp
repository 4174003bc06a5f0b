//===- KernelCode.cpp - kernels compiled, for a device or its emulation ---===//

#include "compiler/targets/cuda/KernelCode.h"

#include "codegen/cuda/Nvrtc.h"
#include "codegen/link/Link.h"
#include "codegen/plan/Description.h"

#include <future>

using namespace baton;
using namespace baton::compiler;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;

/// What is said of a compilation that found all kernels.
static constexpr char kCached[] = "kernels";

std::vector<std::string> compiler::emulationFlags(int architecture,
                                                  int optimization,
                                                  const std::string &cpu) {
  return {"-std=c++20", optimization == 1 ? "-O1" : "-O2", "-DBATON_EMULATION",
          "-DBATON_ARCHITECTURE=" + std::to_string(architecture),
          // As in the task library of the CPU: nothing is fused but where
          // written.
          "-ffp-contract=off", "-fno-math-errno", "-fPIC", "-w",
          // Nor is anything inlined but what asks for it: phases apart take
          // half the time to compile.
          "-fno-inline-functions", "-march=" + cpu};
}

/// The kernel compiled for the emulation of a device on the host.
static Expected<link::Object>
compileForEmulation(const cuda::Source &source, const CompileOptions &options,
                    const cpu::Target &target,
                    const Installation &installation) {
  std::vector<std::string> flags = emulationFlags(
      source.architecture, options.optimization, options.targetCpu);
  if (!options.sanitize.empty())
    flags.insert(flags.end(), {"-fsanitize=" + options.sanitize, "-g",
                               "-fno-omit-frame-pointer"});
  return link::compileSource(source.text, options.output,
                             {flags, installation.headers(), /*driver=*/"",
                              options.cache, target.cpu + target.features});
}

/// Runs `compile` on all kernels at the same time; fails as the first that
/// does.
template <typename Result>
static Expected<std::vector<Result>> compileKernels(
    llvm::ArrayRef<cuda::Source> sources,
    llvm::function_ref<Expected<Result>(const cuda::Source &)> compile) {
  std::vector<std::future<Expected<Result>>> running;
  for (const cuda::Source &source : sources)
    running.push_back(
        std::async(std::launch::async, [&] { return compile(source); }));
  std::vector<Result> results;
  Error failed = Error::success();
  for (auto &one : running) {
    Expected<Result> result = one.get();
    if (result)
      results.push_back(std::move(*result));
    else if (failed)
      llvm::consumeError(result.takeError());
    else
      failed = result.takeError();
  }
  if (failed)
    return std::move(failed);
  return results;
}

Error compiler::addEmulatedKernels(llvm::ArrayRef<cuda::Source> sources,
                                   const CompileOptions &options,
                                   const cpu::Target &target,
                                   const Installation &installation, Code &code,
                                   llvm::Module &data) {
  auto kernels =
      compileKernels<link::Object>(sources, [&](const cuda::Source &source) {
        return compileForEmulation(source, options, target, installation);
      });
  if (!kernels)
    return kernels.takeError();
  std::vector<std::string> names;
  for (auto [source, kernel] : llvm::zip_equal(sources, *kernels)) {
    code.objects.emplace_back(kernel.bytes.begin(), kernel.bytes.end());
    if (source.segments.empty())
      names.push_back(source.kernel);
    for (const cuda::KernelSegment &segment : source.segments)
      for (const cuda::PhaseKernel &phase : segment.kernels)
        names.push_back(phase.kernel);
  }
  if (llvm::all_of(*kernels,
                   [](const link::Object &kernel) { return kernel.cached; }))
    code.cached = kCached;
  // Behind all of these, what is before products by cuBLASLt.
  for (const cuda::Source &source : sources)
    for (const cuda::ProductKernel &product : source.products)
      names.push_back(product.kernel);
  plan::emitKernelTable(data, names);
  return Error::success();
}

Error compiler::addCubins(llvm::ArrayRef<cuda::Source> sources,
                          const std::string &architecture,
                          const CompileOptions &options,
                          const Installation &installation,
                          nlohmann::json &kernels, Code &code,
                          llvm::Module &data) {
  auto cubins =
      compileKernels<cuda::Cubin>(sources, [&](const cuda::Source &source) {
        return cuda::compileCubin(source.text, {architecture,
                                                installation.headers(),
                                                {installation.cuda()},
                                                options.cache,
                                                /*moreHeaders=*/{},
                                                options.optimization});
      });
  if (!cubins)
    return cubins.takeError();
  std::vector<llvm::StringRef> files;
  for (auto [cubin, kernel] : llvm::zip_equal(*cubins, kernels)) {
    kernel["registers"] = cubin.registers;
    kernel["spilled_bytes"] = cubin.spilledBytes;
    kernel["serialized_multiplications"] = cubin.serialized;
    kernel["static_shared_bytes"] = cubin.sharedBytes;
    files.emplace_back(cubin.bytes.data(), cubin.bytes.size());
  }
  if (llvm::all_of(*cubins,
                   [](const cuda::Cubin &cubin) { return cubin.cached; }))
    code.cached = kCached;
  plan::emitCubins(data, files);
  return Error::success();
}

Error compiler::addHostPrograms(llvm::ArrayRef<cuda::Source> sources,
                                const CompileOptions &options,
                                const Installation &installation, Code &code,
                                llvm::Module &data) {
  std::vector<std::string> flags = {"-std=c++20", "-O2", "-fPIC"};
  if (!options.sanitize.empty())
    flags.insert(flags.end(), {"-fsanitize=" + options.sanitize, "-g",
                               "-fno-omit-frame-pointer"});
  std::vector<std::string> names;
  for (const cuda::Source &source : sources) {
    names.push_back(source.hostProgram.empty() ? "" : source.hostProgramName());
    if (source.hostProgram.empty())
      continue;
    auto object = link::compileSource(
        source.hostProgram, options.output,
        {flags, installation.headers(), /*driver=*/"", options.cache});
    if (!object)
      return object.takeError();
    code.objects.emplace_back(object->bytes.begin(), object->bytes.end());
  }
  plan::emitHostPrograms(data, names);
  return Error::success();
}

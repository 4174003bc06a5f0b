//===- CudaTarget.cpp - programs for GPUs, and for their emulation --------===//

#include "compiler/targets/cuda/CudaTarget.h"

#include "codegen/bodies/TaskCalls.h"
#include "codegen/cuda/OverlappedExchanges.h"
#include "codegen/plan/Description.h"
#include "compiler/Metadata.h"
#include "compiler/targets/cuda/DeviceDescription.h"
#include "compiler/targets/cuda/KernelCode.h"
#include "compiler/targets/cuda/KernelSources.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/Support/DynamicLibrary.h"

using namespace baton;
using namespace baton::compiler;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;

/// "sm_90a" of "cuda:sm_90a".
static llvm::StringRef suffix(llvm::StringRef target) {
  return target.split(':').second;
}

static bool isEmulated(const CompileOptions &options) {
  return suffix(options.target).starts_with("emulated");
}

std::string CudaTarget::examples() const {
  return "cuda:sm_80, cuda:sm_90a, cuda:emulated";
}

std::string CudaTarget::help() const {
  return "cuda:sm_80, cuda:sm_90a (any of \"architectures\" in the target "
         "description), or cuda:emulated (the CUDA kernel, run by an emulation "
         "on the host; with -sm_80, as it is for that)";
}

std::optional<std::string>
CudaTarget::architecture(llvm::StringRef target) const {
  // "cuda:emulated" is as for sm_90a, "cuda:emulated-sm_80" as for sm_80.
  llvm::StringRef name = suffix(target);
  if (name.consume_front("emulated"))
    name = name.empty() ? "sm_90a" : name.drop_front();
  return name.str();
}

Expected<std::vector<TargetDescription>>
CudaTarget::describe(const CompileOptions &options,
                     const Installation &installation) const {
  auto descriptions = Target::describe(options, installation);
  if (!descriptions)
    return createStringError("--target=" + options.target + ": " +
                             llvm::toString(descriptions.takeError()));
  // ThreadSanitizer tells 256 threads apart and forgets accesses of others: of
  // several blocks that is few threads each. Who describes the target says how
  // many.
  if (options.sanitize == "thread" && options.targetFile.empty())
    for (TargetDescription &description : *descriptions)
      description.threads = 32;
  return descriptions;
}

/// What keeps programs from running on a GPU of this machine, or nothing.
static std::string missingDevice() {
  std::string problem;
  auto driver = llvm::sys::DynamicLibrary::getLibrary("libcuda.so.1", &problem);
  auto find = [&](const char *name) {
    return driver.isValid() ? driver.getAddressOfSymbol(name) : nullptr;
  };
  auto initialize = reinterpret_cast<int (*)(unsigned)>(find("cuInit"));
  auto count = reinterpret_cast<int (*)(int *)>(find("cuDeviceGetCount"));
  if (!initialize || !count)
    return "the CUDA driver (libcuda.so.1) was not found";
  int devices = 0;
  return initialize(0) != 0 || count(&devices) != 0 || devices == 0
             ? "the CUDA driver finds no GPU"
             : "";
}

Error CudaTarget::checkMeasurable(const CompileOptions &options) const {
  const std::string flag = "--target=" + options.target + ": ";
  if (isEmulated(options))
    return createStringError(flag + "times of the emulation say nothing about "
                                    "a GPU; measure there, for its "
                                    "architecture");
  if (std::string missing = missingDevice(); !missing.empty())
    return createStringError(flag +
                             "measuring takes a machine with a GPU, and "
                             "here " +
                             missing);
  return Error::success();
}

bool CudaTarget::has(Feature feature) const {
  return feature == Feature::graph || feature == Feature::cublasLt ||
         feature == Feature::nccl || feature == Feature::batches;
}

Error CudaTarget::check(const CompileOptions &options) const {
  for (const MeshAxis &axis : options.mesh)
    if (!isDataAxis(axis.name) &&
        !(options.training &&
          (isTensorAxis(axis.name) || axis.name == kExpertAxis)))
      return createStringError("--mesh: axis " + axis.name + " with --target=" +
                               options.target + " is not built yet");
  if (options.stage == Stage::llvm)
    return createStringError("--emit=llvm: --target=" + options.target +
                             " has a kernel in CUDA C++; use --emit=cuda");
  if (options.stage == Stage::object && !options.mesh.empty())
    return createStringError(
        "--emit=object: --mesh with --target=" + options.target +
        " makes several objects, which only an executable "
        "joins");
  if (options.stage == Stage::object && isEmulated(options))
    return createStringError("--emit=object: --target=" + options.target +
                             " makes several objects, which only an executable "
                             "joins");
  return Error::success();
}

/// An error for the first call of a body that the task library has not.
static Error checkBodies(llvm::ArrayRef<plan::ProgramLayout> layouts,
                         const CompileOptions &options) {
  event::CallOp missing;
  for (const plan::ProgramLayout &layout : layouts)
    event::ProgramOp(layout.program).walk([&](event::CallOp call) {
      auto body = bodies::lookUp(call);
      if (!missing && body &&
          !llvm::is_contained(bodies::signatureOf(body->kind).libraries,
                              "cuda"))
        missing = call;
    });
  if (!missing)
    return Error::success();
  return createStringError("--target=" + options.target + ": the plan calls " +
                           missing.getCallee() +
                           ", which is for CPUs only so far");
}

Expected<Code> CudaTarget::emit(llvm::ArrayRef<plan::ProgramLayout> layouts,
                                nlohmann::json &metadata,
                                const CompileOptions &options,
                                llvm::ArrayRef<TargetDescription> descriptions,
                                const cpu::Target &host,
                                const Installation &installation) const {
  if (Error error = checkBodies(layouts, options))
    return std::move(error);
  Code code;
  code.machine = options.target;
  metadata["device"] = {
      {"kind", options.target},
      {"launch", options.launchesGraph ? "graph" : "persistent"}};
  // Of kernels only their compiler knows more.
  if (options.stage == Stage::description)
    return code;
  auto sources =
      emitKernelSources(layouts, options, descriptions, host, installation);
  if (!sources)
    return sources.takeError();
  if (options.stage == Stage::cuda) {
    std::string &all = code.text.emplace();
    auto append = [&](const std::string &text) {
      all += (all.empty() || text.empty() ? "" : "\n") + text;
    };
    for (const cuda::Source &source : *sources) {
      append(source.text);
      append(source.hostProgram);
    }
    return code;
  }
  auto kernels = nlohmann::json::array();
  for (auto [source, layout] : llvm::zip_equal(*sources, layouts))
    kernels.push_back(compiler::describe(source, layout.program));
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> data = makeData(host, context);
  bool emulated = isEmulated(options);
  if (Error error =
          emulated ? addEmulatedKernels(*sources, options, host, installation,
                                        code, *data)
                   : addCubins(*sources, suffix(options.target).str(), options,
                               installation, kernels, code, *data))
    return std::move(error);
  if (Error error =
          addHostPrograms(*sources, options, installation, code, *data))
    return std::move(error);
  metadata["device"]["kernels"] = std::move(kernels);
  if (options.launchesGraph)
    metadata["device"]["programmatic"] =
        startsKernelsEarly(options, descriptions.front());
  if (nlohmann::json products = describeProducts(*sources, layouts, options);
      !products.is_null())
    metadata["device"]["cublaslt"] = std::move(products);
  if (!options.mesh.empty() || metadata.contains("mesh"))
    metadata["device"]["exchanges"] =
        options.ncclMultiprocessors ? "overlapped" : "borders";
  if (options.ncclMultiprocessors) {
    metadata["device"]["nccl_multiprocessors"] = options.ncclMultiprocessors;
    metadata["proof"]["obligations"] =
        cuda::overlapObligations(layouts.front(), options.ncclMultiprocessors);
  }
  plan::emitDescription(
      *data, jsonText(metadata),
      emulated ? "baton_make_emulated_execution" : "baton_make_gpu_execution",
      metadata.contains("batch"), metadata.contains("training"));
  if (Error error = code.addObject(*data, host, options.optimization))
    return std::move(error);
  return code;
}

std::vector<std::string>
CudaTarget::archives(const CompileOptions &options,
                     const Installation &installation) const {
  auto paths = Target::archives(options, installation);
  paths.push_back(installation.emulation());
  return paths;
}

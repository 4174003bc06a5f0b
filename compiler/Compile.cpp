//===- Compile.cpp - from a model to an executable ------------------------===//

#include "compiler/Compile.h"

#include "codegen/cpu/Bodies.h"
#include "codegen/cpu/Emit.h"
#include "codegen/cpu/TaskLibrary.h"
#include "codegen/cuda/Nvrtc.h"
#include "codegen/cuda/OverlappedExchanges.h"
#include "codegen/cuda/SourceEmitter.h"
#include "codegen/link/Cache.h"
#include "codegen/link/Link.h"
#include "codegen/plan/Description.h"
#include "codegen/plan/PlanJson.h"
#include "compiler/CublasLtChoice.h"
#include "compiler/DeviceDescription.h"
#include "compiler/Metadata.h"
#include "compiler/ObjectKey.h"
#include "compiler/Outputs.h"
#include "compiler/Plan.h"
#include "compiler/schedule/Schedule.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <future>

using namespace baton;
using namespace baton::compiler;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;

static std::string print(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  stream << '\n';
  return text;
}

namespace {

/// What a target makes of a plan: objects to link, or the text that --emit
/// asked for.
struct Code {
  std::string text;
  std::vector<llvm::SmallVector<char, 0>> objects;
  /// All of it was compiled before.
  bool cached = false;
};

} // namespace

static bool isCuda(const CompileOptions &options) {
  return llvm::StringRef(options.target).starts_with("cuda:");
}

static cpu::TargetOptions cpuOptions(const CompileOptions &options,
                                     const Installation &installation) {
  cpu::TargetOptions result;
  result.cpu = options.targetCpu;
  result.sanitize = options.sanitize;
  // Checks multiply with what is unrolled, and nobody waits for less. The bits
  // are the same.
  if (!options.sanitize.empty())
    result.optimization = 1;
  else
    result.optimization = options.optimization;
  result.library = installation.cpuLibrary();
  result.libraryInF64 = installation.cpuLibraryInF64();
  return result;
}

static std::string print(const llvm::Module &module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return text;
}

/// Names come from file names and IR, which need not be UTF-8.
static std::string print(const nlohmann::json &metadata) {
  return metadata.dump(-1, ' ', false,
                       nlohmann::json::error_handler_t::replace);
}

/// Whether it is the first of the programs by which a pipeline's stages run.
static bool hasStages(event::ProgramOp program) {
  return program->hasAttr("event.pipeline") || program->hasAttr("event.stages");
}

/// Code that was compiled before, to the byte.
static bool findObject(const link::Cache &cache, const std::string &key,
                       Code &code) {
  auto found = cache.find(link::Cache::Kind::object, key);
  if (!found)
    return false;
  code.objects.emplace_back(found->begin(), found->end());
  return code.cached = true;
}

static Error addObject(llvm::Module &module, const cpu::Target &target,
                       int optimization, Code &code) {
  llvm::raw_svector_ostream stream(code.objects.emplace_back());
  return cpu::emitObject(module, target, optimization, stream);
}

static Expected<Code> compileForCpu(llvm::ArrayRef<plan::ProgramLayout> layouts,
                                    const nlohmann::json &metadata,
                                    const CompileOptions &options,
                                    const cpu::Target &target,
                                    const cpu::TargetOptions &targetOptions) {
  std::string text = print(metadata);
  Code code;
  link::Cache cache(options.cache);
  std::optional<std::string> key;
  if (options.stage != Stage::llvm && !options.cache.empty())
    key = objectKey(layouts, text, target, targetOptions);
  if (key && findObject(cache, *key, code))
    return code;
  llvm::LLVMContext context;
  auto module =
      hasStages(layouts.front().program)
          ? cpu::emitModule(layouts, text, target, targetOptions, context)
          : cpu::emitModule(layouts.front().program, text, target,
                            targetOptions, context);
  if (!module)
    return module.takeError();
  if (options.stage == Stage::llvm) {
    code.text = print(**module);
    return code;
  }
  if (Error error =
          addObject(**module, target, targetOptions.optimization, code))
    return std::move(error);
  if (key) {
    const auto &object = code.objects.back();
    cache.store(link::Cache::Kind::object, *key,
                {object.data(), object.size()});
  }
  return code;
}

/// A module of the program's data, without code.
static std::unique_ptr<llvm::Module> makeData(const cpu::Target &target,
                                              llvm::LLVMContext &context) {
  auto module = std::make_unique<llvm::Module>("baton_program", context);
  module->setTargetTriple(target.triple);
  return module;
}

static bool isEmulated(const CompileOptions &options) {
  return llvm::StringRef(options.target).starts_with("cuda:emulated");
}

/// Whether a graph's kernels begin while the one before still runs.
static bool startsKernelsEarly(const CompileOptions &options,
                               const TargetDescription &description) {
  return options.launchesGraph && description.instructions >= 90;
}

/// The kernels of an executable, each of which takes the steps of as many rows
/// as no smaller one does.
static Expected<std::vector<cuda::Source>>
emitCudaSources(llvm::ArrayRef<plan::ProgramLayout> layouts,
                const CompileOptions &options,
                llvm::ArrayRef<TargetDescription> descriptions,
                const cpu::Target &target, const Installation &installation) {
  if (plan::computesInF64(layouts.front().program))
    return createStringError("--target=" + options.target +
                             ": the program computes in f64, which is for "
                             "--target=cpu");
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = makeData(target, context);
  auto library = cpu::TaskLibrary::load(installation.cpuLibrary(), *module);
  if (!library)
    return library.takeError();
  // What the CPU would refuse of them, and how they are called.
  auto bodies =
      cpu::lowerBodies(layouts.front().program, /*checked=*/false, context);
  if (!bodies)
    return bodies.takeError();
  if (*bodies)
    if (Error error = library->add(std::move(*bodies)))
      return std::move(error);
  // A plan by hand may have more programs than the target describes.
  auto descriptionOf = [&](size_t i) -> const TargetDescription & {
    return descriptions[std::min(i, descriptions.size() - 1)];
  };
  std::vector<std::vector<ProductChoice>> products;
  for (auto [i, layout] : llvm::enumerate(layouts))
    products.push_back(
        chooseProducts(layout.program, options, descriptionOf(i)));
  if (Error error = checkCublasLt(products, options))
    return std::move(error);
  std::vector<cuda::Source> sources;
  for (auto [i, layout] : llvm::enumerate(layouts)) {
    const TargetDescription &description = descriptionOf(i);
    cuda::SourceOptions sourceOptions;
    sourceOptions.kernel = "baton_kernel_" + std::to_string(i);
    sourceOptions.threads = description.threads;
    sourceOptions.sharedLimit = description.sharedBytes;
    sourceOptions.asGraph = options.launchesGraph;
    sourceOptions.isProgrammatic = startsKernelsEarly(options, description);
    sourceOptions.overlapsExchanges = options.ncclMultiprocessors != 0;
    sourceOptions.ncclMultiprocessors = options.ncclMultiprocessors;
    if (!options.batchInvariant) {
      sourceOptions.ringStages = description.ringStages;
      sourceOptions.matrixRows = description.linearRows;
      sourceOptions.matrixColumns = description.linearColumns;
      sourceOptions.architecture = description.instructions;
    }
    for (const ProductChoice &choice : products[i])
      if (choice.leastRows)
        sourceOptions.cublasLtRows[choice.phase] = choice.leastRows;
    event::ProgramOp program = layout.program;
    for (const plan::ProgramLayout &other : layouts) {
      event::ProgramOp smaller = other.program;
      if (smaller.getMaxRows() < program.getMaxRows())
        sourceOptions.firstRows = std::max<int64_t>(sourceOptions.firstRows,
                                                    smaller.getMaxRows() + 1);
    }
    auto source = cuda::emitSource(
        layout, sourceOptions,
        [&](llvm::StringRef name) -> llvm::FunctionType * {
          llvm::Function *function = library->declare(*module, name);
          return function ? function->getFunctionType() : nullptr;
        });
    if (!source)
      return source.takeError();
    sources.push_back(std::move(*source));
  }
  return sources;
}

/// The kernel compiled for the emulation of a device on the host.
static Expected<link::Object>
compileForEmulation(const cuda::Source &source, const CompileOptions &options,
                    const cpu::Target &target,
                    const Installation &installation) {
  std::vector<std::string> flags = {
      "-std=c++20", options.optimization == 1 ? "-O1" : "-O2",
      "-DBATON_EMULATION",
      "-DBATON_ARCHITECTURE=" + std::to_string(source.architecture),
      // As in the task library of the CPU: nothing is fused but where written.
      "-ffp-contract=off", "-fno-math-errno", "-fPIC", "-w",
      // Nor is anything inlined but what asks for it: phases apart take half
      // the time to compile.
      "-fno-inline-functions", "-march=" + options.targetCpu};
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

static Error emulatedCode(llvm::ArrayRef<cuda::Source> sources,
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
  code.cached = llvm::all_of(
      *kernels, [](const link::Object &kernel) { return kernel.cached; });
  // Behind all of these, what is before products by cuBLASLt.
  for (const cuda::Source &source : sources)
    for (const cuda::ProductKernel &product : source.products)
      names.push_back(product.kernel);
  plan::emitKernelTable(data, names);
  return Error::success();
}

static Error gpuCode(llvm::ArrayRef<cuda::Source> sources,
                     const std::string &architecture,
                     const CompileOptions &options,
                     const Installation &installation, nlohmann::json &kernels,
                     Code &code, llvm::Module &data) {
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
  code.cached = llvm::all_of(
      *cubins, [](const cuda::Cubin &cubin) { return cubin.cached; });
  plan::emitCubins(data, files);
  return Error::success();
}

/// What the host does in a step of several ranks, as C++ that the driver which
/// links compiles.
static Error addHostPrograms(llvm::ArrayRef<cuda::Source> sources,
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

static Expected<Code>
compileForCuda(llvm::ArrayRef<plan::ProgramLayout> layouts,
               nlohmann::json &metadata, const CompileOptions &options,
               llvm::ArrayRef<TargetDescription> descriptions,
               const cpu::Target &target, const Installation &installation) {
  auto sources =
      emitCudaSources(layouts, options, descriptions, target, installation);
  if (!sources)
    return sources.takeError();
  Code code;
  if (options.stage == Stage::cuda) {
    auto append = [&](const std::string &text) {
      code.text += (code.text.empty() || text.empty() ? "" : "\n") + text;
    };
    for (const cuda::Source &source : *sources) {
      append(source.text);
      append(source.hostProgram);
    }
    return code;
  }
  auto kernels = nlohmann::json::array();
  for (auto [source, layout] : llvm::zip_equal(*sources, layouts))
    kernels.push_back(describe(source, layout.program));
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> data = makeData(target, context);
  std::string architecture =
      llvm::StringRef(options.target).split(':').second.str();
  bool emulated = isEmulated(options);
  if (Error error = emulated ? emulatedCode(*sources, options, target,
                                            installation, code, *data)
                             : gpuCode(*sources, architecture, options,
                                       installation, kernels, code, *data))
    return std::move(error);
  if (Error error =
          addHostPrograms(*sources, options, installation, code, *data))
    return std::move(error);
  metadata["device"] = {
      {"kind", options.target},
      {"launch", options.launchesGraph ? "graph" : "persistent"},
      {"kernels", std::move(kernels)}};
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
  plan::emitDescription(*data, print(metadata),
                        emulated ? "baton_make_emulated_execution"
                                 : "baton_make_gpu_execution");
  if (Error error = addObject(*data, target, options.optimization, code))
    return std::move(error);
  return code;
}

/// From a plan on; writes what the stage asks for.
static Error compilePlans(llvm::ArrayRef<event::ProgramOp> programs,
                          const CompileOptions &options,
                          llvm::ArrayRef<TargetDescription> descriptions,
                          const Installation &installation) {
  event::ProgramOp program = programs.front();
  if (programs.size() > 1 && !isCuda(options) && !hasStages(program))
    return createStringError("--target=" + options.target +
                             " takes one "
                             "program, and the plan has " +
                             std::to_string(programs.size()));
  auto layouts = plan::ProgramLayout::together(programs);
  // A rank chooses a stage's programs by its table, not by rows.
  if (!hasStages(program))
    if (Error error = plan::checkTogether(layouts))
      return error;
  auto target = cpu::resolveTarget(cpuOptions(options, installation));
  if (!target)
    return target.takeError();
  nlohmann::json info = metadata(layouts, options, *target);
  if (options.stage == Stage::executable && info["logits"].is_null())
    return createStringError("program @" + program.getSymName() +
                             " never hands over logits (event.advance), so "
                             "that an executable of it could not decode");
  auto code = isCuda(options)
                  ? compileForCuda(layouts, info, options, descriptions,
                                   *target, installation)
                  : compileForCpu(layouts, info, options, *target,
                                  cpuOptions(options, installation));
  if (!code)
    return code.takeError();
  if (options.stage == Stage::llvm || options.stage == Stage::cuda)
    return writeOutput(options.output, code->text);
  std::vector<llvm::StringRef> objects;
  for (const auto &object : code->objects)
    objects.emplace_back(object.data(), object.size());
  if (options.stage == Stage::object)
    return writeOutput(options.output, objects.front());

  link::LinkOptions linkOptions;
  linkOptions.sanitize = options.sanitize;
  linkOptions.archives = installation.archives(options.sanitize);
  if (Error error = link::linkExecutable(objects, options.output, linkOptions))
    return error;
  if (!options.quiet) {
    std::chrono::duration<double> seconds =
        std::chrono::steady_clock::now() - options.begun;
    llvm::errs() << llvm::format(
        "%s: %zu phases, %llu events, proof %s, compiled for %s in %.1f s%s\n",
        options.output.c_str(),
        hasStages(program) ? info["phases"].size()
                           : info["programs"][0]["phases"].get<size_t>(),
        static_cast<unsigned long long>(
            info["events"]["words"].get<uint64_t>()),
        info["proof"].value("status", "missing").c_str(),
        (isCuda(options) ? options.target : target->cpu).c_str(),
        seconds.count(),
        !code->cached     ? ""
        : isCuda(options) ? ", kernels from the cache"
                          : ", code from the cache");
  }
  return Error::success();
}

int64_t compiler::countStages(const CompileOptions &options) {
  for (const MeshAxis &axis : options.mesh)
    if (axis.name == kPipelineAxis)
      return axis.size;
  return 1;
}

Expected<std::vector<TargetDescription>>
compiler::readTarget(const CompileOptions &options,
                     const Installation &installation) {
  // "cuda:sm_90a"; "cuda:emulated" is as that, "cuda:emulated-sm_80" as sm_80.
  llvm::StringRef architecture =
      llvm::StringRef(options.target).split(':').second;
  if (architecture.consume_front("emulated"))
    architecture = architecture.empty() ? "sm_90a" : architecture.drop_front();
  std::string usual = installation.target(isCuda(options) ? "cuda" : "cpu");
  auto descriptions = TargetDescription::read(
      options.targetFile.empty() ? usual : options.targetFile,
      isCuda(options) ? std::optional(architecture) : std::nullopt, usual,
      options.training);
  if (!descriptions)
    return isCuda(options)
               ? createStringError("--target=" + options.target + ": " +
                                   llvm::toString(descriptions.takeError()))
               : descriptions.takeError();
  if (!isCuda(options))
    descriptions->resize(1);
  // ThreadSanitizer tells 256 threads apart and forgets accesses of others: of
  // several blocks that is few threads each. Who describes the target says how
  // many.
  if (isCuda(options) && options.sanitize == "thread" &&
      options.targetFile.empty())
    for (TargetDescription &description : *descriptions)
      description.threads = 32;
  return descriptions;
}

Error compiler::findOptimizer(CompileOptions &options,
                              const Installation &installation) {
  llvm::StringRef name = options.optimizer;
  auto known = installation.optimizers();
  if (name.ends_with(".mlir"))
    options.optimizerFile = name.str();
  else if (name.empty() || llvm::is_contained(known, name))
    options.optimizerFile =
        installation.optimizer(name.empty() ? "adamw" : name.str());
  else
    return createStringError("--optimizer=" + name + " is unknown; there is " +
                             llvm::join(known, ", ") +
                             ", and FILE.mlir of rules and groups");
  return Error::success();
}

Error compiler::compile(const CompileOptions &given,
                        const Installation &installation) {
  CompileOptions options = given;
  // Everything the flags name is looked at before work starts.
  if (options.stage == Stage::cuda && !isCuda(options))
    return createStringError("--emit=cuda: --target=" + options.target +
                             " has no kernel in CUDA C++");
  if (options.stage == Stage::schedule && options.training)
    return createStringError("--emit=schedule with --mode=train is not built "
                             "yet");
  if (options.stage == Stage::dist && options.mesh.empty())
    return createStringError("--emit=dist: there is one rank; --mesh says "
                             "which there are");
  for (const MeshAxis &axis : options.mesh)
    if (isCuda(options) && !isDataAxis(axis.name) &&
        !(options.training && isTensorAxis(axis.name)))
      return createStringError("--mesh: axis " + axis.name + " with --target=" +
                               options.target + " is not built yet");
  if (options.stage == Stage::llvm && isCuda(options))
    return createStringError("--emit=llvm: --target=" + options.target +
                             " has a kernel in CUDA C++; use --emit=cuda");
  if (options.stage == Stage::object && isCuda(options) &&
      !options.mesh.empty())
    return createStringError(
        "--emit=object: --mesh with --target=" + options.target +
        " makes several objects, which only an executable "
        "joins");
  if (options.stage == Stage::object && isEmulated(options))
    return createStringError("--emit=object: --target=" + options.target +
                             " makes several objects, which only an executable "
                             "joins");
  if (auto target = cpu::resolveTarget(cpuOptions(options, installation));
      !target)
    return target.takeError();
  auto descriptions = readTarget(options, installation);
  if (!descriptions)
    return descriptions.takeError();

  if (Error error = findOptimizer(options, installation))
    return error;
  if (options.stage == Stage::schedule)
    return writeOutput(
        options.output,
        schedule::defaultSchedule(*descriptions, options.disabledPasses));
  auto plan = Plan::build(options, *descriptions);
  if (!plan)
    return plan.takeError();
  if (options.stage == Stage::model || options.stage == Stage::dist ||
      options.stage == Stage::event)
    return writeOutput(options.output, print(plan->module()));
  if (options.stage == Stage::planJson)
    return writeOutput(options.output,
                       print(plan::planJson(plan->programs())) + "\n");
  return compilePlans(plan->programs(), options, *descriptions, installation);
}

Error compiler::compilePrograms(llvm::ArrayRef<event::ProgramOp> programs,
                                const CompileOptions &options,
                                const Installation &installation) {
  auto descriptions = readTarget(options, installation);
  if (!descriptions)
    return descriptions.takeError();
  return compilePlans(programs, options, *descriptions, installation);
}

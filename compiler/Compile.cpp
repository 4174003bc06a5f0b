//===- Compile.cpp - from a model to an executable ------------------------===//

#include "compiler/Compile.h"

#include "codegen/cpu/Emit.h"
#include "codegen/cpu/TaskLibrary.h"
#include "codegen/cuda/Nvrtc.h"
#include "codegen/cuda/SourceEmitter.h"
#include "codegen/link/Link.h"
#include "codegen/plan/Description.h"
#include "compiler/Metadata.h"
#include "compiler/Outputs.h"
#include "compiler/Plan.h"
#include "compiler/schedule/Schedule.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>

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
  result.library = installation.cpuLibrary();
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

static Error addObject(llvm::Module &module, const cpu::Target &target,
                       Code &code) {
  llvm::raw_svector_ostream stream(code.objects.emplace_back());
  return cpu::emitObject(module, target, stream);
}

static Expected<Code> compileForCpu(event::ProgramOp program,
                                    const nlohmann::json &metadata,
                                    const CompileOptions &options,
                                    const cpu::Target &target,
                                    const cpu::TargetOptions &targetOptions) {
  llvm::LLVMContext context;
  auto module =
      cpu::emitModule(program, print(metadata), target, targetOptions, context);
  if (!module)
    return module.takeError();
  Code code;
  if (options.stage == Stage::llvm)
    code.text = print(**module);
  else if (Error error = addObject(**module, target, code))
    return std::move(error);
  return code;
}

/// A module of the program's data, without code.
static std::unique_ptr<llvm::Module> makeData(const cpu::Target &target,
                                              llvm::LLVMContext &context) {
  auto module = std::make_unique<llvm::Module>("baton_program", context);
  module->setTargetTriple(target.triple);
  return module;
}

static Expected<cuda::Source>
emitCudaSource(event::ProgramOp program, const CompileOptions &options,
               const TargetDescription &description, const cpu::Target &target,
               const Installation &installation) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = makeData(target, context);
  auto library = cpu::TaskLibrary::load(installation.cpuLibrary(), *module);
  if (!library)
    return library.takeError();
  return cuda::emitSource(
      program,
      {description.threads, description.sharedBytes,
       options.batchInvariant ? 0 : description.ringStages},
      [&](llvm::StringRef name) -> llvm::FunctionType * {
        llvm::Function *function = library->declare(*module, name);
        return function ? function->getFunctionType() : nullptr;
      });
}

/// The kernel compiled for the emulation of a device on the host.
static Expected<std::unique_ptr<llvm::MemoryBuffer>>
compileForEmulation(llvm::StringRef source, const CompileOptions &options,
                    const Installation &installation) {
  std::vector<std::string> flags = {
      "-std=c++20", "-O2", "-DBATON_EMULATION", "-I" + installation.headers(),
      // As in the task library of the CPU: nothing is fused but where written.
      "-ffp-contract=off", "-fno-math-errno", "-fPIC", "-w",
      "-march=" + options.targetCpu};
  if (!options.sanitize.empty())
    flags.insert(flags.end(), {"-fsanitize=" + options.sanitize, "-g",
                               "-fno-omit-frame-pointer"});
  return link::compileSource(source, options.output, flags);
}

static Expected<Code> compileForCuda(event::ProgramOp program,
                                     nlohmann::json &metadata,
                                     const CompileOptions &options,
                                     const TargetDescription &description,
                                     const cpu::Target &target,
                                     const Installation &installation) {
  auto source =
      emitCudaSource(program, options, description, target, installation);
  if (!source)
    return source.takeError();
  Code code;
  if (options.stage == Stage::cuda) {
    code.text = source->text;
    return code;
  }
  metadata["device"] = {{"kind", options.target},
                        {"threads", description.threads},
                        {"shared_bytes", source->sharedBytes},
                        {"scratch_bytes", source->scratchBytes},
                        {"scratch_is_shared", source->scratchIsShared}};
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> data = makeData(target, context);
  auto [kind, architecture] = llvm::StringRef(options.target).split(':');
  if (architecture == "emulated") {
    auto kernel = compileForEmulation(source->text, options, installation);
    if (!kernel)
      return kernel.takeError();
    llvm::StringRef bytes = (*kernel)->getBuffer();
    code.objects.emplace_back(bytes.begin(), bytes.end());
    plan::emitDescription(*data, print(metadata),
                          "baton_make_emulated_execution");
  } else {
    auto cubin = cuda::compileCubin(
        source->text,
        {architecture.str(), installation.headers(), {installation.cuda()}});
    if (!cubin)
      return cubin.takeError();
    metadata["device"]["registers"] = cubin->registers;
    metadata["device"]["spilled_bytes"] = cubin->spilledBytes;
    metadata["device"]["static_shared_bytes"] = cubin->sharedBytes;
    plan::emitDescription(*data, print(metadata), "baton_make_gpu_execution");
    plan::emitCubin(*data, {cubin->bytes.data(), cubin->bytes.size()});
  }
  if (Error error = addObject(*data, target, code))
    return std::move(error);
  return code;
}

/// From a plan on; writes what the stage asks for.
static Error compilePlan(event::ProgramOp program,
                         const CompileOptions &options,
                         const TargetDescription &description,
                         const Installation &installation) {
  auto start = std::chrono::steady_clock::now();
  auto target = cpu::resolveTarget(cpuOptions(options, installation));
  if (!target)
    return target.takeError();
  nlohmann::json info = metadata(program, options, *target);
  if (options.stage == Stage::executable && info["logits"].is_null())
    return createStringError("program @" + program.getSymName() +
                             " never hands over logits (event.advance), so "
                             "that an executable of it could not decode");
  auto code = isCuda(options)
                  ? compileForCuda(program, info, options, description, *target,
                                   installation)
                  : compileForCpu(program, info, options, *target,
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
        std::chrono::steady_clock::now() - start;
    llvm::errs() << llvm::format(
        "%s: %zu phases, %llu events, proof %s, compiled for %s in %.1f s\n",
        options.output.c_str(), info["phases"].size(),
        static_cast<unsigned long long>(
            info["events"]["words"].get<uint64_t>()),
        info["proof"].value("status", "missing").c_str(),
        (isCuda(options) ? options.target : target->cpu).c_str(),
        seconds.count());
  }
  return Error::success();
}

static Expected<TargetDescription>
readDescription(const CompileOptions &options,
                const Installation &installation) {
  auto description = TargetDescription::read(
      options.targetFile.empty()
          ? installation.target(isCuda(options) ? "cuda" : "cpu")
          : options.targetFile);
  // ThreadSanitizer tells 256 threads apart and forgets accesses of others: of
  // several blocks that is few threads each.
  if (description && isCuda(options) && options.sanitize == "thread")
    description->threads = 32;
  return description;
}

Error compiler::compile(const CompileOptions &options,
                        const Installation &installation) {
  // Everything the flags name is looked at before work starts.
  if (options.stage == Stage::cuda && !isCuda(options))
    return createStringError("--emit=cuda: --target=" + options.target +
                             " has no kernel in CUDA C++");
  if (options.stage == Stage::llvm && isCuda(options))
    return createStringError("--emit=llvm: --target=" + options.target +
                             " has a kernel in CUDA C++; use --emit=cuda");
  if (options.stage == Stage::object && options.target == "cuda:emulated")
    return createStringError("--emit=object: --target=cuda:emulated makes two "
                             "objects, which only an executable joins");
  if (auto target = cpu::resolveTarget(cpuOptions(options, installation));
      !target)
    return target.takeError();
  auto description = readDescription(options, installation);
  if (!description)
    return description.takeError();

  if (options.stage == Stage::schedule)
    return writeOutput(
        options.output,
        schedule::defaultSchedule(*description, options.disabledPasses));
  auto plan = Plan::build(options, *description);
  if (!plan)
    return plan.takeError();
  if (options.stage == Stage::model || options.stage == Stage::event)
    return writeOutput(options.output, print(plan->module()));
  return compilePlan(plan->program(), options, *description, installation);
}

Error compiler::compileProgram(event::ProgramOp program,
                               const CompileOptions &options,
                               const Installation &installation) {
  auto description = readDescription(options, installation);
  if (!description)
    return description.takeError();
  return compilePlan(program, options, *description, installation);
}

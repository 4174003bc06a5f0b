//===- Compile.cpp - from a model to an executable ------------------------===//

#include "compiler/Compile.h"

#include "codegen/cpu/Emit.h"
#include "codegen/link/Link.h"
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

Error compiler::compile(const CompileOptions &options,
                        const Installation &installation) {
  auto start = std::chrono::steady_clock::now();

  // Everything the flags name is looked at before work starts.
  cpu::TargetOptions targetOptions;
  targetOptions.cpu = options.targetCpu;
  targetOptions.sanitize = options.sanitize;
  targetOptions.library = installation.cpuLibrary();
  auto target = cpu::resolveTarget(targetOptions);
  if (!target)
    return target.takeError();
  auto description = TargetDescription::read(options.targetFile.empty()
                                                 ? installation.target("cpu")
                                                 : options.targetFile);
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

  event::ProgramOp program = plan->program();
  llvm::LLVMContext llvmContext;
  nlohmann::json info = metadata(program, options, *target);
  if (options.stage == Stage::executable && info["logits"].is_null())
    return createStringError("program @" + program.getSymName() +
                             " never hands over logits (event.advance), so "
                             "that an executable of it could not decode");
  // Names come from file names and IR, which need not be UTF-8.
  std::string text =
      info.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  auto code =
      cpu::emitModule(program, text, *target, targetOptions, llvmContext);
  if (!code)
    return code.takeError();
  if (options.stage == Stage::llvm) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    (*code)->print(stream, nullptr);
    return writeOutput(options.output, text);
  }
  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream stream(object);
  if (Error error = cpu::emitObject(**code, *target, stream))
    return error;
  llvm::StringRef bytes(object.data(), object.size());
  if (options.stage == Stage::object)
    return writeOutput(options.output, bytes);

  link::LinkOptions linkOptions;
  linkOptions.sanitize = options.sanitize;
  linkOptions.archives = installation.archives(options.sanitize);
  if (Error error = link::linkExecutable(bytes, options.output, linkOptions))
    return error;
  if (!options.quiet) {
    std::chrono::duration<double> seconds =
        std::chrono::steady_clock::now() - start;
    llvm::errs() << llvm::format(
        "%s: %zu phases, %llu events, proof %s, compiled for %s in %.1f s\n",
        options.output.c_str(), info["phases"].size(),
        static_cast<unsigned long long>(
            info["events"]["words"].get<uint64_t>()),
        info["proof"].value("status", "missing").c_str(), target->cpu.c_str(),
        seconds.count());
  }
  return Error::success();
}

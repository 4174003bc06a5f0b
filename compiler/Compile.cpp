//===- Compile.cpp - from a model to an executable ------------------------===//

#include "compiler/Compile.h"

#include "codegen/link/Link.h"
#include "codegen/plan/PlanChecks.h"
#include "codegen/plan/PlanJson.h"
#include "compiler/Metadata.h"
#include "compiler/Outputs.h"
#include "compiler/Plan.h"
#include "compiler/schedule/Schedule.h"
#include "compiler/targets/Targets.h"

#include "llvm/Support/Format.h"
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

/// The names in a location, without lines of files.
static mlir::LocationAttr namesIn(mlir::LocationAttr location) {
  auto *context = location.getContext();
  if (auto name = llvm::dyn_cast<mlir::NameLoc>(location))
    return mlir::NameLoc::get(name.getName());
  llvm::SmallVector<mlir::Location> names;
  if (auto fused = llvm::dyn_cast<mlir::FusedLoc>(location))
    for (mlir::Location part : fused.getLocations())
      if (mlir::LocationAttr name = namesIn(part);
          !llvm::isa<mlir::UnknownLoc>(name))
        names.push_back(name);
  return mlir::FusedLoc::get(context, names);
}

/// A model with the names of its ops, which schedules find them by.
static std::string printNamed(mlir::ModuleOp module) {
  module->walk([](mlir::Operation *op) { op->setLoc(namesIn(op->getLoc())); });
  module->walk([](mlir::Block *block) {
    for (mlir::BlockArgument argument : block->getArguments())
      argument.setLoc(mlir::UnknownLoc::get(argument.getContext()));
  });
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream,
                mlir::OpPrintingFlags().useLocalScope().enableDebugInfo());
  stream << '\n';
  constexpr llvm::StringLiteral nameless = " loc(unknown)";
  for (size_t at = 0; (at = text.find(nameless, at)) != std::string::npos;)
    text.erase(at, nameless.size());
  return text;
}

/// The machine that runs an executable, but for kernels on devices.
static Expected<cpu::Target> resolveHost(const CompileOptions &options) {
  cpu::TargetOptions host;
  host.cpu = options.targetCpu;
  return cpu::resolveTarget(host);
}

/// The line about a compilation.
static void report(const Code &code, const nlohmann::json &info, bool hasStages,
                   const CompileOptions &options) {
  std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - options.begun;
  std::string cached =
      code.cached.empty() ? "" : ", " + code.cached + " from the cache";
  llvm::errs() << llvm::format(
      "%s: %zu phases, %llu events, proof %s, compiled for %s in %.1f s%s\n",
      options.output.c_str(),
      hasStages ? info["phases"].size()
                : info["programs"][0]["phases"].get<size_t>(),
      static_cast<unsigned long long>(info["events"]["words"].get<uint64_t>()),
      info["proof"].value("status", "missing").c_str(), code.machine.c_str(),
      seconds.count(), cached.c_str());
}

/// From a plan on; writes what the stage asks for.
static Error compilePlans(llvm::ArrayRef<event::ProgramOp> programs,
                          const compiler::Target &target,
                          const CompileOptions &options,
                          llvm::ArrayRef<TargetDescription> descriptions,
                          const Installation &installation) {
  event::ProgramOp program = programs.front();
  const bool hasStages = plan::hasStages(program);
  if (programs.size() > 1 && !target.choosesByRows() && !hasStages)
    return createStringError("--target=" + options.target +
                             " takes one "
                             "program, and the plan has " +
                             std::to_string(programs.size()));
  auto layouts = plan::ProgramLayout::together(programs);
  // A rank chooses a stage's programs by its table, not by rows.
  if (!hasStages)
    if (Error error = plan::checkTogether(layouts))
      return error;
  auto host = resolveHost(options);
  if (!host)
    return host.takeError();
  nlohmann::json info = metadata(layouts, options, *host);
  if (options.stage == Stage::executable && info["logits"].is_null())
    return createStringError("program @" + program.getSymName() +
                             " never hands over logits (event.advance), so "
                             "that an executable of it could not decode");
  auto code =
      target.emit(layouts, info, options, descriptions, *host, installation);
  if (!code)
    return code.takeError();
  if (options.stage == Stage::description)
    return writeOutput(options.output, jsonText(info) + "\n");
  if (code->text)
    return writeOutput(options.output, *code->text);
  std::vector<llvm::StringRef> objects;
  for (const auto &object : code->objects)
    objects.emplace_back(object.data(), object.size());
  if (options.stage == Stage::object)
    return writeOutput(options.output, objects.front());

  link::LinkOptions linkOptions;
  linkOptions.sanitize = options.sanitize;
  linkOptions.archives = target.archives(options, installation);
  if (Error error = link::linkExecutable(objects, options.output, linkOptions))
    return error;
  if (!options.quiet)
    report(*code, info, hasStages, options);
  return Error::success();
}

Error compiler::compile(const CompileOptions &given,
                        const Installation &installation) {
  CompileOptions options = given;
  // Everything the flags name is looked at before work starts.
  auto target = findTarget(options.target);
  if (!target)
    return target.takeError();
  if (options.stage == Stage::schedule && options.training)
    return createStringError("--emit=schedule with --mode=train is not built "
                             "yet");
  if (options.stage == Stage::dist && options.mesh.empty())
    return createStringError("--emit=dist: there is one rank; --mesh says "
                             "which there are");
  if (Error error = target->check(options))
    return error;
  if (auto host = resolveHost(options); !host)
    return host.takeError();
  auto descriptions = target->describe(options, installation);
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
  if (options.stage == Stage::primitive || options.stage == Stage::model ||
      options.stage == Stage::dist)
    return writeOutput(options.output, printNamed(plan->module()));
  if (options.stage == Stage::phases || options.stage == Stage::event)
    return writeOutput(options.output, print(plan->module()));
  if (options.stage == Stage::planJson)
    return writeOutput(options.output,
                       jsonText(plan::planJson(plan->programs())) + "\n");
  return compilePlans(plan->programs(), *target, options, *descriptions,
                      installation);
}

Error compiler::compilePrograms(llvm::ArrayRef<event::ProgramOp> programs,
                                const CompileOptions &options,
                                const Installation &installation) {
  auto target = findTarget(options.target);
  if (!target)
    return target.takeError();
  auto descriptions = target->describe(options, installation);
  if (!descriptions)
    return descriptions.takeError();
  return compilePlans(programs, *target, options, *descriptions, installation);
}

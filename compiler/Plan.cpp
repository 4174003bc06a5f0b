//===- Plan.cpp - from a model to a proved plan ---------------------------===//

#include "compiler/Plan.h"

#include "compiler/Dialects.h"
#include "compiler/Pipeline.h"
#include "compiler/SourceFile.h"
#include "compiler/schedule/Schedule.h"
#include "dialects/Model/Model.h"
#include "models/Importer.h"

#include "mlir/Dialect/Transform/IR/TransformDialect.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/SourceMgr.h"

using namespace baton;
using namespace baton::compiler;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;

/// Reads an .mlir file and applies --max-seq to it.
static Expected<mlir::OwningOpRef<mlir::ModuleOp>>
parseFile(mlir::MLIRContext &context, const CompileOptions &options,
          Diagnostics &diagnostics) {
  if (options.dtype != "auto")
    return createStringError("--dtype: the types of " + options.model +
                             " are written in it; leave the flag out");
  llvm::SourceMgr sources;
  auto buffer = readSourceFile(options.model);
  if (!buffer)
    return buffer.takeError();
  sources.AddNewSourceBuffer(std::move(*buffer), llvm::SMLoc());
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(sources, &context);
  if (!module)
    return diagnostics.take(options.model + ": cannot be parsed");
  unsigned programs = 0;
  for (mlir::Operation &op : *module->getBody())
    programs += llvm::isa<model::ProgramOp, event::ProgramOp>(op);
  if (programs != 1)
    return createStringError(options.model + ": holds " +
                             std::to_string(programs) +
                             " programs, expected one model.program or "
                             "event.program");
  if (options.maxSeq) {
    auto programs = module->getOps<model::ProgramOp>();
    if (programs.empty())
      return createStringError("--max-seq: the plan in " + options.model +
                               " states its own; leave the flag out");
    model::ProgramOp program = *programs.begin();
    int64_t limit = program.getMaxSeq();
    if (*options.maxSeq > limit)
      return createStringError("--max-seq " + std::to_string(*options.maxSeq) +
                               ": the program in " + options.model +
                               " allows at most " + std::to_string(limit));
    program.setMaxSeq(*options.maxSeq);
  }
  return module;
}

static Expected<mlir::OwningOpRef<mlir::ModuleOp>>
readModel(mlir::MLIRContext &context, const CompileOptions &options,
          Diagnostics &diagnostics) {
  if (llvm::sys::fs::is_directory(options.model)) {
    models::ImportOptions import;
    import.maxSeq = options.maxSeq;
    import.dtype = options.dtype;
    std::string error;
    auto module = models::importFolder(context, options.model, import, error);
    if (!module)
      return createStringError(error);
    return module;
  }
  if (!llvm::sys::fs::exists(options.model))
    return createStringError(options.model +
                             ": no such file or folder; MODEL is a checkpoint "
                             "folder with config.json, or an .mlir file");
  return parseFile(context, options, diagnostics);
}

static Error run(mlir::PassManager &manager, mlir::ModuleOp module,
                 Diagnostics &diagnostics) {
  if (mlir::succeeded(manager.run(module)))
    return Error::success();
  return diagnostics.take("a pass failed without saying why");
}

Plan::Plan()
    : context(std::make_unique<mlir::MLIRContext>(
          mlir::MLIRContext::Threading::DISABLED)) {
  mlir::DialectRegistry registry;
  registerDialects(registry);
  context->appendDialectRegistry(registry);
  context->loadDialect<model::ModelDialect, event::EventDialect,
                       mlir::transform::TransformDialect>();
  diagnostics = std::make_unique<Diagnostics>(context.get());
}

event::ProgramOp Plan::program() const {
  return *owned.get().getOps<event::ProgramOp>().begin();
}

/// The schedule of a compilation, by default or from a file.
static Expected<schedule::Schedule>
readSchedule(mlir::MLIRContext &context, const CompileOptions &options,
             const TargetDescription &target, Diagnostics &diagnostics) {
  std::string text;
  if (!options.schedule.empty()) {
    auto buffer = readSourceFile(options.schedule);
    if (!buffer)
      return buffer.takeError();
    text = (*buffer)->getBuffer().str();
    if (text.empty())
      return createStringError(options.schedule + ": is empty");
  }
  auto schedule = schedule::Schedule::parse(
      &context, schedule::defaultSchedule(target, options.disabledPasses), text,
      options.schedule);
  if (mlir::failed(schedule))
    return diagnostics.take(options.schedule + ": cannot be parsed");
  return std::move(*schedule);
}

Expected<Plan> Plan::build(const CompileOptions &options,
                           const TargetDescription &target) {
  Plan plan;
  auto module = readModel(*plan.context, options, *plan.diagnostics);
  if (!module)
    return module.takeError();
  plan.owned = std::move(*module);
  bool isModel = !plan.module().getOps<model::ProgramOp>().empty();
  if (!isModel && !options.schedule.empty())
    return createStringError("--schedule: " + options.model +
                             " holds a plan, of which all is decided");
  plan.tiled = isModel;
  if (options.stage == Stage::model && !isModel)
    return createStringError("--emit=model: " + options.model +
                             " holds a plan already");
  auto schedule =
      readSchedule(*plan.context, options, target, *plan.diagnostics);
  if (!schedule)
    return schedule.takeError();
  if (isModel) {
    mlir::PassManager manager(plan.context.get());
    addModelPasses(manager, *schedule);
    if (Error error = run(manager, plan.module(), *plan.diagnostics))
      return error;
    if (options.stage == Stage::model)
      return plan;
  }
  mlir::PassManager manager(plan.context.get());
  if (isModel)
    addTaskPasses(manager, target, *schedule);
  else
    addVerification(manager);
  if (Error error = run(manager, plan.module(), *plan.diagnostics))
    return error;
  return plan;
}

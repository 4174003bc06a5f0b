//===- Plan.cpp - from a model to a proved plan ---------------------------===//

#include "compiler/Plan.h"

#include "compiler/Dialects.h"
#include "compiler/Pipeline.h"
#include "compiler/RouterBias.h"
#include "compiler/SourceFile.h"
#include "compiler/Target.h"
#include "compiler/schedule/Schedule.h"
#include "dialects/Dist/Dist.h"
#include "dialects/Dist/Placement.h"
#include "dialects/Model/Model.h"
#include "dialects/Update/Update.h"
#include "models/Importer.h"

#include "mlir/Dialect/Transform/IR/TransformDialect.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"

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
  if (options.activations != "f32")
    return createStringError("--activations: the types of " + options.model +
                             " are written in it, inputs = i8 and inputs bf16 "
                             "among them; leave the flag out");
  auto parsed = parseSourceFile(options.model, context, diagnostics);
  if (!parsed)
    return parsed.takeError();
  mlir::OwningOpRef<mlir::ModuleOp> module = std::move(*parsed);
  auto count = [](auto ops) { return std::distance(ops.begin(), ops.end()); };
  size_t models = count(module->getOps<model::ProgramOp>());
  size_t plans = count(module->getOps<event::ProgramOp>());
  if (models + plans == 0 || models > 1 || (models == 1 && plans > 0))
    return createStringError(options.model + ": holds " +
                             std::to_string(models + plans) +
                             " programs, expected one model.program, or an "
                             "event.program or several of one model");
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

using QuantisedWeights =
    llvm::SmallVector<std::pair<model::ParameterOp, model::QuantizedType>>;

static QuantisedWeights quantisedWeights(mlir::ModuleOp module) {
  QuantisedWeights found;
  module.walk([&](model::ParameterOp op) {
    if (auto type = mlir::dyn_cast<model::QuantizedType>(
            model::typeOf(op).getElementType()))
      found.emplace_back(op, type);
  });
  return found;
}

/// What linears multiply by these weights is rounded first.
static void roundToBytes(const QuantisedWeights &weights) {
  for (auto [op, type] : weights)
    op.getResult().setType(
        model::typeOf(op).withElementType(model::QuantizedType::get(
            type.getContext(), type.getFormats(),
            mlir::IntegerType::get(type.getContext(), 8))));
}

/// Says of the model what --activations asks for, or why it cannot.
static Error roundInputs(mlir::ModuleOp module, const CompileOptions &options,
                         const QuantisedWeights &quantised) {
  const std::string flag = "--activations=" + options.activations + ": ";
  if (options.activations == "int8") {
    if (quantised.empty())
      return createStringError(flag + "no weight of " + options.model +
                               " is quantised; leave the flag out");
    for (auto [op, type] : quantised)
      if (!type.hasWholeNumbers())
        return createStringError(
            flag + "'" +
            mlir::cast<mlir::StringAttr>(op.getSources()[0]).str() + "' is " +
            type.getFormats().str() +
            ", whose numbers are not whole; leave the flag out");
    roundToBytes(quantised);
  }
  if (llvm::StringRef(options.activations).starts_with("bf16")) {
    auto isBFloat16 = [](mlir::Value weight) {
      return model::typeOf(weight).getElementType().isBF16();
    };
    bool hasSome = false;
    module.walk(
        [&](model::LinearOp op) { hasSome |= isBFloat16(op.getWeight()); });
    module.walk(
        [&](model::GatedLinearOp op) { hasSome |= isBFloat16(op.getGate()); });
    module.walk([&](model::GroupedLinearOp op) {
      hasSome |= isBFloat16(op.getWeight());
    });
    module.walk([&](model::GroupedGatedLinearOp op) {
      hasSome |= isBFloat16(op.getGate());
    });
    if (!hasSome)
      return createStringError(flag + "no weight that linears of " +
                               options.model +
                               " multiply by is BF16; leave the flag out, or "
                               "have --dtype=bf16 round them");
    Expected<bool> amx = sumsByAmx(options);
    if (!amx)
      return amx.takeError();
    bool routes = false;
    module.walk([&](model::RouteOp) { routes = true; });
    if (options.training && routes)
      return createStringError(
          flag + "adapters of mixtures train with inputs in F32, lest rows go "
                 "to other experts; leave the flag out");
    if (options.training && !*amx)
      return createStringError(
          flag + "training has AMX's sums only, and the CPU has no AMX; "
                 "--activations=bf16-amx has them on any CPU, slowly");
    for (auto program : module.getOps<model::ProgramOp>()) {
      program.setInputs(mlir::BFloat16Type::get(module.getContext()));
      program.setAmx(*amx);
    }
  }
  return Error::success();
}

static Expected<mlir::OwningOpRef<mlir::ModuleOp>>
readModel(mlir::MLIRContext &context, const CompileOptions &options,
          Diagnostics &diagnostics) {
  if (llvm::sys::fs::is_directory(options.model) ||
      models::isGgufFile(options.model)) {
    models::ImportOptions import;
    import.maxSeq = options.maxSeq;
    import.dtype = options.dtype;
    std::string error;
    auto module = models::importFolder(context, options.model, import, error);
    if (!module)
      return createStringError(error);
    QuantisedWeights quantised = quantisedWeights(*module);
    if (options.training && !options.adapter && !quantised.empty())
      return createStringError(
          options.model + ": '" +
          mlir::cast<mlir::StringAttr>(quantised[0].first.getSources()[0])
              .str() +
          "' is quantised, and weights that train are floating-point numbers; "
          "--adapter=lora trains beside them, and --mode=train alone takes the "
          "checkpoint that it was made of");
    if (Error refusal = roundInputs(*module, options, quantised))
      return std::move(refusal);
    return module;
  }
  if (!llvm::sys::fs::exists(options.model))
    return createStringError(options.model +
                             ": no such file or folder; MODEL is a checkpoint "
                             "folder with config.json, a .gguf file, or an "
                             ".mlir file");
  return parseFile(context, options, diagnostics);
}

static Error run(mlir::PassManager &manager, mlir::ModuleOp module,
                 Diagnostics &diagnostics) {
  if (mlir::succeeded(manager.run(module)))
    return Error::success();
  return diagnostics.take("a pass failed without saying why");
}

/// Puts the rules and groups of --optimizer beside the program, before it.
/// A file may have its own.
static Error addOptimizer(mlir::ModuleOp module, const CompileOptions &options,
                          Diagnostics &diagnostics) {
  bool own = !module.getOps<update::GroupOp>().empty();
  if (own && options.optimizer.empty())
    return Error::success();
  if (own)
    return createStringError("--optimizer: " + options.model +
                             " has groups of its own; leave the flag out");
  auto parsed =
      parseSourceFile(options.optimizerFile, *module.getContext(), diagnostics);
  if (!parsed)
    return parsed.takeError();
  mlir::OwningOpRef<mlir::ModuleOp> rules = std::move(*parsed);
  if (rules->getBody()->empty() || rules->getOps<update::GroupOp>().empty())
    return createStringError(options.optimizerFile + ": has no update.group");
  mlir::Block *body = module.getBody();
  auto first = body->begin();
  for (mlir::Operation &op :
       llvm::make_early_inc_range(rules->getBody()->getOperations())) {
    if (!llvm::isa<update::RuleOp, update::FormatOp, update::GroupOp>(op))
      return createStringError(
          options.optimizerFile + ": holds " + op.getName().getStringRef() +
          ", expected update.rule, update.format and update.group");
    auto name = op.getAttrOfType<mlir::StringAttr>(
        mlir::SymbolTable::getSymbolAttrName());
    if (name && module.lookupSymbol(name))
      return createStringError(options.optimizerFile + ": " + options.model +
                               " has a @" + name.getValue() + " already");
    op.moveBefore(body, first);
  }
  return Error::success();
}

/// Says of the module which ranks there are.
static Error addMesh(mlir::ModuleOp module, const CompileOptions &options) {
  if (auto own = module.getOps<dist::MeshOp>(); !own.empty()) {
    const bool planned = llvm::any_of(
        module.getOps<model::ProgramOp>(),
        [](model::ProgramOp op) { return op->hasAttr(dist::kPlanned); });
    if (!planned)
      return createStringError(options.model +
                               ": has a dist.mesh; --mesh says which ranks "
                               "there are");
    // A plan of placements says which ranks it is for.
    dist::MeshOp mesh = *own.begin();
    std::string stated, given;
    auto add = [](std::string &text, llvm::StringRef name, int64_t size) {
      text +=
          (text.empty() ? "" : ",") + name.str() + "=" + std::to_string(size);
    };
    for (auto name : mesh.getNames().getAsRange<mlir::StringAttr>())
      add(stated, name.getValue(), mesh.getSize(name));
    for (const MeshAxis &axis : options.mesh)
      add(given, axis.name, axis.size);
    if (stated == given)
      return Error::success();
    return createStringError(options.model + ": is of ranks " + stated +
                             "; compile it with --mesh=" + stated);
  }
  if (options.mesh.empty())
    return Error::success();
  auto builder = mlir::OpBuilder::atBlockBegin(module.getBody());
  llvm::SmallVector<llvm::StringRef> names, batch;
  llvm::SmallVector<int64_t> sizes;
  for (const MeshAxis &axis : options.mesh) {
    names.push_back(axis.name);
    sizes.push_back(axis.size);
    if (isDataAxis(axis.name) ||
        (options.exchangesExperts && axis.name == kExpertAxis))
      batch.push_back(axis.name);
  }
  builder.create<dist::MeshOp>(module.getLoc(), builder.getStrArrayAttr(names),
                               builder.getDenseI64ArrayAttr(sizes),
                               builder.getStrArrayAttr(batch));
  return Error::success();
}

Plan::Plan()
    : context(std::make_unique<mlir::MLIRContext>(
          mlir::MLIRContext::Threading::DISABLED)) {
  mlir::DialectRegistry registry;
  registerDialects(registry);
  context->appendDialectRegistry(registry);
  context
      ->loadDialect<dist::DistDialect, model::ModelDialect, event::EventDialect,
                    update::UpdateDialect, mlir::transform::TransformDialect>();
  diagnostics = std::make_unique<Diagnostics>(context.get());
}

llvm::SmallVector<event::ProgramOp> Plan::programs() const {
  return llvm::to_vector(owned.get().getOps<event::ProgramOp>());
}

void Plan::lead(size_t program) {
  if (program)
    programs()[program]->moveBefore(programs().front());
}

/// The schedule of a compilation, by default or from a file.
static Expected<schedule::Schedule>
readSchedule(mlir::MLIRContext &context, const CompileOptions &options,
             llvm::ArrayRef<TargetDescription> targets,
             Diagnostics &diagnostics) {
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
      &context, schedule::defaultSchedule(targets, options.disabledPasses),
      text, options.schedule);
  if (mlir::failed(schedule))
    return diagnostics.take(options.schedule + ": cannot be parsed");
  if (targets.size() == 1 && !text.empty() && !schedule->isGiven("model") &&
      !schedule->isGiven("plan"))
    return createStringError(
        options.schedule +
        ": decides about steps of few rows alone, and this program has none of "
        "its own for these; write @model or @plan");
  return std::move(*schedule);
}

/// Moves a program for steps of few rows beside the one for all others, and
/// bodies of tasks that only it uses.
static void join(mlir::ModuleOp module, mlir::ModuleOp few) {
  for (mlir::Operation &op :
       llvm::make_early_inc_range(few.getBody()->getOperations())) {
    auto name = mlir::SymbolTable::getSymbolName(&op);
    if (llvm::isa<model::ProgramOp, event::ProgramOp>(op))
      mlir::SymbolTable::setSymbolName(&op,
                                       (name.getValue() + ".few_rows").str());
    else if (module.lookupSymbol(name))
      continue;
    op.moveBefore(module.getBody(), module.getBody()->end());
  }
}

/// A file that holds a plan leaves nothing to decide.
static Error refuseOfPlan(const CompileOptions &options) {
  const std::pair<const char *, bool> decisions[] = {
      {"--schedule", !options.schedule.empty()},
      {"--optimizer", !options.optimizer.empty()},
      {"--recompute", options.recompute != training::RecomputeMode::none},
      {"--memory", options.memory.has_value()},
      {"--adapter", options.adapter.has_value()},
      {"--loss", options.prefers || options.teacherTokens},
      {"--router-aux-loss", options.balanceLoss.has_value()},
      {"--router-z-loss", options.routerZLoss > 0},
      {"--router-bias-update", options.routerBiasUpdate > 0},
      {"--mesh", !options.mesh.empty()},
      {"--max-batch", options.batch != 0}};
  for (auto [flag, isGiven] : decisions)
    if (isGiven)
      return createStringError(std::string(flag) + ": " + options.model +
                               " holds a plan, of which all is decided");
  return Error::success();
}

Expected<Plan> Plan::build(const CompileOptions &options,
                           llvm::ArrayRef<TargetDescription> targets) {
  Plan plan;
  auto schedule =
      readSchedule(*plan.context, options, targets, *plan.diagnostics);
  if (!schedule)
    return schedule.takeError();
  for (auto [i, target] : llvm::enumerate(targets)) {
    auto module = readModel(*plan.context, options, *plan.diagnostics);
    if (!module)
      return module.takeError();
    plan.tiled = !(*module)->getOps<model::ProgramOp>().empty();
    if (!plan.tiled)
      if (Error refusal = refuseOfPlan(options))
        return std::move(refusal);
    if (plan.tiled && options.batch &&
        (*(*module)->getOps<model::ProgramOp>().begin()).getBatch())
      return createStringError("--max-batch: the program in " + options.model +
                               " is a batch already; leave the flag out");
    const bool primitive = options.stage == Stage::primitive;
    const bool asModel = primitive || options.stage == Stage::model ||
                         options.stage == Stage::dist;
    if (!plan.tiled && (asModel || options.stage == Stage::phases))
      return createStringError("--emit: " + options.model +
                               " holds a plan already, which is after this "
                               "stage");
    if (Error error = addMesh(**module, options))
      return error;
    if (plan.tiled && options.training && !primitive) {
      if (Error error = addOptimizer(**module, options, *plan.diagnostics))
        return error;
      if (options.routerBiasUpdate > 0)
        if (Error error = addRouterBiasUpdate(
                **module, options.routerBiasUpdate, options.model))
          return error;
    }
    mlir::PassManager manager(plan.context.get());
    const bool shards =
        options.stage != Stage::model && !primitive && !options.mesh.empty();
    // What a schedule fuses of a program that decodes is one rank's.
    if (shards && !options.training)
      addShardingPasses(manager, options,
                        /*localizes=*/options.stage != Stage::dist,
                        !options.disabledPasses.count("attention-fusion"));
    if (primitive)
      addImportPasses(manager);
    else if (plan.tiled && options.training)
      addTrainingPasses(manager, options, *schedule);
    else if (plan.tiled && options.stage != Stage::dist)
      addModelPasses(manager, options, *schedule, i);
    else if (!plan.tiled)
      addVerification(manager, options);
    if (shards && options.training)
      addShardingPasses(manager, options,
                        /*localizes=*/options.stage != Stage::dist);
    if (plan.tiled && !asModel)
      addTaskPasses(manager, options, target, *schedule, i);
    if (Error error = run(manager, **module, *plan.diagnostics)) {
      if (i == 0)
        return error;
      return createStringError(toString(std::move(error)) +
                               " (in the program for steps of few rows)");
    }
    if (i == 0)
      plan.owned = std::move(*module);
    else
      join(plan.module(), **module);
    // A model is of one program: a plan for steps of few rows is made from the
    // same one. A file of plans has them all.
    if (!plan.tiled || asModel)
      break;
  }
  return plan;
}

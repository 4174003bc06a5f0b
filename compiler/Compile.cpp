//===- Compile.cpp - from a model to an executable ------------------------===//

#include "compiler/Compile.h"

#include "codegen/cpu/Emit.h"
#include "codegen/link/Link.h"
#include "compiler/Outputs.h"
#include "compiler/Pipeline.h"
#include "dialects/Event/Event.h"
#include "dialects/Model/Model.h"
#include "models/Importer.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <nlohmann/json.hpp>

using namespace baton;
using namespace baton::compiler;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;

//===----------------------------------------------------------------------===//
// Diagnostics
//===----------------------------------------------------------------------===//

/// "file.mlir:3:5" or the name that an importer gave.
static std::string describe(mlir::Location location) {
  if (auto file = mlir::dyn_cast<mlir::FileLineColLoc>(location))
    return (llvm::Twine(file.getFilename()) + ":" +
            llvm::Twine(file.getLine()) + ":" + llvm::Twine(file.getColumn()))
        .str();
  if (auto name = mlir::dyn_cast<mlir::NameLoc>(location))
    return name.getName().str();
  if (auto fused = mlir::dyn_cast<mlir::FusedLoc>(location))
    for (mlir::Location part : fused.getLocations())
      if (std::string text = describe(part); !text.empty())
        return text;
  return "";
}

namespace {
/// Keeps the first error, as one line.
class FirstError {
public:
  explicit FirstError(mlir::MLIRContext *context)
      : handler(context, [this](mlir::Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() != mlir::DiagnosticSeverity::Error)
            return mlir::success();
          if (text.empty()) {
            text = describe(diagnostic.getLocation());
            text += (text.empty() ? "" : ": ") + diagnostic.str();
            std::replace(text.begin(), text.end(), '\n', ' ');
          }
          return mlir::success();
        }) {}

  Error take(llvm::StringRef otherwise) {
    return createStringError(text.empty() ? otherwise.str() : text);
  }

private:
  std::string text;
  mlir::ScopedDiagnosticHandler handler;
};
} // namespace

//===----------------------------------------------------------------------===//
// Input
//===----------------------------------------------------------------------===//

/// Reads an .mlir file and applies --max-seq to it.
static Expected<mlir::OwningOpRef<mlir::ModuleOp>>
parseFile(mlir::MLIRContext &context, const CompileOptions &options,
          FirstError &errors) {
  if (options.dtype != "auto")
    return createStringError("--dtype: the types of " + options.model +
                             " are written in it; leave the flag out");
  llvm::SourceMgr sources;
  auto buffer = llvm::MemoryBuffer::getFile(options.model, /*IsText=*/true);
  if (!buffer)
    return createStringError("cannot read " + options.model + ": " +
                             buffer.getError().message());
  sources.AddNewSourceBuffer(std::move(*buffer), llvm::SMLoc());
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(sources, &context);
  if (!module)
    return errors.take(options.model + ": cannot be parsed");
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
          FirstError &errors) {
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
  // A device may never end. (A pipe does.)
  llvm::sys::fs::file_status status;
  if (!llvm::sys::fs::status(options.model, status) &&
      (status.type() == llvm::sys::fs::file_type::character_file ||
       status.type() == llvm::sys::fs::file_type::block_file))
    return createStringError(options.model + ": is a device");
  return parseFile(context, options, errors);
}

//===----------------------------------------------------------------------===//
// Metadata
//===----------------------------------------------------------------------===//

/// Reads of linear weights, and the products with them.
struct LinearCosts {
  uint64_t bytes = 0, flops = 0, flopsPerOutput = 0;
  std::string dtype = "f32";
};

/// Sums over all phases: a weight is read once in each iteration. What runs
/// for the rows that get logits only is also counted apart.
static LinearCosts linearCosts(event::ProgramOp program) {
  LinearCosts costs;
  for (event::PhaseOp phase : event::phasesOf(program)) {
    uint64_t repeat =
        mlir::cast<event::SegmentOp>(phase->getParentOp()).getRepeat();
    bool outputsOnly = phase.getGrid().isFunctionOfSymbol(event::kOutputs);
    phase.walk([&](event::CallOp call) {
      for (mlir::Attribute operand : call.getOperands_()) {
        auto weight = mlir::dyn_cast<event::WeightAttr>(operand);
        if (!weight)
          continue;
        auto parameter =
            mlir::SymbolTable::lookupNearestSymbolFrom<event::ParameterOp>(
                call, weight.getParameter());
        mlir::DictionaryAttr description = parameter.getDescription();
        auto kind = description.getAs<mlir::StringAttr>("kind");
        if (!kind || kind.getValue() != "panels")
          continue;
        uint64_t k = description.getAs<mlir::IntegerAttr>("k").getInt();
        uint64_t n = description.getAs<mlir::IntegerAttr>("n").getInt();
        uint64_t width = parameter.getElement().getIntOrFloatBitWidth() / 8;
        costs.bytes += repeat * k * llvm::alignTo(n, 16) * width;
        costs.flops += repeat * 2 * k * n;
        if (outputsOnly)
          costs.flopsPerOutput += repeat * 2 * k * n;
        costs.dtype = description.getAs<mlir::StringAttr>("dtype").str();
      }
    });
  }
  return costs;
}

static nlohmann::json metadata(event::ProgramOp program,
                               const CompileOptions &options,
                               const cpu::Target &target) {
  nlohmann::json json = cpu::planMetadata(program);
  json["format"] = 1;
  llvm::SmallString<128> path(options.model);
  llvm::sys::fs::make_absolute(path);
  llvm::sys::path::remove_dots(path, /*remove_dot_dot=*/true);
  auto family = program->getAttrOfType<mlir::StringAttr>("event.family");
  uint64_t layers = 0, stateBytes = 0;
  LinearCosts linears = linearCosts(program);
  for (auto segment : program.getBody().getOps<event::SegmentOp>())
    layers = std::max<uint64_t>(layers, segment.getRepeat());
  for (auto buffer : program.getBody().getOps<event::BufferOp>())
    if (buffer.getKind() == event::BufferKind::state)
      stateBytes += buffer.getElement().getIntOrFloatBitWidth() / 8 *
                    buffer.getLayers() * buffer.getLayerStride() /
                    buffer.getCapacity()[0];
  json["model"] = {{"name", llvm::sys::path::filename(path).str()},
                   {"family", family ? family.str() : ""},
                   {"layers", layers},
                   {"vocabulary", json["logits"].is_object()
                                      ? json["logits"]["vocabulary"]
                                      : nlohmann::json(0)},
                   {"dtype", linears.dtype}};
  json["target"] = {{"triple", target.triple},
                    {"cpu", target.cpu},
                    {"sanitize", options.sanitize}};
  json["costs"] = {{"flops_per_token", linears.flops},
                   {"flops_per_output", linears.flopsPerOutput},
                   {"weight_bytes_per_token", linears.bytes},
                   {"kv_bytes_per_position", stateBytes}};
  return json;
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

static std::string print(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  stream << '\n';
  return text;
}

static Error run(mlir::PassManager &manager, mlir::ModuleOp module,
                 FirstError &errors) {
  if (mlir::succeeded(manager.run(module)))
    return Error::success();
  return errors.take("a pass failed without saying why");
}

Error compiler::compile(const CompileOptions &options,
                        const Installation &installation) {
  auto start = std::chrono::steady_clock::now();
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<model::ModelDialect, event::EventDialect>();
  FirstError errors(&context);

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

  auto module = readModel(context, options, errors);
  if (!module)
    return module.takeError();
  bool isModel = !module->get().getOps<model::ProgramOp>().empty();
  if (options.stage == Stage::model && !isModel)
    return createStringError("--emit=model: " + options.model +
                             " holds a plan already");
  if (isModel) {
    mlir::PassManager manager(&context);
    addModelPasses(manager, options.disabledPasses);
    if (Error error = run(manager, **module, errors))
      return error;
    if (options.stage == Stage::model)
      return writeOutput(options.output, print(**module));
  }
  mlir::PassManager manager(&context);
  if (isModel)
    addTaskPasses(manager, *description);
  else
    addVerification(manager);
  if (Error error = run(manager, **module, errors))
    return error;
  if (options.stage == Stage::event)
    return writeOutput(options.output, print(**module));

  event::ProgramOp program = *module->get().getOps<event::ProgramOp>().begin();
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

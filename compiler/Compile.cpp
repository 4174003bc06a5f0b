//===- Compile.cpp - from a model to an executable ------------------------===//

#include "compiler/Compile.h"

#include "codegen/cpu/Emit.h"
#include "codegen/link/Link.h"
#include "compiler/Outputs.h"
#include "compiler/Plan.h"
#include "compiler/schedule/Schedule.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <nlohmann/json.hpp>

using namespace baton;
using namespace baton::compiler;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;

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

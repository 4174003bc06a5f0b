//===- names.cpp - batonc names -------------------------------------------===//

#include "tools/batonc/names.h"

#include "compiler/Outputs.h"
#include "compiler/Plan.h"
#include "compiler/schedule/Schedule.h"
#include "compiler/schedule/ScheduleOps.h"
#include "compiler/targets/Targets.h"
#include "dialects/Model/Model.h"
#include "tools/batonc/compile_flags.h"
#include "tools/batonc/errors.h"

#include "llvm/ADT/StringExtras.h"

#include <nlohmann/json.hpp>

#include <cstdio>

using namespace baton;
using namespace baton::compiler;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;

namespace {
/// What a sequence of a schedule starts from.
struct Listing {
  std::string sequence;
  std::vector<schedule::Matchable> found;
};
} // namespace

static int64_t layersOf(mlir::Operation *op) {
  if (auto stack = op->getParentOfType<model::StackOp>())
    return stack.getRepeat();
  if (auto segment = op->getParentOfType<event::SegmentOp>())
    return segment.getRepeat();
  return 1;
}

/// Names without repetitions, in order.
static std::vector<std::string>
distinct(llvm::ArrayRef<llvm::StringRef> names) {
  std::vector<std::string> result;
  for (llvm::StringRef name : names)
    if (!llvm::is_contained(result, name))
      result.push_back(name.str());
  return result;
}

static std::string textOf(llvm::ArrayRef<Listing> listings) {
  std::string text;
  for (const Listing &listing : listings) {
    text += (text.empty() ? "@" : "\n@") + listing.sequence + "\n";
    for (const schedule::Matchable &found : listing.found) {
      std::string kind = found.op->getName().getStringRef().str();
      kind.resize(std::max<size_t>(kind.size(), 26), ' ');
      int64_t layers = layersOf(found.op);
      text += "  " + kind + " " + llvm::join(distinct(found.names), ", ") +
              (layers > 1 ? "  (" + std::to_string(layers) + " layers)" : "") +
              "\n";
    }
  }
  return text;
}

static std::string jsonOf(llvm::ArrayRef<Listing> listings) {
  auto json = nlohmann::ordered_json::array();
  for (const Listing &listing : listings) {
    auto ops = nlohmann::ordered_json::array();
    for (const schedule::Matchable &found : listing.found)
      ops.push_back({{"kind", found.op->getName().getStringRef().str()},
                     {"names", distinct(found.names)},
                     {"layers", layersOf(found.op)}});
    json.push_back({{"sequence", listing.sequence}, {"ops", std::move(ops)}});
  }
  return json.dump(2) + "\n";
}

static Error list(CompileOptions options, bool json,
                  const Installation &installation) {
  if (Error error = findOptimizer(options, installation))
    return error;
  auto target = findTarget(options.target);
  if (!target)
    return target.takeError();
  auto descriptions = target->describe(options, installation);
  if (!descriptions)
    return descriptions.takeError();
  std::vector<Listing> listings;
  std::vector<Plan> plans;
  for (Stage stage : {Stage::primitive, Stage::phases}) {
    options.stage = stage;
    auto plan = Plan::build(options, *descriptions);
    if (!plan)
      return plan.takeError();
    plans.push_back(std::move(*plan));
  }
  for (size_t i = 0; i < descriptions->size(); ++i)
    listings.push_back({schedule::sequencePrefix(i).str() + "model",
                        schedule::matchables(plans[0].module())});
  // All programs of a step that trains are one sequence's.
  for (auto [i, program] : llvm::enumerate(plans[1].programs()))
    listings.push_back(
        {schedule::sequencePrefix(options.training ? 0 : i).str() + "plan",
         schedule::matchables(program)});
  return writeOutput("", json ? jsonOf(listings) : textOf(listings));
}

int tools::namesCommand(int argc, char **argv, const char *tool) {
  CLI::App app{"batonc names lists what a schedule's sequences can match: the "
               "ops that @model starts\nfrom, and the phases that @plan starts "
               "from, by kind and name. An op of several names\nfits a pattern "
               "if one of them does.",
               "batonc names"};
  app.footer(
      "Examples:\n"
      "  batonc names ./llama\n"
      "  batonc names ./llama --target=cuda:emulated  also of the program "
      "for steps of few rows\n"
      "  batonc names ./llama --schedule=mine.mlir    the phases that "
      "mine.mlir's @model makes\n"
      "  batonc names ./llama --json                  for scripts\n");
  CompileOptions options;
  CompileFlags flags;
  flags.addTo(app);
  bool json = false;
  app.add_flag("--json", json, "print JSON");
  if (auto status = parse(app, argc, argv, "batonc names"))
    return *status;
  if (std::string error = flags.finish(options); !error.empty())
    return fail(error);
  reportFatalErrors(options.model);
  if (Error error = list(options, json, Installation::ofTool(tool)))
    return fail(llvm::toString(std::move(error)));
  return 0;
}

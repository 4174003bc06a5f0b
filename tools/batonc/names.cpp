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

#include <optional>
#include <set>

using namespace baton;
using namespace baton::compiler;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;

namespace {
/// What a sequence of a schedule starts from, and what else it finds: ops that
/// it has made itself.
struct Listing {
  std::string sequence;
  std::vector<schedule::Matchable> found, made;
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

static std::string textOf(llvm::ArrayRef<schedule::Matchable> all) {
  std::string text;
  for (const schedule::Matchable &found : all) {
    std::string kind = found.op->getName().getStringRef().str();
    kind.resize(std::max<size_t>(kind.size(), 26), ' ');
    int64_t layers = layersOf(found.op);
    text += "  " + kind + " " + llvm::join(distinct(found.names), ", ") +
            (layers > 1 ? "  (" + std::to_string(layers) + " layers)" : "") +
            "\n";
  }
  return text;
}

static std::string textOf(llvm::ArrayRef<Listing> listings) {
  std::string text;
  for (const Listing &listing : listings) {
    text += (text.empty() ? "@" : "\n@") + listing.sequence + "\n" +
            textOf(listing.found);
    if (!listing.made.empty())
      text += "\n@" + listing.sequence + " makes\n" + textOf(listing.made);
  }
  return text;
}

static nlohmann::ordered_json jsonOf(llvm::ArrayRef<schedule::Matchable> all) {
  auto ops = nlohmann::ordered_json::array();
  for (const schedule::Matchable &found : all)
    ops.push_back({{"kind", found.op->getName().getStringRef().str()},
                   {"names", distinct(found.names)},
                   {"layers", layersOf(found.op)}});
  return ops;
}

static std::string jsonOf(llvm::ArrayRef<Listing> listings) {
  auto json = nlohmann::ordered_json::array();
  for (const Listing &listing : listings) {
    nlohmann::ordered_json entry = {{"sequence", listing.sequence},
                                    {"ops", jsonOf(listing.found)}};
    if (!listing.made.empty())
      entry["made"] = jsonOf(listing.made);
    json.push_back(std::move(entry));
  }
  return json.dump(2) + "\n";
}

/// Of `all`, those whose kind and names no op of `before` has.
static std::vector<schedule::Matchable>
madeSince(llvm::ArrayRef<schedule::Matchable> before,
          llvm::ArrayRef<schedule::Matchable> all) {
  std::set<std::string> known;
  auto keyOf = [](const schedule::Matchable &each) {
    return each.op->getName().getStringRef().str() + " " +
           llvm::join(distinct(each.names), ", ");
  };
  for (const schedule::Matchable &each : before)
    known.insert(keyOf(each));
  std::vector<schedule::Matchable> made;
  for (const schedule::Matchable &each : all)
    if (!known.count(keyOf(each)))
      made.push_back(each);
  return made;
}

/// The model as @model leaves it, before it is one of many sequences.
static Expected<Plan>
fusedModel(CompileOptions options,
           llvm::ArrayRef<TargetDescription> descriptions) {
  options.stage = Stage::model;
  options.batch = 0;
  options.adapterSlots.reset();
  return Plan::build(options, descriptions);
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
                        schedule::matchables(plans[0].module()),
                        {}});
  // What is differentiated is more than @model has seen.
  std::optional<Plan> fused;
  if (!options.training) {
    auto model = fusedModel(options, *descriptions);
    if (!model)
      return model.takeError();
    fused = std::move(*model);
    listings[0].made =
        madeSince(listings[0].found, schedule::matchables(fused->module()));
  }
  // All programs of a step that trains are one sequence's.
  for (auto [i, program] : llvm::enumerate(plans[1].programs()))
    listings.push_back(
        {schedule::sequencePrefix(options.training ? 0 : i).str() + "plan",
         schedule::matchables(program),
         {}});
  return writeOutput("", json ? jsonOf(listings) : textOf(listings));
}

int tools::namesCommand(int argc, char **argv, const char *tool) {
  CLI::App app{
      "batonc names lists what a schedule's sequences can match: the "
      "ops that @model starts\nfrom, those that it makes, which it may go on "
      "with, and the phases that @plan starts from,\nby kind and name. "
      "An op of several names fits a pattern if one of them does.",
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

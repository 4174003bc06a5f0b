//===- Schedule.cpp - the decisions of a compilation, as a script ---------===//

#include "compiler/schedule/Schedule.h"

#include "codegen/bodies/TaskCalls.h"
#include "compiler/SourceFile.h"
#include "compiler/schedule/Alternatives.h"
#include "compiler/schedule/ScheduleOps.h"
#include "dialects/Model/Model.h"
#include "runtime/weights/message.h"

#include "mlir/Dialect/Transform/IR/TransformOps.h"
#include "mlir/Dialect/Transform/Transforms/TransformInterpreterUtils.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace baton;

//===----------------------------------------------------------------------===//
// The default
//===----------------------------------------------------------------------===//

namespace {
/// Statements that do one thing to all ops of some kinds.
struct Statement {
  /// The pass that does the same; its name switches the statement off.
  const char *part;
  const char *comment;
  StringRef handle;
  std::vector<const char *> kinds;
  /// What is done with the handle.
  std::string action;
};
} // namespace

static const char *const kAttentionFusion = "attention-fusion";
static const char *const kHyperFusion = "hyper-fusion";
static const char *const kLinearGrouping = "linear-grouping";
static const char *const kNormRewrites = "norm-rewrites";
static const StringRef kNorms = "norms";

const std::set<std::string> &schedule::optionalParts() {
  static const std::set<std::string> parts = {kAttentionFusion, kHyperFusion,
                                              kLinearGrouping, kNormRewrites};
  return parts;
}

static void print(llvm::raw_ostream &stream, const Statement &statement,
                  StringRef program) {
  if (statement.comment)
    stream << "    // " << statement.comment << "\n";
  stream << "    %" << statement.handle << " = transform.baton.match ";
  if (!statement.kinds.empty()) {
    stream << "[";
    llvm::interleaveComma(statement.kinds, stream, [&](const char *kind) {
      stream << '"' << kind << '"';
    });
    stream << "] ";
  }
  // Few models have all of these ops.
  stream << "in %" << program << " optional\n    transform.baton."
         << statement.action << "\n";
}

llvm::StringRef schedule::sequencePrefix(size_t program) {
  return program == 0 ? "" : "few_rows_";
}

static void printSequences(llvm::raw_ostream &stream, StringRef prefix,
                           const compiler::TargetDescription &target,
                           const std::set<std::string> &without) {
  auto sizes = [](std::initializer_list<int64_t> values) {
    std::string text;
    for (int64_t value : values)
      text += (text.empty() ? "[" : ", ") + std::to_string(value);
    return text + "]";
  };
  const Statement model[] = {
      {kAttentionFusion,
       "From scores to weighted values, attention is one task.",
       "softmaxes",
       {"model.softmax"},
       "fuse %softmaxes optional"},
      {kAttentionFusion,
       nullptr,
       "gates",
       {"model.gate"},
       "fuse %gates optional"},
      {kHyperFusion,
       "Streams are read once between two sublayers.",
       "streams",
       {"model.hyper_pre"},
       "fuse %streams optional"},
      {kLinearGrouping,
       "Linears of the same rows are one.",
       "products",
       {"model.mul"},
       "fuse %products optional"},
      {kLinearGrouping,
       nullptr,
       "linears",
       {"model.linear"},
       "group %linears optional"},
      {kNormRewrites,
       "Who reads a norm computes it.",
       kNorms,
       {"model.rms_norm", "model.layer_norm"},
       "recompute %norms optional"},
      {kNormRewrites,
       "Activations and sums are applied before storing.",
       "activations",
       {"model.activate"},
       "fuse %activations optional"},
      {kNormRewrites, nullptr, "sums", {"model.add"}, "fuse %sums optional"},
      {nullptr,
       "Tiles: rows, and columns of linears.",
       "plain",
       {"model.activate", "model.add", "model.embedding", "model.gate",
        "model.kv_append", "model.layer_norm", "model.mask", "model.matmul",
        "model.mul", "model.position_embedding", "model.rms_norm", "model.rope",
        "model.rope_table", "model.scale", "model.softmax", "model.tanh"},
       "tile %plain " + sizes({target.plainRows}) + " optional"},
      {nullptr,
       nullptr,
       "attentions",
       {"model.attention"},
       "tile %attentions " +
           (target.attentionSplit
                ? sizes({target.attentionRows, target.attentionSplit})
                : sizes({target.attentionRows})) +
           " optional"},
      {nullptr,
       nullptr,
       "wide",
       {"model.linear"},
       "tile %wide " + sizes({target.linearRows, target.linearColumns}) +
           " optional"},
      {nullptr,
       "These read two weights a column.",
       "gated",
       {"model.gated_linear"},
       "tile %gated " +
           sizes({target.linearRows,
                  bodies::gatedColumns(target.linearColumns)}) +
           " optional"},
  };
  stream << "  transform.named_sequence @" << prefix
         << "model(%program: !transform.any_op {transform.readonly}) {\n";
  for (const Statement &statement : model)
    if ((!statement.part || !without.count(statement.part)) &&
        (target.recomputeNorms || statement.handle != kNorms))
      print(stream, statement, "program");
  stream << "    transform.yield\n  }\n\n"
            "  transform.named_sequence @"
         << prefix << "plan(%plan: !transform.any_op {transform.readonly}) {\n";
  print(stream,
        {nullptr,
         "Who runs which tile, what others may wait for, and what to "
         "do meanwhile.",
         "phases",
         {},
         "distribute %phases \"by_work\"" +
             (target.fewTasks ? " few_tasks " + std::to_string(target.fewTasks)
                              : std::string())},
        "plan");
  stream << "    transform.baton.events %phases \"per_tile\"\n"
            "    transform.baton.prefetch %phases 4096 optional\n"
            "    transform.yield\n  }\n";
}

std::string
schedule::defaultSchedule(llvm::ArrayRef<compiler::TargetDescription> programs,
                          const std::set<std::string> &without) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << "// What batonc decides about a model when no schedule is given.\n"
            "module attributes {transform.with_named_sequence} {\n";
  for (auto [i, program] : llvm::enumerate(programs)) {
    if (i)
      stream << "\n  // The same for steps of up to " << program.maxRows
             << " rows, which have a program of their own.\n";
    printSequences(stream, sequencePrefix(i), program, without);
  }
  stream << "}\n";
  return text;
}

//===----------------------------------------------------------------------===//
// Reading and running
//===----------------------------------------------------------------------===//

static transform::NamedSequenceOp sequenceOf(ModuleOp schedule,
                                             StringRef name) {
  return schedule.lookupSymbol<transform::NamedSequenceOp>(name);
}

/// Of the transform dialect's own ops, those that only handle handles: others
/// could make of a program whatever they like, and nothing would check it.
static bool mayStandInSchedule(Operation *op) {
  return op->getName().getStringRef().starts_with("transform.baton.") ||
         isa<transform::NamedSequenceOp, transform::YieldOp,
             transform::MergeHandlesOp, transform::SplitHandleOp>(op);
}

static LogicalResult checkOps(ModuleOp schedule) {
  WalkResult result = schedule.walk([](Operation *op) {
    if (isa<transform::TransformDialect>(op->getDialect()) &&
        !mayStandInSchedule(op)) {
      op->emitOpError() << "may not stand in a schedule";
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

static const StringRef kSequences[] = {"model", "plan", "few_rows_model",
                                       "few_rows_plan"};

/// Others would have no effect.
static LogicalResult checkSequences(ModuleOp schedule) {
  for (auto op : schedule.getOps<transform::NamedSequenceOp>()) {
    if (llvm::is_contained(kSequences, op.getSymName()))
      continue;
    std::vector<std::string> names;
    for (StringRef sequence : kSequences)
      names.push_back(sequence.str());
    return op.emitError() << "@" << op.getSymName()
                          << " is run by nobody: there is @"
                          << llvm::join(names, ", @")
                          << nearest_text(op.getSymName().str(), names, "@");
  }
  return success();
}

static LogicalResult checkDecided(ModuleOp schedule) {
  WalkResult result = schedule.walk([](Operation *op) {
    if (!schedule::hasAlternatives(op))
      return WalkResult::advance();
    op->emitOpError() << "has alternatives ('or'), among which only batonc "
                         "tune chooses; keep one of them";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

OwningOpRef<ModuleOp> schedule::parseOpen(MLIRContext *context, StringRef text,
                                          StringRef name) {
  // Nested sequences would take for ever to verify.
  ParserConfig config(context, /*verifyAfterParse=*/false);
  auto module = parseSourceString<ModuleOp>(text, config, name);
  if (!module || failed(checkOps(*module)) || failed(verify(*module)) ||
      failed(compiler::refuseUnknownAttributes(*module)) ||
      failed(checkSequences(*module)))
    return {};
  if (llvm::none_of(kSequences, [&](StringRef sequence) {
        return bool(sequenceOf(*module, sequence));
      })) {
    emitError(module->getLoc())
        << "is no schedule: it has neither a transform.named_sequence @model "
           "nor @plan";
    return {};
  }
  for (StringRef sequence : kSequences)
    if (auto op = sequenceOf(*module, sequence))
      if (op.getFunctionType().getNumInputs() != 1 ||
          op.getFunctionType().getNumResults() != 0 || op.isExternal()) {
        op.emitError() << "@" << sequence
                       << " takes one !transform.any_op and has no results";
        return {};
      }
  return module;
}

static OwningOpRef<ModuleOp> parseOne(MLIRContext *context, StringRef text,
                                      StringRef name) {
  OwningOpRef<ModuleOp> module = schedule::parseOpen(context, text, name);
  if (!module || failed(checkDecided(*module)))
    return {};
  return module;
}

/// What a schedule decides about a program holds for that of few rows, too,
/// unless it has a sequence of its own: both compute the same ops. Only sizes
/// of tiles do not, which their ops say.
static void decideForFewRows(ModuleOp schedule) {
  for (StringRef kind : {"model", "plan"}) {
    auto decided = sequenceOf(schedule, kind);
    std::string name = (schedule::sequencePrefix(1) + kind).str();
    if (!decided || sequenceOf(schedule, name))
      continue;
    auto few = decided.clone();
    few.setSymName(name);
    few.walk([](transform::TileOp tile) { tile.setManyRows(true); });
    schedule.push_back(few);
  }
}

FailureOr<schedule::Schedule>
schedule::Schedule::parse(MLIRContext *context, const std::string &defaultText,
                          StringRef text, StringRef name) {
  Schedule schedule;
  schedule.usual = parseOne(context, defaultText, "the default schedule");
  if (!schedule.usual)
    return failure();
  if (text.empty())
    return schedule;
  schedule.given = parseOne(context, text, name);
  if (!schedule.given)
    return failure();
  decideForFewRows(*schedule.given);
  return schedule;
}

namespace {
struct ApplySchedule
    : public PassWrapper<ApplySchedule, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ApplySchedule)

  /// `bodies` has what bodies of the user's compute in the programs before, if
  /// this one is to be compared with them; it outlives the pass.
  ApplySchedule(transform::NamedSequenceOp sequence, bool trains,
                std::vector<schedule::OwnBodies> *bodies)
      : sequence(sequence), trains(trains), bodies(bodies) {}

  StringRef getArgument() const override { return "apply-schedule"; }
  StringRef getDescription() const override {
    return "Run a sequence of a schedule on a program";
  }

  void runOnOperation() override {
    // Handles of ops that are gone are then errors, and nothing worse.
    auto options = transform::TransformOptions().enableExpensiveChecks(true);
    if (trains)
      getOperation()->setAttr(schedule::kTrainsAttribute,
                              UnitAttr::get(&getContext()));
    if (failed(transform::applyTransformNamedSequence(getOperation(), sequence,
                                                      ModuleOp(), options)) ||
        failed(verify(getOperation())) || failed(compareBodies()))
      signalPassFailure();
    getOperation()->removeAttr(schedule::kTrainsAttribute);
  }

private:
  /// Programs of one executable are of one model: where a body computes ops in
  /// one of them, one does in the others, too.
  LogicalResult compareBodies() {
    if (!bodies)
      return success();
    schedule::OwnBodies own;
    for (const schedule::Matchable &each : schedule::matchables(getOperation()))
      if (isa<model::CustomOp>(each.op))
        own.emplace_back(each.names.begin(), each.names.end());
    for (const schedule::OwnBodies &before : *bodies)
      if (failed(expectIn(own, before, "few")) ||
          failed(expectIn(before, own, "many")))
        return failure();
    bodies->push_back(std::move(own));
    return success();
  }

  /// Fails if nothing of what some body computes is computed by one in `all`.
  LogicalResult expectIn(const schedule::OwnBodies &some,
                         const schedule::OwnBodies &all, StringRef rows) {
    for (const std::set<std::string> &names : some) {
      auto meets = [&](const std::set<std::string> &others) {
        return llvm::any_of(names, [&](const std::string &name) {
          return others.count(name) > 0;
        });
      };
      if (llvm::none_of(all, meets))
        return sequence.emitError()
               << "a body computes '" << *names.begin() << "' in steps of "
               << rows
               << " rows only, so that prompts and decoding would be of two "
                  "models; 'replace' it in @model and in @few_rows_model, or "
                  "leave @few_rows_model out, which then does what @model does";
    }
    return success();
  }

  transform::NamedSequenceOp sequence;
  bool trains;
  std::vector<schedule::OwnBodies> *bodies;
};
} // namespace

std::unique_ptr<Pass> schedule::Schedule::createPass(StringRef kind,
                                                     size_t program,
                                                     bool trains) const {
  std::string sequence = (sequencePrefix(program) + kind).str();
  transform::NamedSequenceOp op;
  if (given)
    op = sequenceOf(*given, sequence);
  return std::make_unique<ApplySchedule>(
      op ? op : sequenceOf(*usual, sequence), trains,
      kind == "model" ? bodies.get() : nullptr);
}

bool schedule::Schedule::isGiven(StringRef sequence) const {
  return given && sequenceOf(*given, sequence);
}

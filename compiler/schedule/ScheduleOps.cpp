//===- ScheduleOps.cpp - decisions about a plan, as transform ops ---------===//

#include "compiler/schedule/ScheduleOps.h"

#include "dialects/Event/Event.h"
#include "dialects/Model/Model.h"
#include "passes/fusion/Rewrites.h"
#include "passes/plan/PlanRewrites.h"
#include "passes/tiling/Tiler.h"
#include "runtime/weights/message.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/GlobPattern.h"

using namespace mlir;

//===----------------------------------------------------------------------===//
// Alternatives
//===----------------------------------------------------------------------===//

static ParseResult parseValue(OpAsmParser &parser, DenseI64ArrayAttr &value) {
  value = dyn_cast_or_null<DenseI64ArrayAttr>(
      DenseI64ArrayAttr::parse(parser, Type()));
  return success(bool(value));
}

static ParseResult parseValue(OpAsmParser &parser, StringAttr &value) {
  return parser.parseAttribute(value);
}

static ParseResult parseValue(OpAsmParser &parser, IntegerAttr &value) {
  return parser.parseAttribute(value, parser.getBuilder().getI64Type());
}

/// What follows the first value: `or` another one, as often as there is one.
template <typename Value>
static ParseResult parseOthers(OpAsmParser &parser, ArrayAttr &alternatives) {
  SmallVector<Attribute> others;
  while (succeeded(parser.parseOptionalKeyword("or"))) {
    Value value;
    if (failed(parseValue(parser, value)))
      return failure();
    others.push_back(value);
  }
  if (!others.empty())
    alternatives = parser.getBuilder().getArrayAttr(others);
  return success();
}

template <typename Value>
static ParseResult parseAlternatives(OpAsmParser &parser, Value &value,
                                     ArrayAttr &alternatives) {
  return failure(failed(parseValue(parser, value)) ||
                 failed(parseOthers<Value>(parser, alternatives)));
}

static ParseResult parseOptionalAlternatives(OpAsmParser &parser,
                                             StringAttr &value,
                                             ArrayAttr &alternatives) {
  OptionalParseResult parsed = parser.parseOptionalAttribute(value);
  if (!parsed.has_value())
    return success();
  return failure(failed(*parsed) ||
                 failed(parseOthers<StringAttr>(parser, alternatives)));
}

static void printValue(OpAsmPrinter &printer, Attribute value) {
  if (auto sizes = dyn_cast<DenseI64ArrayAttr>(value))
    sizes.print(printer);
  else
    printer.printAttributeWithoutType(value);
}

static void printAlternatives(OpAsmPrinter &printer, Operation *,
                              Attribute value, ArrayAttr alternatives) {
  printValue(printer, value);
  if (alternatives)
    for (Attribute other : alternatives) {
      printer << " or ";
      printValue(printer, other);
    }
}

static void printOptionalAlternatives(OpAsmPrinter &printer, Operation *op,
                                      StringAttr value,
                                      ArrayAttr alternatives) {
  if (value)
    printAlternatives(printer, op, value, alternatives);
}

#define GET_OP_CLASSES
#include "compiler/schedule/ScheduleOps.cpp.inc"

using namespace baton;
using namespace mlir::transform;

namespace {
/// The transform dialect with the ops of this file.
class ScheduleExtension : public TransformDialectExtension<ScheduleExtension> {
public:
  using Base::Base;
  void init() {
    declareGeneratedDialect<model::ModelDialect>();
    declareGeneratedDialect<event::EventDialect>();
    registerTransformOps<
#define GET_OP_LIST
#include "compiler/schedule/ScheduleOps.cpp.inc"
        >();
  }
};
} // namespace

void schedule::registerScheduleOps(DialectRegistry &registry) {
  registry.insert<TransformDialect>();
  registry.addExtensions<ScheduleExtension>();
}

//===----------------------------------------------------------------------===//
// Helpers
//===----------------------------------------------------------------------===//

/// Checks a decision and its alternatives, which are as many different ones.
template <typename Op, typename Value, typename Check>
static LogicalResult verifyAll(Op op, Value value, Check problemOf) {
  llvm::SmallSetVector<Attribute, 8> values;
  values.insert(value);
  for (Attribute other :
       op.getAlternatives().value_or(ArrayAttr::get(op.getContext(), {}))) {
    if (!isa<Value>(other))
      return op.emitOpError()
             << "has an alternative of another kind: " << other;
    if (!values.insert(other))
      return op.emitOpError() << "has one alternative twice: " << other;
  }
  for (Attribute each : values)
    if (std::string problem = problemOf(cast<Value>(each)); !problem.empty())
      return op.emitOpError() << problem;
  return success();
}

/// An op with all its names, as a person would call it.
static std::string describe(Operation *op) {
  if (auto phase = dyn_cast<event::PhaseOp>(op))
    return ("phase '" + phase.getName() + "'").str();
  return "'" + tasks::nameOf(op) + "' (" + op->getName().getStringRef().str() +
         ")";
}

/// The payload of a handle, as ops of one class.
template <typename OpType>
static DiagnosedSilenceableFailure payload(TransformOpInterface transform,
                                           TransformState &state, Value handle,
                                           SmallVectorImpl<OpType> &ops) {
  for (Operation *op : state.getPayloadOps(handle)) {
    auto typed = dyn_cast<OpType>(op);
    if (!typed)
      return emitDefiniteFailure(transform)
             << "takes " << OpType::getOperationName() << ", not "
             << describe(op);
    ops.push_back(typed);
  }
  return DiagnosedSilenceableFailure::success();
}

/// Ops that become no tasks of their own.
static bool becomesTasks(Operation *op) {
  return isa<event::PhaseOp>(op) ||
         (isa<model::ModelDialect>(op->getDialect()) && !tasks::isViewOp(op) &&
          !isa<model::ProgramOp, model::StackOp, model::YieldOp,
               model::ReturnOp, model::ParameterOp, model::ConcatOp>(op));
}

namespace {
/// The ops of a model that have sizes of tiles from a decision before. A later
/// decision that makes something else of one would leave its sizes without
/// effect.
class TiledOps {
public:
  explicit TiledOps(ArrayRef<Operation *> ops) {
    if (ops.empty())
      return;
    module = ops.front()->getParentOfType<ModuleOp>();
    module->walk([&](Operation *op) {
      if (mustBeTiled(op))
        names.try_emplace(op, describe(op));
    });
  }

  /// Fails if one of them is gone.
  DiagnosedSilenceableFailure expectAll(TransformOpInterface transform) {
    if (names.empty())
      return DiagnosedSilenceableFailure::success();
    module->walk([&](Operation *op) {
      if (mustBeTiled(op))
        names.erase(op);
    });
    if (names.empty())
      return DiagnosedSilenceableFailure::success();
    return emitDefiniteFailure(transform)
           << "makes something else of " << names.front().second
           << ", which a transform.baton.tile before sized; tile what this "
              "makes, or say 'optional' there";
  }

private:
  static bool mustBeTiled(Operation *op) {
    return op->hasAttr(tasks::kRequiredTileAttribute);
  }

  ModuleOp module;
  llvm::MapVector<Operation *, std::string> names;
};
} // namespace

/// Says what became of rules, and makes their ops the result.
static DiagnosedSilenceableFailure conclude(TransformOpInterface transform,
                                            ArrayRef<fusion::Outcome> outcomes,
                                            bool optional, TiledOps &tiled,
                                            TransformResults &results) {
  if (auto failure = tiled.expectAll(transform); !failure.succeeded())
    return failure;
  llvm::SetVector<Operation *> ops;
  for (const fusion::Outcome &outcome : outcomes) {
    if (!optional && !outcome.done)
      return emitDefiniteFailure(transform)
             << describe(outcome.op) << ": " << outcome.why
             << "; with 'optional' it stays as it is";
    outcome.remark();
    ops.insert(outcome.op);
  }
  results.set(transform->getResult(0), ops.takeVector());
  return DiagnosedSilenceableFailure::success();
}

/// Why an op stays as it is in a program that trains: what such rewrites make
/// has no adjoint.
static std::optional<fusion::Outcome> refuseIfTrains(Operation *op) {
  auto module = op->getParentOfType<ModuleOp>();
  if (!module->hasAttr(schedule::kTrainsAttribute))
    return std::nullopt;
  return fusion::Outcome{false, op,
                         "stays apart in training: gradients go through it "
                         "and what it reads one by one"};
}

/// Ops read the payload, and only set attributes of it.
static void
annotateEffects(Operation *op,
                SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  onlyReadsHandle(op->getOpOperands(), effects);
  modifiesPayload(effects);
}

/// Ops may be gone afterwards, others take their place.
static void
rewriteEffects(Operation *op,
               SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  consumesHandle(op->getOpOperands(), effects);
  producesHandle(op->getOpResults(), effects);
  modifiesPayload(effects);
}

//===----------------------------------------------------------------------===//
// Match
//===----------------------------------------------------------------------===//

void MatchOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  onlyReadsHandle(getOperation()->getOpOperands(), effects);
  producesHandle(getOperation()->getOpResults(), effects);
  onlyReadsPayload(effects);
}

/// `*`, `?`, `[a-z]`, and up to 64 combinations of `{a,b}`.
static llvm::Expected<llvm::GlobPattern> patternOf(StringRef text) {
  return llvm::GlobPattern::create(text, /*MaxSubPatterns=*/64);
}

/// The kinds of ops that a schedule can name.
static std::vector<std::string> kindsIn(MLIRContext *context) {
  std::vector<std::string> kinds = {"event.phase"};
  for (RegisteredOperationName op : context->getRegisteredOperations())
    if (op.getDialectNamespace() == "model")
      kinds.push_back(op.getStringRef().str());
  return kinds;
}

LogicalResult MatchOp::verify() {
  if (ArrayAttr kinds = getKindsAttr())
    for (auto kind : kinds.getAsRange<StringAttr>())
      if (kind != "event.phase" &&
          (!kind.getValue().starts_with("model.") ||
           !RegisteredOperationName::lookup(kind.getValue(), getContext())))
        return emitOpError()
               << kind << " is no op of the model dialect and not event.phase"
               << nearest_text(kind.str(), kindsIn(getContext()));
  if (std::optional<StringRef> named = getNamed()) {
    auto pattern = patternOf(*named);
    if (!pattern)
      return emitOpError() << "'" << *named << "' is no pattern: "
                           << toString(pattern.takeError());
  }
  return success();
}

/// Every name in a location.
static void collectNames(Location location, SmallVectorImpl<StringRef> &names) {
  if (auto named = dyn_cast<NameLoc>(location))
    names.push_back(named.getName());
  if (auto fused = dyn_cast<FusedLoc>(location))
    for (Location part : fused.getLocations())
      collectNames(part, names);
}

/// The names nearest to `wanted`, quoted, at most three: those that differ in a
/// third of its characters or less.
static std::string nearestNames(StringRef wanted,
                                const llvm::SetVector<StringRef> &names) {
  unsigned most = std::max<unsigned>(wanted.size() / 3, 1);
  SmallVector<std::pair<unsigned, StringRef>> near;
  for (StringRef name : names)
    if (unsigned distance = wanted.edit_distance(name, true, most);
        distance <= most)
      near.push_back({distance, name});
  llvm::sort(near);
  std::string text;
  for (auto [i, entry] : llvm::enumerate(ArrayRef(near).take_front(3)))
    text += (i ? ", '" : "'") + entry.second.str() + "'";
  return text;
}

/// `names` are those of the ops that are of the kinds asked for.
static DiagnosedSilenceableFailure
matchesNothing(MatchOp match, const llvm::SetVector<StringRef> &names) {
  auto failure = emitDefiniteFailure(match) << "matches nothing";
  if (!match.getNamed())
    failure << ": the program has none of these ops";
  else if (std::string near = nearestNames(*match.getNamed(), names);
           !near.empty())
    failure << ": no name fits '" << *match.getNamed() << "', there is "
            << near;
  else
    failure << ": no name fits '" << *match.getNamed()
            << "' ('batonc names' lists all)";
  return failure << "; with 'optional' nothing is done";
}

static SmallVector<StringRef> namesOf(Operation *op) {
  SmallVector<StringRef> names;
  collectNames(op->getLoc(), names);
  if (auto phase = dyn_cast<event::PhaseOp>(op))
    names.push_back(phase.getName());
  return names;
}

std::vector<schedule::Matchable> schedule::matchables(Operation *root) {
  std::vector<Matchable> found;
  root->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (becomesTasks(op))
      found.push_back({op, namesOf(op)});
  });
  return found;
}

DiagnosedSilenceableFailure MatchOp::apply(TransformRewriter &,
                                           TransformResults &results,
                                           TransformState &state) {
  std::optional<llvm::GlobPattern> pattern;
  if (std::optional<StringRef> named = getNamed())
    pattern = cantFail(patternOf(*named));
  llvm::SetVector<StringRef> all;
  auto fits = [&](Operation *op) {
    if (getKindsAttr()
            ? !llvm::is_contained(getKindsAttr(),
                                  Attribute(op->getName().getIdentifier()))
            : !becomesTasks(op))
      return false;
    if (!pattern)
      return true;
    SmallVector<StringRef> names = namesOf(op);
    all.insert(names.begin(), names.end());
    return llvm::any_of(names,
                        [&](StringRef name) { return pattern->match(name); });
  };
  SmallVector<Operation *> found;
  for (Operation *root : state.getPayloadOps(getProgram()))
    root->walk([&](Operation *op) {
      if (fits(op))
        found.push_back(op);
    });
  if (found.empty() && !getOptional())
    return matchesNothing(*this, all);
  results.set(cast<OpResult>(getOps()), found);
  return DiagnosedSilenceableFailure::success();
}

//===----------------------------------------------------------------------===//
// The model
//===----------------------------------------------------------------------===//

void FuseOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  rewriteEffects(getOperation(), effects);
}

DiagnosedSilenceableFailure FuseOp::apply(TransformRewriter &rewriter,
                                          TransformResults &results,
                                          TransformState &state) {
  SmallVector<Operation *> ops(state.getPayloadOps(getOps()));
  TiledOps tiled(ops);
  SmallVector<fusion::Outcome> outcomes;
  for (Operation *op : ops) {
    if (isa<model::MulOp, model::ActivateOp, model::AddOp>(op))
      if (auto refused = refuseIfTrains(op)) {
        outcomes.push_back(*refused);
        continue;
      }
    if (auto softmax = dyn_cast<model::SoftmaxOp>(op))
      outcomes.push_back(fusion::fuseAttention(rewriter, softmax));
    else if (auto gate = dyn_cast<model::GateOp>(op))
      outcomes.push_back(fusion::fuseGate(rewriter, gate));
    else if (auto product = dyn_cast<model::MulOp>(op))
      outcomes.push_back(fusion::fuseGated(rewriter, product));
    else if (auto activate = dyn_cast<model::ActivateOp>(op))
      outcomes.push_back(fusion::fuseActivation(rewriter, activate));
    else if (auto sum = dyn_cast<model::AddOp>(op))
      outcomes.push_back(fusion::fuseSum(rewriter, sum));
    else if (auto pre = dyn_cast<model::HyperPreOp>(op))
      outcomes.push_back(fusion::fuseHyper(rewriter, pre));
    else
      return emitDefiniteFailure()
             << "takes model.softmax, model.gate, model.mul, model.activate, "
                "model.add and model.hyper_pre, not "
             << describe(op);
  }
  return conclude(*this, outcomes, getOptional(), tiled, results);
}

void GroupOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  rewriteEffects(getOperation(), effects);
}

DiagnosedSilenceableFailure GroupOp::apply(TransformRewriter &rewriter,
                                           TransformResults &results,
                                           TransformState &state) {
  SmallVector<model::LinearOp> linears;
  if (auto failure = payload(*this, state, getLinears(), linears);
      !failure.succeeded())
    return failure;
  TiledOps tiled(SmallVector<Operation *>(linears.begin(), linears.end()));
  SmallVector<fusion::Outcome> outcomes;
  for (model::LinearOp linear : linears)
    if (auto refused = refuseIfTrains(linear))
      outcomes.push_back(*refused);
  if (outcomes.empty())
    outcomes = fusion::groupLinears(rewriter, linears);
  return conclude(*this, outcomes, getOptional(), tiled, results);
}

/// Why a body cannot be called for other rows than those of its own tiles;
/// empty if it can.
static std::string findObstacle(model::CustomOp op) {
  auto body =
      SymbolTable::lookupNearestSymbolFrom<event::BodyOp>(op, op.getBodyAttr());
  if (!body || body.getAccesses().size() != op->getNumOperands() + 1 ||
      op->getNumResults() != 1 || op.getStates())
    return "its body does not make one value, and no state";
  model::StepTensorType type = model::typeOf(op.getResult(0));
  if (type.getRank() != 2 || type.getShape()[0] != model::kRows)
    return "its value is no matrix with a row for each of the step's";
  SmallVector<Value> values(op->getOperands());
  values.push_back(op.getResult(0));
  std::optional<std::pair<AffineExpr, AffineExpr>> rows;
  for (auto [value, access] : llvm::zip(values, body.getAccessAttrs())) {
    ArrayRef<int64_t> shape = model::typeOf(value).getShape();
    for (unsigned d = 0; d < access.getLow().getNumResults(); ++d) {
      AffineExpr low = access.getLow().getResult(d),
                 high = access.getHigh().getResult(d);
      if (d < shape.size() && model::isSymbol(shape[d])) {
        if (rows && *rows != std::pair(low, high))
          return "its tasks read other rows than they make";
        rows = {low, high};
      } else if (!isa<AffineConstantExpr>(low) ||
                 !isa<AffineConstantExpr>(high)) {
        return "its tasks have parts of rows";
      }
    }
  }
  const bool hasMemory = body.getBody()
                             .walk([](memref::AllocaOp op) {
                               return op.getDynamicSizes().empty()
                                          ? WalkResult::interrupt()
                                          : WalkResult::advance();
                             })
                             .wasInterrupted();
  if (hasMemory)
    return "it has memory of its own of a fixed size, for its own rows";
  return "";
}

/// The body moves into the linears that read what it makes.
static fusion::Outcome recomputeBody(model::CustomOp op) {
  std::string obstacle = findObstacle(op);
  for (OpOperand &use : op->getUses()) {
    Operation *user = use.getOwner();
    auto isPlain = [](auto linear) {
      return linear.getNorm() == model::Norm::identity;
    };
    const bool isInput =
        use.getOperandNumber() == 0 && user->getBlock() == op->getBlock() &&
        llvm::TypeSwitch<Operation *, bool>(user)
            .Case<model::LinearOp, model::GatedLinearOp>(isPlain)
            .Default(false);
    if (obstacle.empty() && !isInput)
      obstacle = user->getName().getStringRef().str() +
                 " reads it, not only linears of its block as their input";
  }
  if (!obstacle.empty())
    return {false, op, "the body stays a phase: " + obstacle};
  op->setAttr(tasks::kRecomputeAttribute, UnitAttr::get(op->getContext()));
  return {true, op,
          "is computed by each worker that reads it, into scratch: a phase "
          "and an event less"};
}

void RecomputeOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  rewriteEffects(getOperation(), effects);
}

DiagnosedSilenceableFailure RecomputeOp::apply(TransformRewriter &rewriter,
                                               TransformResults &results,
                                               TransformState &state) {
  SmallVector<Operation *> norms(state.getPayloadOps(getNorms()));
  TiledOps tiled(norms);
  SmallVector<fusion::Outcome> outcomes;
  for (Operation *norm : norms) {
    if (auto custom = dyn_cast<model::CustomOp>(norm)) {
      auto refused = refuseIfTrains(norm);
      outcomes.push_back(refused ? *refused : recomputeBody(custom));
      continue;
    }
    if (!isa<model::RmsNormOp, model::LayerNormOp>(norm))
      return emitDefiniteFailure()
             << "takes model.rms_norm, model.layer_norm and model.custom, not "
             << describe(norm);
    auto refused = refuseIfTrains(norm);
    outcomes.push_back(refused ? *refused
                               : fusion::recomputeNorm(rewriter, norm));
  }
  return conclude(*this, outcomes, getOptional(), tiled, results);
}

void TileOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  annotateEffects(getOperation(), effects);
}

LogicalResult TileOp::verify() {
  return verifyAll(*this, getSizesAttr(), [](DenseI64ArrayAttr sizes) {
    return tasks::checkTileSizes(sizes);
  });
}

DiagnosedSilenceableFailure
TileOp::apply(TransformRewriter &, TransformResults &, TransformState &state) {
  // These would leave one row without parallelism.
  if (getManyRows()) {
    mlir::emitRemark(getLoc())
        << "sizes tiles of steps of many rows only: those of few have the "
           "target's sizes, or those of a @few_rows_model";
    return DiagnosedSilenceableFailure::success();
  }
  for (Operation *op : state.getPayloadOps(getOps())) {
    if (!isa<model::ModelDialect>(op->getDialect()))
      return emitDefiniteFailure()
             << "takes ops of a model, not " << describe(op);
    if (!becomesTasks(op) || isa<model::CustomOp>(op)) {
      if (getOptional())
        continue;
      return emitDefiniteFailure()
             << "has no effect on " << describe(op) << ", "
             << (becomesTasks(op) ? "whose body states its grid"
                                  : "which becomes no tasks");
    }
    bool columns = isa<model::LinearOp, model::GatedLinearOp>(op);
    if (columns != (getSizes().size() == 2) && !isa<model::AttentionOp>(op))
      return emitDefiniteFailure()
             << describe(op) << " takes "
             << (columns ? "rows and columns" : "rows alone");
    if (std::string problem = tasks::checkTileSizes(op, getSizes());
        !problem.empty())
      return emitDefiniteFailure() << describe(op) << " " << problem;
    op->setAttr(tasks::kTileAttribute, getSizesAttr());
    if (getOptional())
      op->removeAttr(tasks::kRequiredTileAttribute);
    else
      op->setAttr(tasks::kRequiredTileAttribute, UnitAttr::get(getContext()));
  }
  return DiagnosedSilenceableFailure::success();
}

//===----------------------------------------------------------------------===//
// Bodies of the user's
//===----------------------------------------------------------------------===//

void ReplaceOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  rewriteEffects(getOperation(), effects);
}

LogicalResult ReplaceOp::verify() {
  if (getParts() && !isa<model::StepTensorType>(*getParts()))
    return emitOpError() << "makes parts of type " << *getParts()
                         << ", expected a !model.tensor";
  return success();
}

/// Makes one op of `ops`, which stand in one block in this order.
static DiagnosedSilenceableFailure replaceCluster(ReplaceOp transform,
                                                  TransformRewriter &rewriter,
                                                  ArrayRef<Operation *> ops,
                                                  Operation *&custom) {
  llvm::SetVector<Operation *> cluster(ops.begin(), ops.end());
  llvm::SetVector<Value> inputs, outputs;
  SmallVector<Location> locations;
  Operation *last = ops.back();
  for (Operation *op : ops) {
    const bool isState = isa<model::KvAppendOp>(op);
    if (op->getNumResults() != 1 || (!isMemoryEffectFree(op) && !isState))
      return transform.emitDefiniteFailure()
             << describe(op) << " cannot be part of a body";
    locations.push_back(op->getLoc());
    for (Value operand : op->getOperands())
      if (!cluster.contains(operand.getDefiningOp()))
        inputs.insert(operand);
    for (Operation *user : op->getUsers()) {
      if (!cluster.contains(user))
        outputs.insert(op->getResult(0));
      else if (isState)
        return transform.emitDefiniteFailure()
               << describe(user) << " reads the state of " << describe(op)
               << ", which the same body writes: tasks would read what others "
                  "have not written";
    }
  }
  if (outputs.empty())
    return transform.emitDefiniteFailure()
           << "nobody reads what the ops from " << describe(ops.front())
           << " to " << describe(last) << " make";
  const bool hasParts = bool(transform.getPartsAttr());
  auto check = [&](FlatSymbolRefAttr name, size_t reads,
                   size_t makes) -> DiagnosedSilenceableFailure {
    auto body =
        SymbolTable::lookupNearestSymbolFrom<event::BodyOp>(transform, name);
    if (body.getStatedArguments().size() == reads + makes)
      return DiagnosedSilenceableFailure::success();
    return transform.emitDefiniteFailure()
           << "the ops from " << describe(ops.front()) << " to "
           << describe(last) << " read " << inputs.size()
           << " values that others make, and make " << outputs.size()
           << " that others read; " << name << " takes "
           << body.getStatedArguments().size() << " arguments"
           << (hasParts ? ", with the parts" : "");
  };
  if (auto failure = check(transform.getBodyAttr(), inputs.size(),
                           hasParts ? 1 : outputs.size());
      !failure.succeeded())
    return failure;
  if (hasParts)
    if (auto failure =
            check(transform.getMergeAttr(), inputs.size() + 1, outputs.size());
        !failure.succeeded())
      return failure;
  // It stands where the last op stood: nothing may need the values before.
  SmallVector<Type> types;
  SmallVector<Attribute> states;
  Builder builder(transform.getContext());
  for (Value output : outputs) {
    for (Operation *user : output.getUsers())
      if (!cluster.contains(user) && user->getBlock() == last->getBlock() &&
          user->isBeforeInBlock(last))
        return transform.emitDefiniteFailure()
               << describe(user) << " stands between ops of one body and "
               << "reads what it makes";
    types.push_back(output.getType());
    auto append = output.getDefiningOp<model::KvAppendOp>();
    states.push_back(
        builder.getStringAttr(append ? append.getState() : StringRef()));
  }
  const bool hasStates = llvm::any_of(
      states, [](Attribute state) { return !cast<StringAttr>(state).empty(); });
  rewriter.setInsertionPoint(last);
  // The name of the value that remains comes first.
  locations.insert(locations.begin(), outputs.front().getLoc());
  FlatSymbolRefAttr maker = transform.getBodyAttr();
  if (hasParts) {
    std::string name = tasks::nameOf(outputs.front().getDefiningOp());
    auto parts = rewriter.create<model::CustomOp>(
        NameLoc::get(builder.getStringAttr(name + ".parts")),
        transform.getPartsAttr().getValue(), maker, inputs.getArrayRef(),
        ArrayAttr());
    inputs.insert(parts.getResult(0));
    maker = transform.getMergeAttr();
  }
  custom = rewriter.create<model::CustomOp>(
      FusedLoc::get(last->getContext(), locations), types, maker,
      inputs.getArrayRef(),
      hasStates ? builder.getArrayAttr(states) : ArrayAttr());
  for (auto [output, result] : llvm::zip(outputs, custom->getResults()))
    rewriter.replaceAllUsesExcept(output, result, custom);
  for (Operation *op : llvm::reverse(ops))
    rewriter.eraseOp(op);
  return DiagnosedSilenceableFailure::success();
}

/// Copies a body of the schedule, and those that are its adjoints, to a module
/// that does not have them.
static LogicalResult copyBody(Operation *schedule, FlatSymbolRefAttr name,
                              ModuleOp module, RewriterBase &rewriter) {
  if (module.lookupSymbol(name))
    return success();
  auto body =
      SymbolTable::lookupNearestSymbolFrom<event::BodyOp>(schedule, name);
  if (!body)
    return failure();
  rewriter.setInsertionPointToStart(module.getBody());
  rewriter.clone(*body);
  for (auto adjoint :
       {body.getAdjointInputsAttr(), body.getAdjointWeightsAttr()})
    if (adjoint && failed(copyBody(schedule, adjoint, module, rewriter)))
      return body.emitOpError() << "names " << adjoint
                                << " as an adjoint, and the schedule has no "
                                   "event.body of that name";
  return success();
}

static std::vector<std::string> bodiesBeside(Operation *op) {
  std::vector<std::string> names;
  for (auto body : op->getParentOfType<ModuleOp>().getOps<event::BodyOp>())
    names.push_back(body.getSymName().str());
  return names;
}

DiagnosedSilenceableFailure ReplaceOp::apply(TransformRewriter &rewriter,
                                             TransformResults &results,
                                             TransformState &state) {
  SmallVector<FlatSymbolRefAttr> bodies = {getBodyAttr()};
  if (getMergeAttr())
    bodies.push_back(getMergeAttr());
  for (FlatSymbolRefAttr name : bodies)
    if (!SymbolTable::lookupNearestSymbolFrom<event::BodyOp>(getOperation(),
                                                             name))
      return emitDefiniteFailure()
             << "there is no event.body " << name << " in the schedule"
             << nearest_text(name.getValue().str(), bodiesBeside(*this), "@");
  llvm::MapVector<Block *, SmallVector<Operation *>> byBlock;
  for (Operation *op : state.getPayloadOps(getOps())) {
    if (!becomesTasks(op) && !tasks::isViewOp(op))
      return emitDefiniteFailure()
             << describe(op) << " cannot be part of a body";
    byBlock[op->getBlock()].push_back(op);
  }
  TiledOps tiled(SmallVector<Operation *>(state.getPayloadOps(getOps())));
  SmallVector<Operation *> made;
  for (auto &[block, ops] : byBlock) {
    llvm::sort(
        ops, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    ops.erase(std::unique(ops.begin(), ops.end()), ops.end());
    auto module = ops.front()->getParentOfType<ModuleOp>();
    Operation *custom = nullptr;
    if (auto failure = replaceCluster(*this, rewriter, ops, custom);
        !failure.succeeded())
      return failure;
    mlir::emitRemark(custom->getLoc())
        << "is computed by the body " << getBodyAttr()
        << ", as the schedule says";
    made.push_back(custom);
    for (FlatSymbolRefAttr name : bodies)
      if (failed(copyBody(*this, name, module, rewriter)))
        return DiagnosedSilenceableFailure::definiteFailure();
  }
  if (auto failure = tiled.expectAll(*this); !failure.succeeded())
    return failure;
  results.set(cast<OpResult>(getCustom()), made);
  return DiagnosedSilenceableFailure::success();
}

//===----------------------------------------------------------------------===//
// The plan
//===----------------------------------------------------------------------===//

void SplitOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  rewriteEffects(getOperation(), effects);
}

DiagnosedSilenceableFailure SplitOp::apply(TransformRewriter &rewriter,
                                           TransformResults &results,
                                           TransformState &state) {
  SmallVector<event::PhaseOp> phases;
  if (auto failure = payload(*this, state, getPhases(), phases);
      !failure.succeeded())
    return failure;
  SmallVector<Operation *> fronts, backs;
  for (event::PhaseOp phase : phases) {
    auto parts = tasks::splitPhase(rewriter, phase, getDimension(), getAt());
    if (!parts)
      return emitDefiniteFailure() << toString(parts.takeError());
    mlir::emitRemark(parts->second.getLoc())
        << "is split before tile " << getAt() << " of coordinate "
        << getDimension() << ", as the schedule says";
    fronts.push_back(parts->first);
    backs.push_back(parts->second);
  }
  results.set(cast<OpResult>(getFront()), fronts);
  results.set(cast<OpResult>(getBack()), backs);
  return DiagnosedSilenceableFailure::success();
}

void MergeOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  rewriteEffects(getOperation(), effects);
}

DiagnosedSilenceableFailure MergeOp::apply(TransformRewriter &rewriter,
                                           TransformResults &results,
                                           TransformState &state) {
  SmallVector<event::PhaseOp> phases;
  if (auto failure = payload(*this, state, getPhases(), phases);
      !failure.succeeded())
    return failure;
  // Runs of neighbours, in the order of the plan.
  SmallVector<SmallVector<event::PhaseOp>> runs;
  for (event::PhaseOp phase : phases) {
    if (!runs.empty() && phase->getPrevNode() == runs.back().back())
      runs.back().push_back(phase);
    else
      runs.push_back({phase});
  }
  SmallVector<Operation *> merged;
  for (ArrayRef<event::PhaseOp> run : runs) {
    if (run.size() == 1)
      return emitDefiniteFailure()
             << describe(event::PhaseOp(run.front()))
             << " has no neighbour among the phases to merge";
    auto phase = tasks::mergePhases(rewriter, run);
    if (!phase)
      return emitDefiniteFailure() << toString(phase.takeError());
    mlir::emitRemark(phase->getLoc())
        << "is " << run.size() << " phases in one, as the schedule says";
    merged.push_back(*phase);
  }
  results.set(cast<OpResult>(getMerged()), merged);
  return DiagnosedSilenceableFailure::success();
}

void DistributeOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  annotateEffects(getOperation(), effects);
}

LogicalResult DistributeOp::verify() {
  if (getFewTasks() && getMap() != "by_work")
    return emitOpError() << "has few_tasks, which only by_work takes";
  return verifyAll(*this, getMapAttr(), [](StringAttr map) -> std::string {
    if (map == "by_work" || event::symbolizeDistribution(map))
      return "";
    return ("'" + map.getValue() +
            "' is no worker map: there is blocked, cyclic, ticket, by_work")
               .str() +
           nearest_text(map.str(), {"blocked", "cyclic", "ticket", "by_work"});
  });
}

DiagnosedSilenceableFailure DistributeOp::apply(TransformRewriter &,
                                                TransformResults &,
                                                TransformState &state) {
  SmallVector<event::PhaseOp> phases;
  if (auto failure = payload(*this, state, getPhases(), phases);
      !failure.succeeded())
    return failure;
  if (getMap() == "by_work")
    tasks::dealOutByWork(phases, getFewTasks().value_or(0));
  else
    for (event::PhaseOp phase : phases) {
      auto distribution = *event::symbolizeDistribution(getMap());
      if (distribution == event::Distribution::ticket && !phase.callsOnly())
        return emitDefiniteFailure()
               << describe(phase)
               << " cannot have tickets: its tasks do more than call bodies; "
                  "match phases by name, such as those of experts";
      phase.setDistribution(distribution);
    }
  return DiagnosedSilenceableFailure::success();
}

void EventsOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  annotateEffects(getOperation(), effects);
}

LogicalResult EventsOp::verify() {
  if (getGranularity().has_value() == getCoordinates().has_value())
    return emitOpError() << "takes a granularity or coordinates";
  if (!getGranularity())
    return success();
  return verifyAll(
      *this, getGranularityAttr(), [](StringAttr granularity) -> std::string {
        if (granularity == "per_tile" || granularity == "per_phase")
          return "";
        return ("'" + granularity.getValue() +
                "' is no granularity: there is per_tile, per_phase")
                   .str() +
               nearest_text(granularity.str(), {"per_tile", "per_phase"});
      });
}

DiagnosedSilenceableFailure EventsOp::apply(TransformRewriter &,
                                            TransformResults &,
                                            TransformState &state) {
  SmallVector<event::PhaseOp> phases;
  if (auto failure = payload(*this, state, getPhases(), phases);
      !failure.succeeded())
    return failure;
  for (event::PhaseOp phase : phases) {
    if (getGranularity() == "per_tile") {
      phase.removeSeparateAttr();
      continue;
    }
    for (int64_t d : getCoordinates().value_or(ArrayRef<int64_t>()))
      if (d < 0 || d >= phase.getRank())
        return emitDefiniteFailure()
               << describe(phase) << " has " << phase.getRank()
               << " coordinates, there is no " << d;
    phase.setSeparate(getCoordinates().value_or(ArrayRef<int64_t>()));
  }
  return DiagnosedSilenceableFailure::success();
}

void PrefetchOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  annotateEffects(getOperation(), effects);
}

LogicalResult PrefetchOp::verify() {
  return verifyAll(*this, getBytesAttr(), [](IntegerAttr bytes) -> std::string {
    if (bytes.getInt() >= 0 && bytes.getInt() <= (1 << 20))
      return "";
    return "asks for " + std::to_string(bytes.getInt()) +
           " bytes, expected 0 to 1048576";
  });
}

LogicalResult SplitOp::verify() {
  // Which tiles there are, the phases say.
  return verifyAll(*this, getAtAttr(), [](IntegerAttr) { return ""; });
}

static bool readsWeights(event::PhaseOp phase) {
  for (auto call : phase.getBody().getOps<event::CallOp>())
    if (llvm::any_of(call.getOperands_(), llvm::IsaPred<event::WeightAttr>))
      return true;
  return false;
}

DiagnosedSilenceableFailure PrefetchOp::apply(TransformRewriter &,
                                              TransformResults &,
                                              TransformState &state) {
  SmallVector<event::PhaseOp> phases;
  if (auto failure = payload(*this, state, getPhases(), phases);
      !failure.succeeded())
    return failure;
  for (event::PhaseOp phase : phases) {
    if (!getOptional() && !readsWeights(phase))
      return emitDefiniteFailure()
             << "has no effect on " << describe(phase)
             << ", which reads no weights; with 'optional' it is left";
    if (getBytes() == event::PhaseOp::kUsualPrefetch)
      phase.removePrefetchAttr();
    else
      phase.setPrefetch(getBytes());
  }
  return DiagnosedSilenceableFailure::success();
}

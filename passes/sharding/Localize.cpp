//===- Localize.cpp - one model's program as that of one rank -------------===//
//
// Types first become those of what a rank has, all at once: every one follows
// from the placement of its value alone. What ops say beside their types, no op
// so far says of numbers that may be cut.
//
//===----------------------------------------------------------------------===//

#include "passes/sharding/Passes.h"

#include "dialects/Dist/Placement.h"
#include "dialects/Model/Places.h"
#include "passes/sharding/Tactics.h"

#include "llvm/ADT/TypeSwitch.h"

namespace baton::sharding {
#define GEN_PASS_DEF_LOCALIZE
#include "passes/sharding/Passes.h.inc"
} // namespace baton::sharding

using namespace mlir;
using namespace baton;
using namespace baton::dist;
using namespace baton::model;
using namespace baton::sharding;

/// Gradients add up where they are; the sum over ranks follows once, behind all
/// that adds to them.
static bool isGradientSum(Operation *op) {
  return isa<AllReduceOp, ReduceScatterOp>(op) && !op->use_empty() &&
         llvm::all_of(op->getUsers(), [](Operation *user) {
           return isa<GradientOp>(user) || isGradientSum(user);
         });
}

/// The sums that make a gradient, the last one first.
static SmallVector<Operation *> sumsOf(GradientOp gradient) {
  SmallVector<Operation *> sums;
  for (Operation *op = gradient.getGradient().getDefiningOp();
       op && isGradientSum(op); op = op->getOperand(0).getDefiningOp())
    sums.push_back(op);
  return sums;
}

/// Notes over which ranks a gradient adds up, and whether each needs a part of
/// it only: not where the sum is also over axes that cut the model. Along
/// others of the batch, ranks need the same part.
static void noteSums(GradientOp gradient, MeshOp mesh, StringRef scatter) {
  SmallVector<Operation *> sums = sumsOf(gradient);
  if (sums.empty())
    return;
  Builder builder(gradient.getContext());
  SmallVector<Attribute> axes;
  for (auto name : mesh.getNames().getAsRange<StringAttr>())
    if (llvm::any_of(sums, [&](Operation *sum) {
          return llvm::is_contained(sum->getAttrOfType<ArrayAttr>("axes"),
                                    name);
        }))
      axes.push_back(name);
  gradient->setAttr(
      kSummed, sums.size() == 1 ? sums.front()->getAttrOfType<ArrayAttr>("axes")
                                : builder.getArrayAttr(axes));
  auto cut = dyn_cast<ReduceScatterOp>(sums.back());
  if (!cut || !llvm::all_of(ArrayRef(sums).drop_back(), [&](Operation *sum) {
        auto whole = dyn_cast<AllReduceOp>(sum);
        return whole && llvm::all_of(whole.getAxes().getAsRange<StringAttr>(),
                                     [&](StringAttr axis) {
                                       return mesh.isBatch(axis);
                                     });
      }))
    return;
  gradient->setAttr(kScattered, builder.getStringAttr(scatter));
  if (sums.size() > 1)
    gradient->setAttr(kScatteredOver, cut.getAxes());
}

/// A parameter of which ranks have parts, and gather them for their ops.
static bool isGathered(ParameterOp parameter) {
  return llvm::all_of(parameter->getUsers(),
                      llvm::IsaPred<AllGatherOp, GradientOp>) &&
         llvm::any_of(parameter->getUsers(), llvm::IsaPred<AllGatherOp>);
}

/// One that no op of its block reads: its gradient ends there.
static bool isOnlyTarget(ParameterOp parameter) {
  return llvm::all_of(parameter->getUsers(), llvm::IsaPred<GradientOp>);
}

/// One that says which gradient stages add up: it is where those of the stages
/// are.
static bool isOnlySummed(ParameterOp parameter) {
  return !parameter->use_empty() &&
         llvm::all_of(parameter->getUsers(), llvm::IsaPred<SumGradientsOp>);
}

/// The same parameter in a stage, null if there is none.
static ParameterOp inStage(ParameterOp parameter) {
  ParameterOp found;
  for (auto stage : parameter->getParentOfType<ProgramOp>().getOps<StageOp>())
    stage.walk([&](ParameterOp own) {
      if (own->getAttrDictionary() == parameter->getAttrDictionary() &&
          !own->use_empty())
        found = own;
    });
  return found;
}

/// Where ranks compute with a parameter: of what is gathered, or a gradient's
/// only target, that is not where they keep it.
static PlacementAttr computedPlacement(ParameterOp parameter) {
  if (isOnlySummed(parameter))
    if (ParameterOp own = inStage(parameter))
      return computedPlacement(own);
  for (Operation *user : parameter->getUsers()) {
    if (auto gather = dyn_cast<AllGatherOp>(user))
      return dist::placementOf(gather.getResult());
    auto gradient = dyn_cast<GradientOp>(user);
    SmallVector<Operation *> sums =
        gradient ? sumsOf(gradient) : SmallVector<Operation *>();
    if (!sums.empty())
      return dist::placementOf(sums.back()->getOperand(0)).withoutPartial();
  }
  return dist::placementOf(parameter.getResult());
}

/// Whether parts of a parameter are kept, and not what ranks compute with:
/// those are over batch axes.
static bool isKeptInParts(ParameterOp parameter, MeshOp mesh) {
  return (isGathered(parameter) || isOnlyTarget(parameter) ||
          isOnlySummed(parameter)) &&
         llvm::none_of(computedPlacement(parameter).getDimensions(),
                       [&](DimensionAttr dimension) {
                         return llvm::any_of(dimension.getAxes(),
                                             [&](StringAttr axis) {
                                               return mesh.isBatch(axis);
                                             });
                       });
}

/// The largest part of a number that a rank has.
static int64_t partOf(int64_t size, DimensionAttr dimension, MeshOp mesh) {
  if (dimension.isReplicate())
    return size;
  if (!dimension.isRagged())
    return size / mesh.countRanks(dimension.getAxes());
  return std::min(size, dimension.getGranularity() *
                            *llvm::max_element(dimension.getUnits()));
}

static bool isTraining(Operation *op) {
  auto program = dyn_cast<ProgramOp>(op);
  return (program ? program : op->getParentOfType<ProgramOp>()).getTraining();
}

/// The type of what a rank has of a value: over axes of the batch, its rows
/// are all that its program knows of; over others, they are a part of them.
/// Null, with an error at `op`, where that is cut which is no rows.
static StepTensorType localType(Operation *op, Value value, MeshOp mesh) {
  auto type = cast<StepTensorType>(value.getType());
  auto parameter = dyn_cast<ParameterOp>(op);
  PlacementAttr placement = parameter && isKeptInParts(parameter, mesh)
                                ? computedPlacement(parameter)
                                : dist::placementOf(value);
  SmallVector<int64_t> shape(type.getShape());
  for (auto [size, dimension] : llvm::zip(shape, placement.getDimensions())) {
    if (!isSymbol(size)) {
      size = partOf(size, dimension, mesh);
      continue;
    }
    SmallVector<StringAttr> axes;
    for (StringAttr axis : dimension.getAxes())
      if (!mesh.isBatch(axis))
        axes.push_back(axis);
    int64_t ranks = mesh.countRanks(axes);
    // Any number of all places may be those of a rank's experts.
    if (ranks == 1 || isOfPlaces(value))
      continue;
    if (size != kRows || isa<ProgramOp>(op) || !isTraining(op)) {
      op->emitOpError() << "cannot be localized: axis " << axes.front()
                        << " cuts " << dimensionName(size) << " of " << type
                        << ", and so far axes other than batch axes cut rows "
                           "only, of what a training step makes";
      return {};
    }
    size = partOfRows(ranks);
  }
  return type.withShape(shape);
}

/// Of a parameter: the shards that its placement makes.
static ArrayAttr shardsOf(ParameterOp op, MeshOp mesh) {
  PlacementAttr placement = isKeptInParts(op, mesh)
                                ? computedPlacement(op)
                                : dist::placementOf(op.getResult());
  ArrayRef<int64_t> shape =
      cast<StepTensorType>(op.getResult().getType()).getShape();
  SmallVector<Attribute> shards;
  for (auto [i, dimension] : llvm::enumerate(placement.getDimensions())) {
    if (dimension.isReplicate() || mesh.countRanks(dimension.getAxes()) == 1)
      continue;
    SmallVector<Attribute> axes(dimension.getAxes().begin(),
                                dimension.getAxes().end());
    shards.push_back(ShardAttr::get(
        op.getContext(), i, shape[i], ArrayAttr::get(op.getContext(), axes),
        dimension.isRagged() ? dimension.getGranularity() : 1,
        dimension.getUnits()));
  }
  return shards.empty() ? ArrayAttr() : ArrayAttr::get(op.getContext(), shards);
}

/// What a sum over ranks adds up is all of a rank's tensor.
static void makeLocal(AllReduceOp op, StepTensorType type, MeshOp mesh) {
  SmallVector<StringAttr> axes =
      llvm::to_vector(op.getAxes().getAsRange<StringAttr>());
  PlacementAttr to = replicated(op.getContext(), type.getRank());
  PlacementAttr from = to.withPartial(op.getFrom().getReduction(), axes);
  op.setFromAttr(from);
  op.setToAttr(to);
  op.setPayload(countBytes(type, from, mesh));
}

/// Ranks gather parts of their rows, or columns.
static void makeLocal(AllGatherOp op, MeshOp mesh) {
  auto type = cast<StepTensorType>(op.getResult().getType());
  PlacementAttr to = replicated(op.getContext(), type.getRank());
  op.setFromAttr(to.withDimension(
      op.getDimension(),
      DimensionAttr::getShard(
          op.getContext(),
          llvm::to_vector(op.getAxes().getAsRange<StringAttr>()))));
  op.setToAttr(to);
  op.setPayload(countBytes(type, to, mesh));
}

/// And scatter sums of them.
static void makeLocal(ReduceScatterOp op, MeshOp mesh) {
  auto type = cast<StepTensorType>(op.getX().getType());
  SmallVector<StringAttr> axes =
      llvm::to_vector(op.getAxes().getAsRange<StringAttr>());
  PlacementAttr whole = replicated(op.getContext(), type.getRank());
  PlacementAttr from = whole.withPartial(op.getFrom().getReduction(), axes);
  op.setFromAttr(from);
  op.setToAttr(whole.withDimension(
      op.getDimension(), DimensionAttr::getShard(op.getContext(), axes)));
  op.setPayload(countBytes(type, from, mesh));
}

/// Or keep a part of the columns that all have.
static void makeLocal(dist::SliceOp op) {
  PlacementAttr from = replicated(
      op.getContext(), cast<StepTensorType>(op.getX().getType()).getRank());
  op.setFromAttr(from);
  op.setToAttr(from.withDimension(
      op.getDimension(),
      DimensionAttr::getShard(
          op.getContext(),
          llvm::to_vector(op.getAxes().getAsRange<StringAttr>()))));
}

static void makeLocal(FirstRankOp op, StepTensorType type) {
  PlacementAttr from = replicated(op.getContext(), type.getRank());
  op.setFromAttr(from);
  op.setToAttr(from.withPartial(
      Reduction::sum, llvm::to_vector(op.getAxes().getAsRange<StringAttr>())));
}

//===----------------------------------------------------------------------===//
// Programs that decode
//===----------------------------------------------------------------------===//

/// A parameter that all ranks have, in the place of one that is cut.
static Value wholeParameter(Value value, OpBuilder &builder) {
  Operation *copy = builder.clone(*value.getDefiningOp());
  copy->removeAttr(kPlacements);
  return copy->getResult(0);
}

/// Ranks that gather what a linear makes of their parts of a weight make all of
/// it instead: the logits, of which there are few rows.
static bool makeWhole(AllGatherOp gather) {
  auto linear = gather.getX().getDefiningOp<LinearOp>();
  if (!linear || !linear->hasOneUse() || linear.getResidual() ||
      dist::placementOf(linear.getX()) != replicated(linear.getContext(), 2) ||
      dist::placementOf(gather.getResult()) !=
          replicated(linear.getContext(), 2))
    return false;
  SmallVector<Value> cut = {linear.getWeight()};
  if (linear.getBias())
    cut.push_back(linear.getBias());
  if (!llvm::all_of(cut, [](Value value) {
        return value.getDefiningOp<ParameterOp>() != nullptr;
      }))
    return false;
  OpBuilder builder(linear);
  for (Value value : cut)
    linear->replaceUsesOfWith(value, wholeParameter(value, builder));
  linear->removeAttr(kPlacements);
  gather.replaceAllUsesWith(linear.getResult());
  gather.erase();
  return true;
}

/// A parameter that only the first rank adds is one of which the others have
/// nothing.
static bool makePart(FirstRankOp term, MeshOp mesh) {
  auto parameter = term.getX().getDefiningOp<ParameterOp>();
  if (!parameter || dist::placementOf(parameter.getResult()) !=
                        replicated(term.getContext(), 1))
    return false;
  SmallVector<StringAttr> axes =
      llvm::to_vector(term.getAxes().getAsRange<StringAttr>());
  SmallVector<int64_t> units(mesh.countRanks(axes), 0);
  units.front() = 1;
  int64_t size =
      cast<StepTensorType>(parameter.getResult().getType()).getDimension(0);
  OpBuilder builder(term);
  auto part = cast<ParameterOp>(builder.clone(*parameter));
  Builder attributes(term.getContext());
  part->setAttr(
      kPlacements,
      attributes.getArrayAttr(
          replicated(term.getContext(), 1)
              .withDimension(0, DimensionAttr::get(term.getContext(), axes,
                                                   size, units))));
  term.replaceAllUsesWith(part.getResult());
  term.erase();
  return true;
}

/// Parameters of such a program stay as they are loaded, so that what ranks do
/// with them may be done while they are.
static void simplifyDecoding(ProgramOp program, MeshOp mesh) {
  SmallVector<AllGatherOp> gathers;
  SmallVector<FirstRankOp> terms;
  program.walk([&](AllGatherOp op) { gathers.push_back(op); });
  program.walk([&](FirstRankOp op) { terms.push_back(op); });
  for (AllGatherOp gather : gathers)
    makeWhole(gather);
  for (FirstRankOp term : terms)
    makePart(term, mesh);
}

/// Whether ranks have parts of a tensor's rows, in a training step, or even
/// parts of its columns, of which nothing is summed up.
static bool movesKnownParts(Operation *op) {
  auto type = cast<StepTensorType>(op->getOperand(0).getType());
  if (type.getDimension(0) != kRows)
    return false;
  int64_t dimension = op->getAttrOfType<IntegerAttr>("dimension").getInt();
  if (dimension == 0)
    return isTraining(op) && isa<AllGatherOp, ReduceScatterOp>(op);
  auto isEven = [&](StringRef placement) {
    return !op->getAttrOfType<PlacementAttr>(placement)
                .getDimensions()[dimension]
                .isRagged();
  };
  return isa<AllGatherOp, dist::SliceOp>(op) && type.getRank() == 2 &&
         isEven("from") && isEven("to");
}

static LogicalResult expectKnown(Operation *op) {
  // One head is that of all queries.
  if (op->hasAttr(kSharedHeads) && keyHeadsOf(op) > 1)
    return op->emitOpError()
           << "cannot be localized: all ranks have all its key/value heads, "
              "and which of them a rank's queries read is not computed; with "
              "an axis of as many ranks as there are key/value heads, and "
              "another one for the queries of each, ranks have one";
  bool isKnown = !isa<DistDialect>(op->getDialect()) ||
                 isa<AllReduceOp, FirstRankOp, LogitMaximumOp, LogitSumsOp,
                     LossesOp, LossGradientsOp, ReceiveOp>(op);
  if (isa<AllGatherOp, ReduceScatterOp, dist::SliceOp>(op))
    isKnown = movesKnownParts(op);
  if (isKnown)
    return success();
  return op->emitOpError()
         << "cannot be localized: so far what ranks exchange are sums, rows of "
            "a training step, and columns of rows";
}

/// Behind the last row a rank's part has zeros, of which a norm without an
/// epsilon would make no numbers.
static LogicalResult expectEpsilon(Operation *op) {
  if (!isa<RmsNormOp, LayerNormOp, NormStatisticsOp>(op))
    return success();
  auto type = cast<StepTensorType>(op->getResult(0).getType());
  auto epsilon = op->getAttrOfType<FloatAttr>("epsilon");
  if (!countRowParts(type.getDimension(0)) || !epsilon ||
      !epsilon.getValue().isZero())
    return success();
  return op->emitOpError() << "cannot be localized: its rows are cut, and its "
                              "epsilon is 0, expected a positive one";
}

namespace {
/// One program on its way from all ranks' tensors to one rank's parts.
class Localizer {
public:
  Localizer(ProgramOp program, MeshOp mesh, StringRef scatter)
      : program(program), mesh(mesh), scatter(scatter) {}

  LogicalResult run();

private:
  LogicalResult note(Operation *op, ValueRange values);
  WalkResult look(Operation *op);
  void setTypes();
  void keepOwnExperts();
  void moveParts();
  void dropGradientSums();
  void dropGathers();
  void dropPlacements();
  void setPayloads();

  ProgramOp program;
  MeshOp mesh;
  StringRef scatter;
  // What is found, and changed when all is known.
  SmallVector<std::pair<Value, StepTensorType>> types;
  SmallVector<std::pair<ParameterOp, ArrayAttr>> parameters;
  SmallVector<Operation *> gradients, gathers;
  SmallVector<AllReduceOp> sums;
  SmallVector<FirstRankOp> terms;
};
} // namespace

/// The types that values have on a rank.
LogicalResult Localizer::note(Operation *op, ValueRange values) {
  for (Value value : values) {
    types.push_back({value, localType(op, value, mesh)});
    if (!types.back().second)
      return failure();
  }
  return success();
}

WalkResult Localizer::look(Operation *op) {
  if (isGradientSum(op)) {
    gradients.push_back(op);
    return WalkResult::advance();
  }
  // Ranks in one place of a batch's axes run all of the stages.
  if (isa<ScheduleOp, StageOp, dist::PhaseOp, StageEndOp, SendOp,
          SumGradientsOp>(op))
    return WalkResult::advance();
  auto gather = dyn_cast<AllGatherOp>(op);
  auto gathered =
      gather ? gather.getX().getDefiningOp<ParameterOp>() : ParameterOp();
  if (gathered && isKeptInParts(gathered, mesh)) {
    gathers.push_back(op);
    return WalkResult::advance();
  }
  auto parameter = dyn_cast<ParameterOp>(op);
  if (failed(expectKnown(op)) || failed(note(op, op->getResults())))
    return WalkResult::interrupt();
  for (Region &region : op->getRegions())
    for (Block &block : region)
      if (failed(note(op, block.getArguments())))
        return WalkResult::interrupt();
  if (auto sum = dyn_cast<AllReduceOp>(op))
    sums.push_back(sum);
  if (auto term = dyn_cast<FirstRankOp>(op))
    terms.push_back(term);
  if (parameter)
    if (ArrayAttr shards = shardsOf(parameter, mesh))
      parameters.push_back({parameter, shards});
  return WalkResult::advance();
}

void Localizer::setTypes() {
  for (auto [parameter, shards] : parameters)
    parameter.setShardsAttr(shards);
  for (auto [value, type] : types)
    value.setType(type);
}

/// Where ranks have some of the experts each, they have places for those, and
/// add up what these have made.
void Localizer::keepOwnExperts() {
  auto keep = [&](ArrayRef<Attribute> axes, int64_t experts, Value bounds) {
    auto dispatch = bounds.getDefiningOp<DispatchOp>();
    if (axes.empty() || dispatch.getAxes())
      return;
    dispatch.setAxesAttr(ArrayAttr::get(dispatch.getContext(), axes));
    bounds.setType(typeOf(bounds).withShape({experts + 2}));
    for (Operation *user : dispatch.getPlaces().getUsers())
      llvm::TypeSwitch<Operation *>(user)
          .Case<CombineOp, CombineWeightGradientOp, GatherGradientOp>(
              [&](auto sum) { sum.getBoundsMutable().assign(bounds); });
  };
  auto keepOfWeight = [&](Value weight, Value bounds) {
    if (auto gather = weight.getDefiningOp<AllGatherOp>())
      weight = gather.getX();
    auto parameter = weight.getDefiningOp<ParameterOp>();
    if (!parameter || !parameter.getShards())
      return;
    SmallVector<Attribute> axes;
    for (auto shard : parameter.getShardsAttr().getAsRange<ShardAttr>())
      if (shard.getDimension() == 0)
        llvm::append_range(axes, shard.getAxes());
    keep(axes, typeOf(parameter.getResult()).getDimension(0), bounds);
  };
  program.walk([&](Operation *op) {
    if (auto product = dyn_cast<GroupedLinearOp>(op)) {
      keepOfWeight(product.getWeight(), product.getBounds());
    } else if (auto adjoint = dyn_cast<GroupedLinearInputGradientOp>(op)) {
      keepOfWeight(adjoint.getWeight(), adjoint.getBounds());
    } else if (auto made = dyn_cast<GroupedLinearWeightGradientOp>(op)) {
      // It may stand in a stack of its own.
      Value result = made.getResult();
      ArrayRef<StringAttr> over =
          dist::placementOf(result).getDimensions()[0].getAxes();
      keep(SmallVector<Attribute>(over.begin(), over.end()),
           typeOf(result).getDimension(0), made.getBounds());
    }
  });
}

void Localizer::moveParts() {
  program.walk([&](Operation *op) {
    if (llvm::is_contained(gradients, op) || llvm::is_contained(gathers, op))
      return;
    if (auto gather = dyn_cast<AllGatherOp>(op))
      makeLocal(gather, mesh);
    else if (auto scatter = dyn_cast<ReduceScatterOp>(op))
      makeLocal(scatter, mesh);
    else if (auto slice = dyn_cast<dist::SliceOp>(op))
      makeLocal(slice);
  });
  for (AllReduceOp sum : sums)
    makeLocal(sum, cast<StepTensorType>(sum.getX().getType()), mesh);
  for (FirstRankOp term : terms)
    makeLocal(term, cast<StepTensorType>(term.getX().getType()));
}

void Localizer::dropGradientSums() {
  program.walk([&](GradientOp gradient) { noteSums(gradient, mesh, scatter); });
  for (Operation *sum : gradients) {
    sum->getResult(0).replaceAllUsesWith(sum->getOperand(0));
    sum->erase();
  }
}

void Localizer::dropGathers() {
  for (Operation *gather : gathers) {
    gather->getOperand(0).getDefiningOp()->setAttr(kGathered,
                                                   gather->getAttr("axes"));
    gather->getResult(0).replaceAllUsesWith(gather->getOperand(0));
    gather->erase();
  }
}

void Localizer::dropPlacements() {
  program->removeAttr(kArguments);
  program->removeAttr(kPlanned);
  program.getBody().walk([](Operation *op) {
    op->removeAttr(kPlacements);
    op->removeAttr(kSharedHeads);
    op->removeAttr(kGradient);
  });
}

void Localizer::setPayloads() {
  // Rows are a rank's own now.
  auto payload = [&](Value x) {
    return countBytes(cast<StepTensorType>(x.getType()), placementOf(x), mesh);
  };
  // Gradients are of f32.
  auto gradientPayload = [&](Value x) {
    auto type = cast<StepTensorType>(x.getType());
    return countBytes(type.withElementType(Float32Type::get(type.getContext())),
                      placementOf(x), mesh);
  };
  program.getBody().walk([&](Operation *op) {
    if (auto send = dyn_cast<SendOp>(op))
      send.setPayload(payload(send.getX()));
    if (auto receive = dyn_cast<ReceiveOp>(op))
      receive.setPayload(payload(receive.getResult()));
    if (auto sum = dyn_cast<SumGradientsOp>(op))
      sum.setPayload(gradientPayload(sum.getParameter()));
  });
}

LogicalResult Localizer::run() {
  if (!program.getTraining())
    simplifyDecoding(program, mesh);
  if (failed(note(program, program.getBody().getArguments())) ||
      program.getBody()
          .walk([&](Operation *op) { return look(op); })
          .wasInterrupted())
    return failure();
  setTypes();
  keepOwnExperts();
  if (program.getBody()
          .walk([](Operation *op) { return WalkResult(expectEpsilon(op)); })
          .wasInterrupted())
    return failure();
  moveParts();
  dropGradientSums();
  dropGathers();
  dropPlacements();
  setPayloads();
  return success();
}

namespace {
struct Localize : baton::sharding::impl::LocalizeBase<Localize> {
  using LocalizeBase::LocalizeBase;

  void runOnOperation() override {
    if (scatter != "update" && scatter != "step") {
      getOperation().emitError() << "localize: scatter is '" << scatter
                                 << "', expected update or step";
      return signalPassFailure();
    }
    MeshOp mesh = findMesh(getOperation());
    if (!mesh)
      return;
    for (auto program : getOperation().getOps<ProgramOp>())
      if (failed(Localizer(program, mesh, scatter).run()))
        return signalPassFailure();
  }
};
} // namespace

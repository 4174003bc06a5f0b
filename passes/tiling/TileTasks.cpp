//===- TileTasks.cpp - model ops into task grids with access maps --------===//

#include "passes/collectives/RankSums.h"
#include "passes/collectives/StepSums.h"
#include "passes/plan/PlanRewrites.h"
#include "passes/stages/DecodeMessages.h"
#include "passes/stages/StagePrograms.h"
#include "passes/tiling/BatchInputs.h"
#include "passes/tiling/BodyLinears.h"
#include "passes/tiling/DoublePrecision.h"
#include "passes/tiling/Passes.h"
#include "passes/tiling/TilingPieces.h"
#include "passes/tiling/Training.h"

#include "dialects/Update/Update.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace baton::tasks {
#define GEN_PASS_DEF_TILETASKS
#include "passes/tiling/Passes.h.inc"
} // namespace baton::tasks

using namespace mlir;
using namespace baton;
using namespace baton::tasks;

/// Whether a value that a stack carries may stay in this buffer: the view is
/// all of it, and nobody else reads the value. The source of a view op may well
/// have other readers.
static bool mayCarryIn(const View &view, Value init) {
  Operation *producer = init.getDefiningOp();
  if (!init.hasOneUse() || !producer || isViewOp(producer) ||
      view.buffer.getKind() != event::BufferKind::transient)
    return false;
  for (auto [i, dimension] : llvm::enumerate(view.map.getResults()))
    if (dimension != getAffineDimExpr(i, view.map.getContext()))
      return false;
  return view.map.getNumResults() == view.map.getNumDims() &&
         view.buffer.getCapacity().size() == view.map.getNumDims();
}

/// Whether the op that makes a yielded value may write into the buffer of the
/// block argument that it replaces: nothing reads the old value afterwards, and
/// what the op itself reads of it is what each task writes.
static bool mayYieldInto(BlockArgument argument, Value yielded) {
  Operation *producer = yielded.getDefiningOp();
  if (!producer || producer->getBlock() != argument.getOwner() ||
      isViewOp(producer) ||
      isa<model::KvAppendOp, model::PagedAppendOp, model::ParameterOp,
          model::SavedOp>(producer) ||
      yielded.getType() != argument.getType())
    return false;
  // Views hand reads of the old value on to their users.
  SmallVector<Value> values = {argument};
  while (!values.empty()) {
    Value value = values.pop_back_val();
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      if (isViewOp(user)) {
        values.push_back(user->getResult(0));
        continue;
      }
      if (user == producer) {
        if (value != argument || !mayWriteOver(user, use))
          return false;
        continue;
      }
      if (!user->isBeforeInBlock(producer))
        return false;
    }
  }
  // The new value is yielded once.
  return llvm::count(argument.getOwner()->getTerminator()->getOperands(),
                     yielded) == 1;
}

static LogicalResult tileBlock(Block &block, Tiler &tiler) {
  SmallVector<Operation *> ops;
  for (Operation &op : block)
    ops.push_back(&op);
  if (tiler.sums)
    tiler.sums->begin(ops);
  if (tiler.training && tiler.training->rankSums)
    tiler.training->rankSums->gatherParameters(ops);
  return tileOps(ops, tiler);
}

static LogicalResult tileStack(model::StackOp stack, Tiler &tiler,
                               unsigned number) {
  PlanBuilder &plan = tiler.plan;
  Block &block = stack.getBody().front();
  Operation *yield = block.getTerminator();

  // Carried values stay in one buffer each, written anew by every iteration.
  SmallVector<View> carried;
  for (auto [init, argument] :
       llvm::zip(stack.getInits(), block.getArguments())) {
    View view = tiler.viewOf(init);
    if (!mayCarryIn(view, init)) {
      std::string name = plan.uniqueName("carried");
      View copy = plan.transient(name, view.type, stack.getLoc());
      if (failed(tileCopy(stack, name, view, copy, tiler)))
        return failure();
      view = copy;
    }
    carried.push_back(view);
    tiler.views[argument] = view;
  }

  std::string name = stack.getReverse() ? "layers.backward" : "layers";
  if (number)
    name += "." + std::to_string(number + 1);
  if (tiler.training && tiler.training->rankSums)
    tiler.training->rankSums->flush();
  if (tiler.training)
    tiler.training->beginShared(stack);
  plan.beginSegment(name, stack.getRepeat(), stack.getLoc(),
                    stack.getReverse());
  tiler.stack = stack;
  for (auto [argument, yielded, view] :
       llvm::zip(block.getArguments(), yield->getOperands(), carried))
    if (mayYieldInto(argument, yielded))
      tiler.destinations[yielded] = view;
  if (tiler.training)
    for (auto save : block.getOps<model::SaveOp>())
      tiler.training->keep(save);
  if (failed(tileBlock(block, tiler)))
    return failure();
  if (tiler.training && tiler.training->rankSums)
    tiler.training->rankSums->flush();

  // What was not computed in place is copied at the end; through temporaries,
  // since one carried value may be yielded as another.
  SmallVector<std::pair<View, View>> copies;
  for (auto [argument, yielded, view] :
       llvm::zip(block.getArguments(), yield->getOperands(), carried)) {
    if (yielded == argument ||
        tiler.destinations.lookup(yielded).buffer == view.buffer)
      continue;
    std::string name = plan.uniqueName("yielded");
    View copy = plan.transient(name, view.type, yield->getLoc());
    if (failed(tileCopy(yield, name, tiler.viewOf(yielded), copy, tiler)))
      return failure();
    copies.push_back({copy, view});
  }
  for (auto &[copy, view] : copies)
    if (failed(tileCopy(yield, plan.uniqueName("carry"), copy, view, tiler)))
      return failure();
  tiler.stack = {};
  for (auto [result, view] : llvm::zip(stack.getResults(), carried))
    tiler.views[result] = view;
  return success();
}

/// Files may say anything.
static LogicalResult checkTile(Operation &op) {
  Attribute attribute = op.getAttr(kTileAttribute);
  if (!attribute)
    return success();
  auto sizes = dyn_cast<DenseI64ArrayAttr>(attribute);
  std::string problem =
      sizes ? checkTileSizes(&op, sizes) : std::string("is no array of i64");
  if (problem.empty())
    return success();
  return op.emitOpError() << "cannot be tiled: " << kTileAttribute << " "
                          << problem;
}

/// Gives each contribution an op of its own: one that CSE has left of equal
/// ones would be added to the gradient of one parameter only. Biases whose
/// linears are added have equal gradients. A loss's gradients, for a weight and
/// a bias, are made of the same logits.
static void separateContributions(model::ProgramOp model) {
  llvm::SmallPtrSet<void *, 8> taken;
  model.walk([&](model::GradientOp op) {
    auto sum = dyn_cast_or_null<OpResult>(op.getGradient());
    if (!sum)
      return;
    void *made = sum.getOwner();
    if (isa<model::CrossEntropyOp, dist::LossGradientsOp>(sum.getOwner()))
      made = sum.getAsOpaquePointer();
    if (taken.insert(made).second)
      return;
    Operation *copy = OpBuilder(op).clone(*sum.getOwner());
    op.getGradientMutable().assign(copy->getResult(sum.getResultNumber()));
  });
}

LogicalResult tasks::tileOps(ArrayRef<Operation *> ops, Tiler &tiler) {
  unsigned stacks = 0;
  // While what comes before a stack computes, weights of its first layer come.
  auto gatherForNext = [&](ArrayRef<Operation *> rest) {
    auto next = llvm::find_if(rest, llvm::IsaPred<model::StackOp>);
    if (next != rest.end() && tiler.training && tiler.training->rankSums)
      tiler.training->rankSums->gatherFirst(cast<model::StackOp>(*next));
  };
  gatherForNext(ops);
  for (auto [index, op] : llvm::enumerate(ops)) {
    if (failed(checkTile(*op)))
      return failure();
    if (isa<model::YieldOp>(op))
      continue;
    if (auto stack = dyn_cast<model::StackOp>(op)) {
      if (tiler.stack)
        return stack.emitOpError() << "stands inside another stack";
      if (failed(tileStack(stack, tiler, stacks++)))
        return failure();
      tiler.plan.beginSegment(stacks == 1 ? "end"
                                          : "after." + std::to_string(stacks),
                              1, stack.getLoc());
      gatherForNext(ops.drop_front(index + 1));
      continue;
    }
    if (failed(tileOp(op, tiler)))
      return failure();
  }
  return success();
}

namespace {
struct TileTasks : tasks::impl::TileTasksBase<TileTasks> {
  using TileTasksBase::TileTasksBase;

  void runOnOperation() override {
    for (auto [name, value] :
         {std::pair<StringRef, int64_t>{"max-rows", maxRows},
          {"max-outputs", maxOutputs},
          {"linear-rows", linearRows},
          {"linear-columns", linearColumns},
          {"attention-rows", attentionRows},
          {"plain-rows", plainRows},
          {"logits-bytes", logitsBytes},
          {"bucket", bucket}})
      if (value < 1) {
        getOperation().emitError() << "tile-tasks: " << name << " is " << value
                                   << ", expected at least 1";
        return signalPassFailure();
      }
    if (attentionSplit < 0 || attentionSplit % kAttentionBlock) {
      getOperation().emitError()
          << "tile-tasks: attention-split is " << int64_t(attentionSplit)
          << ", neither 0 nor a multiple of " << kAttentionBlock;
      return signalPassFailure();
    }
    if (gatheredLayers != 1 && gatheredLayers != 2) {
      getOperation().emitError()
          << "tile-tasks: gathered-layers is " << int64_t(gatheredLayers)
          << ", expected 1 or 2";
      return signalPassFailure();
    }
    if (linearColumns % kPanel) {
      getOperation().emitError()
          << "tile-tasks: linear-columns is " << int64_t(linearColumns)
          << ", no multiple of " << kPanel;
      return signalPassFailure();
    }
    for (auto model :
         llvm::make_early_inc_range(getOperation().getOps<model::ProgramOp>()))
      if (failed(run(model)))
        return signalPassFailure();
    replaceCopiedBodies(getOperation());
    // What they say is in the plans now.
    for (Operation &op : llvm::make_early_inc_range(*getOperation().getBody()))
      if (isa<update::GroupOp, update::RuleOp, update::FormatOp, dist::MeshOp>(
              op))
        op.erase();
  }

  /// What is quantised does not train, and has a body for each side of a
  /// product.
  static LogicalResult checkQuantised(model::ProgramOp model) {
    auto found = model.walk([](model::ParameterOp parameter) {
      if (!isa<model::QuantizedType>(model::typeOf(parameter).getElementType()))
        return WalkResult::advance();
      if (!parameter.getFrozen()) {
        parameter.emitOpError() << "cannot be tiled: it is quantised, and "
                                   "weights that train are floating-point "
                                   "numbers";
        return WalkResult::interrupt();
      }
      for (Operation *user : parameter->getUsers())
        if (!isa<model::LinearOp, model::LinearInputGradientOp,
                 model::EmbeddingOp, model::CrossEntropyOp,
                 model::AdaptedSquaresOp, dist::LogitMaximumOp,
                 dist::LogitSumsOp, dist::LossGradientsOp>(user)) {
          user->emitOpError() << "cannot be tiled: its weight is quantised, "
                                 "which in training only linears, embeddings "
                                 "and the output projection read";
          return WalkResult::interrupt();
        }
      return WalkResult::advance();
    });
    return failure(found.wasInterrupted());
  }

  /// The type that the model's matrices are to be multiplied in, f16 if any of
  /// them is: what needs a loss scale needs it for all. What is frozen is as it
  /// is. Reports at a parameter that is not f64 where others are.
  static FailureOr<StringRef> computeType(model::ProgramOp model) {
    SmallVector<model::ParameterOp> wide, narrow;
    StringRef type = "f32";
    model.walk([&](model::ParameterOp parameter) {
      Type element =
          cast<model::StepTensorType>(parameter.getResult().getType())
              .getElementType();
      if (element.isF64())
        wide.push_back(parameter);
      else if (!element.isF32() && !parameter.getFrozen()) {
        narrow.push_back(parameter);
        if (element.isF16())
          type = "f16";
        else if (element.isBF16() && type != "f16")
          type = "bf16";
      }
    });
    if (wide.empty())
      return type;
    if (!narrow.empty())
      return narrow.front().emitOpError()
             << "cannot be tiled: the program computes in f64, since it has "
                "parameters of that type, and not in 16 bits too";
    return StringRef("f64");
  }

  /// Of several ranks the program says which there are.
  static LogicalResult addMesh(model::ProgramOp model,
                               event::ProgramOp program) {
    dist::MeshOp mesh = dist::findMesh(model);
    if (!mesh)
      return success();
    if (model->hasAttr(dist::kArguments))
      return model.emitOpError() << "cannot be tiled: it is a program of all "
                                    "ranks; localize comes before tile-tasks";
    if (llvm::all_of(mesh.getSizes(), [](int64_t size) { return size == 1; }))
      return success();
    auto builder = OpBuilder::atBlockBegin(&program.getBody().front());
    builder.create<event::MeshOp>(mesh.getLoc(), mesh.getNames(),
                                  mesh.getSizes(), mesh.getBatch());
    return success();
  }

  /// A program without phases.
  FailureOr<event::ProgramOp> create(model::ProgramOp model, StringRef name) {
    OpBuilder builder(model);
    // A step of several sequences has no past.
    int64_t positions =
        model.hasPositions() ? int64_t(maxRows) : int64_t(model.getMaxSeq());
    int64_t rows = std::min<int64_t>(maxRows, positions);
    auto program =
        builder.create<event::ProgramOp>(model.getLoc(), name, rows, positions,
                                         std::min<int64_t>(maxOutputs, rows),
                                         /*scratch_bytes=*/0, DictionaryAttr());
    program.getBody().emplaceBlock();
    if (failed(addMesh(model, program)))
      return failure();
    return program;
  }

  /// What a program that has its phases says of itself.
  static LogicalResult finish(model::ProgramOp model, PlanBuilder &plan,
                              StringRef compute) {
    event::ProgramOp program = plan.program;
    // Segments around stacks may have stayed empty.
    for (auto segment : llvm::make_early_inc_range(
             program.getBody().getOps<event::SegmentOp>()))
      if (segment.getBody().front().empty())
        segment.erase();
    program.setScratchBytes(plan.scratchBytes);
    if (model.getFamily())
      program->setAttr("event.family", model.getFamilyAttr());
    describeStage(model, program);
    if (model.getBatch())
      BatchInputs::describe(model, program);
    if (!model.getTraining())
      return success();
    stateWriters(program);
    Builder builder(program.getContext());
    program->setAttr("event.longest_sequence", model.getMaxSeqAttr());
    program->setAttr("event.compute", builder.getStringAttr(compute));
    if (compute == "f64" && failed(makeDouble(program)))
      return failure();
    if (Training::countLosses(model) == model::kRouterLosses)
      program->setAttr("event.losses",
                       builder.getStrArrayAttr({"loss", "cross_entropy",
                                                "balance_loss", "z_loss"}));
    if (Training::countLosses(model) == model::kPreferenceLosses)
      program->setAttr(
          "event.losses",
          builder.getStrArrayAttr({"loss", "rewards/chosen", "rewards/rejected",
                                   "rewards/margins", "rewards/accuracies",
                                   "logps/chosen", "logps/rejected"}));
    if (Training::countLosses(model) == model::kTeacherLosses)
      program->setAttr("event.losses",
                       builder.getStrArrayAttr({"loss", "kl", "nll"}));
    if (Attribute recompute = model->getAttr("model.recompute"))
      program->setAttr("event.recompute", recompute);
    if (Attribute adapter = model->getAttr(model::kAdapter))
      program->setAttr("event.adapter", adapter);
    model.walk([&](Operation *op) {
      if (!isa<model::CrossEntropyOp, dist::LogitMaximumOp>(op))
        return;
      Value weight = op->getOperand(1);
      auto parameter = weight.getDefiningOp<model::ParameterOp>();
      int64_t tokens =
          parameter
              ? parameter.getWholeShape().front()
              : cast<model::StepTensorType>(weight.getType()).getDimension(0);
      program->setAttr("event.vocabulary", builder.getI64IntegerAttr(tokens));
    });
    return success();
  }

  LogicalResult run(model::ProgramOp model) {
    if (model.getTraining() && failed(checkQuantised(model)))
      return failure();
    FailureOr<StringRef> compute = computeType(model);
    if (failed(compute))
      return failure();
    if (*compute == "f64" && !model.getTraining())
      return model.emitOpError() << "cannot be tiled: parameters are f64, in "
                                    "which only training programs compute";
    separateContributions(model);
    TileSizes sizes = {linearRows,     linearColumns, attentionRows,
                       attentionSplit, plainRows,     logitsBytes,
                       bucket,         gatheredLayers};
    if (!model.getBody().getOps<dist::ScheduleOp>().empty()) {
      StagePrograms stages(
          model, sizes, [&](StringRef name) { return create(model, name); },
          [&](PlanBuilder &plan) { return finish(model, plan, *compute); });
      if (failed(stages.build()))
        return failure();
      model.erase();
      return success();
    }
    FailureOr<event::ProgramOp> program = create(model, model.getSymName());
    if (failed(program))
      return failure();
    PlanBuilder plan(*program, sizes);
    plan.isTraining = model.getTraining();
    Tiler tiler(plan);
    Block &block = model.getBody().front();
    plan.beginSegment("begin", 1, model.getLoc());
    std::optional<RankPlaces> places;
    std::optional<StepSums> sums;
    if (dist::MeshOp mesh = dist::findMesh(model)) {
      tiler.places =
          &places.emplace(plan, model, mesh, plan.uniqueName("places"));
      tiler.sums = &sums.emplace(tiler, mesh, *places);
    }
    std::optional<Training> training;
    std::optional<BatchInputs> batch;
    if (model.getTraining())
      tiler.training = &training.emplace(tiler, model);
    else if (model.getBatch())
      tiler.batch = &batch.emplace(tiler, model);
    else
      tiler.views[block.getArgument(0)] = plan.tokens(model.getLoc());
    if (failed(tileBlock(block, tiler)) ||
        failed(finish(model, plan, *compute)))
      return failure();
    model.erase();
    return success();
  }
};
} // namespace

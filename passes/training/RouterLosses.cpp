//===- RouterLosses.cpp - what routers add to a program's loss ------------===//
//
// A loss of routers is of all layers together. So each stack that has some
// carries one value more: the sums of what its routers, and those before it,
// say of each row.
//
//===----------------------------------------------------------------------===//

#include "passes/training/Passes.h"

#include "dialects/Model/Model.h"

namespace baton::training {
#define GEN_PASS_DEF_ROUTERLOSSES
#include "passes/training/Passes.h.inc"
} // namespace baton::training

using namespace mlir;
using namespace baton;
using namespace baton::model;

namespace {

/// Rewrites one program.
class Adder {
public:
  Adder(ProgramOp program, float balance, float z)
      : program(program), balance(balance), z(z),
        builder(program.getContext()) {}

  LogicalResult run();

private:
  LogicalResult check();
  Value begin(Operation *first);
  Value addRouter(RouteOp route, Value sums);
  Value addStack(StackOp stack, Value sums);
  Value addBlock(Block &block, Value sums);
  Location named(const Twine &name);

  ProgramOp program;
  CrossEntropyOp loss;
  const float balance, z;
  OpBuilder builder;
  /// Of all layers, and how many experts each has.
  int64_t layers = 0, experts = 0;
};

} // namespace

Location Adder::named(const Twine &name) {
  return NameLoc::get(builder.getStringAttr(name));
}

/// What a router is called.
static std::string nameOf(RouteOp route) {
  auto name = dyn_cast<NameLoc>(route.getLoc());
  return name ? name.getName().str() : "route";
}

/// Whether the program's loss is one that others can be added to, and routers
/// are alike.
LogicalResult Adder::check() {
  auto end = cast<ReturnOp>(program.getBody().front().getTerminator());
  if (end.getOperand(0).getDefiningOp<PreferenceLossOp>())
    return end.emitOpError()
           << "gets no losses of routers: its loss is of pairs of answers "
              "(--loss=dpo); --router-aux-loss=0 leaves out the one that the "
              "config asks for";
  loss = end.getOperand(0).getDefiningOp<CrossEntropyOp>();
  if (loss && !loss.getTeacher().empty())
    return end.emitOpError()
           << "gets no losses of routers: its loss has a teacher "
              "(--loss=distill); --router-aux-loss=0 leaves out the one that "
              "the config asks for";
  if (!loss)
    return end.emitOpError() << "gets no losses of routers: it returns other "
                                "losses than those of a model.cross_entropy";
  LogicalResult result = success();
  program.walk([&](RouteOp route) {
    if (failed(result))
      return;
    auto stack = dyn_cast<StackOp>(route->getParentOp());
    layers += stack ? stack.getRepeatAttr().getInt() : 1;
    int64_t own = typeOf(route.getLogits()).getDimension(1);
    if (!experts)
      experts = own;
    if (own != experts)
      result = route.emitOpError()
               << "gets no losses: it has " << own << " experts, another one "
               << experts << ", and a loss is of all layers together";
    else if (balance > 0 && route.getScoring() != Scoring::softmax)
      result = route.emitOpError()
               << "gets no loss that balances experts: its scores are "
               << stringifyScoring(route.getScoring())
               << "s, and the loss is of a softmax";
  });
  if (failed(result))
    return failure();
  if (!layers)
    return program.emitOpError()
           << "gets no losses of routers: it has no model.route, as mixtures "
              "of experts have";
  return success();
}

/// Sums of nothing, in front of the first op that adds to them.
Value Adder::begin(Operation *first) {
  builder.setInsertionPoint(first);
  auto rows = typeOf(loss.getLoss());
  return builder.create<RouterBeginOp>(
      named("routers.sums"), rows.withShape({kRows, routerSums(experts)}),
      loss.getWeights());
}

Value Adder::addRouter(RouteOp route, Value sums) {
  if (!sums)
    sums = begin(route);
  builder.setInsertionPointAfter(route);
  return builder.create<RouterSumsOp>(named(nameOf(route) + ".sums"),
                                      sums.getType(), sums, route.getLogits(),
                                      route.getExperts());
}

/// The same stack, carrying sums behind all else.
Value Adder::addStack(StackOp stack, Value sums) {
  if (stack.getBody().getOps<RouteOp>().empty())
    return sums;
  if (!sums)
    sums = begin(stack);
  SmallVector<Value> inits(stack.getInits());
  inits.push_back(sums);
  SmallVector<Type> types(stack.getResultTypes());
  types.push_back(sums.getType());
  builder.setInsertionPoint(stack);
  auto made =
      builder.create<StackOp>(stack.getLoc(), types, inits, stack->getAttrs());
  made.getBody().takeBody(stack.getBody());
  Block &block = made.getBody().front();
  Value carried = block.addArgument(sums.getType(), stack.getLoc());
  made.getYield().getOperandsMutable().append(addBlock(block, carried));
  for (auto [old, result] : llvm::zip(stack.getResults(), made.getResults()))
    old.replaceAllUsesWith(result);
  stack.erase();
  return made.getResults().back();
}

Value Adder::addBlock(Block &block, Value sums) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (auto route = dyn_cast<RouteOp>(op))
      sums = addRouter(route, sums);
    else if (auto stack = dyn_cast<StackOp>(op))
      sums = addStack(stack, sums);
  }
  return sums;
}

LogicalResult Adder::run() {
  if (failed(check()))
    return failure();
  Block &block = program.getBody().front();
  auto end = cast<ReturnOp>(block.getTerminator());
  Value sums = addBlock(block, Value());
  auto rows = typeOf(loss.getLoss());
  builder.setInsertionPoint(end);
  auto all = builder.create<RouterLossOp>(
      named("routers.loss"),
      TypeRange({rows.withShape({kRows, kRouterLosses}),
                 rows.withShape({kRows, gradientsOfRouterSums(experts)})}),
      loss.getLoss(), sums, loss.getWeights(), builder.getF32FloatAttr(balance),
      builder.getF32FloatAttr(z), builder.getI64IntegerAttr(layers));
  end.getOperandsMutable().assign(all.getLosses());
  return success();
}

namespace {
struct RouterLosses : baton::training::impl::RouterLossesBase<RouterLosses> {
  using RouterLossesBase::RouterLossesBase;

  void runOnOperation() override {
    for (auto program : getOperation().getOps<ProgramOp>()) {
      if (!program.getTraining()) {
        program.emitOpError() << "is no training program; training-form makes "
                                 "one";
        return signalPassFailure();
      }
      double factor = balance;
      if (auto own = program->getAttrOfType<FloatAttr>(kBalanceLoss);
          own && factor < 0)
        factor = own.getValueAsDouble();
      program->removeAttr(kBalanceLoss);
      if (factor <= 0 && z <= 0)
        continue;
      Adder adder(program, static_cast<float>(std::max(factor, 0.0)),
                  static_cast<float>(z));
      if (failed(adder.run()))
        return signalPassFailure();
    }
  }
};
} // namespace

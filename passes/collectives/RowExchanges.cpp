//===- RowExchanges.cpp - rows that go to experts of other ranks ----------===//

#include "passes/collectives/RowExchanges.h"

#include "passes/tiling/Places.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;
using event::ExchangeKind;
using model::typeOf;

LogicalResult tasks::tileExchange(dist::ExchangeCountsOp op, Tiler &tiler) {
  PlanBuilder &plan = tiler.plan;
  std::string name = plan.uniqueName(nameOf(op) + ".exchange");
  View bounds = tiler.viewOf(op.getBounds());
  auto type = typeOf(op.getCounts());
  const int64_t ranks = type.getDimension(0), width = type.getDimension(1),
                experts = op.countExperts();
  auto counts = [&](StringRef what) {
    return plan.received((name + what).str(), ranks, width, 1, op.getLoc(), {},
                         type.getElementType());
  };
  View sent = counts(".sent"), received = counts(".counts");
  {
    PhaseBuilder phase = plan.phase(plan.uniqueName(name + ".count"),
                                    op.getLoc(), {plan.constant(1)}, {1});
    Box all = phase.whole(bounds), made = phase.whole(sent);
    phase.reads(bounds, all);
    phase.writes(sent, made);
    phase.call("count_places",
               {phase.address(sent, made), phase.stride(sent, 0),
                phase.address(bounds, all), phase.integer(ranks),
                phase.integer(experts), phase.integer(width)});
  }
  {
    PhaseBuilder phase = plan.phase(name, op.getLoc(), {plan.constant(1)}, {1});
    phase.reads(sent, phase.whole(sent));
    phase.writes(received, phase.whole(received));
    phase.exchange(ExchangeKind::all_to_all, op.getAxes(), "exchange_counts",
                   phase.transfer(sent, received, ranks * width, width));
  }
  View table = plan.places(plan.uniqueName(name + ".bounds"),
                           typeOf(op.getResult()), op.getLoc());
  AffineExpr places = plan.extent(model::kRows) * (ranks * op.countChoices());
  plan.table(table, 0, places + 1, event::TableProperty::partition, op.getLoc())
      .setSegments(experts * ranks);
  PhaseBuilder phase = plan.phase(plan.uniqueName(name + ".bound"), op.getLoc(),
                                  {plan.constant(1)}, {1});
  Box all = phase.whole(received), made = phase.whole(table);
  phase.reads(received, all);
  phase.writes(table, made);
  phase.call("bound_places",
             {phase.address(table, made), phase.address(received, all),
              phase.stride(received, 0), phase.integer(ranks),
              phase.integer(experts), phase.count({places})});
  tiler.views[op.getResult()] = table;
  tiler.views[op.getCounts()] = received;
  return success();
}

/// The rows of all places of a rank's own rows go to others, or come from them.
template <typename OpT>
static LogicalResult tileRowExchange(OpT op, ExchangeKind kind,
                                     StringRef suffix, Tiler &tiler) {
  PlanBuilder &plan = tiler.plan;
  std::string name = plan.uniqueName(nameOf(op) + suffix.str());
  View x = byPlace(tiler.viewOf(op.getX())),
       out = placesFor(op.getResult(), name, tiler);
  auto by = op.getReceived().template getDefiningOp<dist::ExchangeCountsOp>();
  View bounds = tiler.viewOf(op.getBounds()),
       counts = tiler.viewOf(op.getCounts()),
       received = tiler.viewOf(op.getReceived());
  const int64_t k = by.countChoices(), width = x.type.getDimension(1);
  PhaseBuilder phase = plan.phase(name, op.getLoc(), {plan.constant(1)}, {1});
  AffineExpr end =
      phase.entries(received, {phase.constant(by.countExperts())})[0];
  const bool sends = kind == ExchangeKind::dispatch;
  Box own = allPlaces(phase, sends ? x : out, k),
      ofExperts = allPlaces(phase, sends ? out : x, k);
  ofExperts.high[0] = end;
  phase.reads(bounds, phase.whole(bounds));
  phase.reads(counts, phase.whole(counts));
  phase.reads(received, phase.whole(received));
  phase.reads(x, sends ? own : ofExperts);
  phase.writes(out, sends ? ofExperts : own);
  SmallVector<Attribute> tables;
  for (const View &table : {bounds, counts, received})
    tables.push_back(FlatSymbolRefAttr::get(View(table).buffer));
  phase.exchange(kind, op.getAxes(), op->getName().stripDialect(),
                 phase.transfer(x, out, plan.extent(model::kRows) * (k * width),
                                plan.constant(width)),
                 ArrayAttr::get(plan.context(), tables));
  return success();
}

LogicalResult tasks::tileExchange(dist::DispatchRowsOp op, Tiler &tiler) {
  return tileRowExchange(op, ExchangeKind::dispatch, ".dispatch", tiler);
}

LogicalResult tasks::tileExchange(dist::CombineRowsOp op, Tiler &tiler) {
  return tileRowExchange(op, ExchangeKind::combine, ".combine", tiler);
}

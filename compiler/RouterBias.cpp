//===- RouterBias.cpp - biases of routers that move without a loss --------===//

#include "compiler/RouterBias.h"

#include "dialects/Model/Model.h"
#include "dialects/Update/Update.h"

#include "mlir/Parser/Parser.h"

#include <set>

using namespace baton;
using llvm::createStringError;

/// Loads are whole numbers, and the sum of all is as many times the mean as
/// there are experts: where an expert has the mean exactly, its bias stays.
static constexpr llvm::StringLiteral kRule = R"mlir(
update.rule @router_bias unscaled {
^bb0(%bias: tensor<?x?xf32>, %loads: tensor<?x?xf32>):
  %rate = update.number "rate" default 1.0e-3
  %experts = update.extent %loads, 1
  %all = update.sum (%load = %loads) {
    update.yield %load
  }
  %new = update.map (%b = %bias, %load = %loads) {
    %zero = arith.constant 0.0 : f32
    %own = arith.mulf %load, %experts : f32
    %missing = arith.subf %all, %own : f32
    %up = math.copysign %rate, %missing : f32
    %still = arith.cmpf oeq, %missing, %zero : f32
    %change = arith.select %still, %zero, %up : f32
    %next = arith.addf %b, %change : f32
    update.yield %next
  }
  update.return %new
}
)mlir";

/// What a tensor is called behind its module's name, in any layer.
static std::string lastPartOf(llvm::StringRef name) {
  return name.substr(name.rfind('.') + 1).str();
}

llvm::Error compiler::addRouterBiasUpdate(mlir::ModuleOp module, double rate,
                                          const std::string &model) {
  std::set<std::string> names;
  module.walk([&](model::RouteOp route) {
    if (!route.getBias())
      return;
    route.setCountsLoads(true);
    auto bias = route.getBias().getDefiningOp<model::ParameterOp>();
    for (auto source : bias.getSources().getAsRange<mlir::StringAttr>())
      names.insert("*" + lastPartOf(source.getValue()));
  });
  if (names.empty())
    return createStringError("--router-bias-update: no router of " + model +
                             " has a bias that corrects its choice; leave the "
                             "flag out");
  auto parsed = mlir::parseSourceString<mlir::ModuleOp>(
      kRule, mlir::ParserConfig(module.getContext()));
  auto rule = *parsed->getOps<update::RuleOp>().begin();
  if (module.lookupSymbol(rule.getSymName()))
    return createStringError("--router-bias-update: " + model + " has a @" +
                             rule.getSymName() + " already");
  auto builder = mlir::OpBuilder::atBlockBegin(module.getBody());
  rule.walk([&](update::NumberOp number) {
    number.setInitialAttr(builder.getF32FloatAttr(static_cast<float>(rate)));
  });
  rule->moveBefore(module.getBody(), module.getBody()->begin());
  builder.setInsertionPointAfter(rule);
  llvm::SmallVector<llvm::StringRef> patterns(names.begin(), names.end());
  // In front of those of the optimizer: the first one that fits is taken.
  builder.create<update::GroupOp>(
      module.getLoc(), mlir::FlatSymbolRefAttr::get(rule.getSymNameAttr()),
      builder.getStrArrayAttr(patterns), mlir::IntegerAttr(),
      mlir::DictionaryAttr());
  return llvm::Error::success();
}

//===- LowRankPairs.cpp - which linears have pairs beside them ------------===//

#include "dialects/Model/LowRankPairs.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace baton;
using namespace baton::model;

constexpr StringLiteral kAllLinear = "all-linear";
constexpr StringLiteral kWeight = ".weight";
constexpr StringLiteral kPrefix = "base_model.model.";

/// What a linear's module is called in the checkpoint; empty where its weight
/// is none by itself.
static StringRef moduleOf(ParameterOp weight) {
  if (!weight || weight.isOfSeveral())
    return {};
  auto name = cast<StringAttr>(weight.getSources()[0]).getValue();
  return name.ends_with(kWeight) ? name.drop_back(kWeight.size()) : StringRef();
}

static StringRef lastPart(StringRef module) {
  return module.substr(module.rfind('.') + 1);
}

bool model::isRouter(Operation *linear) {
  return llvm::any_of(linear->getUsers(),
                      [](Operation *user) { return isa<RouteOp>(user); });
}

/// As PEFT has it: the whole name, or its last parts.
bool PairTargets::isTarget(StringRef module) const {
  for (const std::string &name : names)
    if (name == kAllLinear || module == name ||
        (module.ends_with(name) &&
         module.drop_back(name.size()).ends_with(".")))
      return true;
  return false;
}

bool PairTargets::take(ParameterOp weight) {
  const StringRef module = moduleOf(weight);
  if (module.empty())
    return false;
  known.insert(lastPart(module).str());
  if (!isTarget(module))
    return false;
  adapted.insert(lastPart(module).str());
  return true;
}

LogicalResult PairTargets::check(ProgramOp program) const {
  for (const std::string &name : names)
    if (name != kAllLinear && !adapted.count(lastPart(name).str()))
      return program.emitOpError()
             << "has no linear that can be adapted called '" << name
             << "'; there is " << llvm::join(known, ", ") << ", and "
             << kAllLinear << " for all of them";
  if (adapted.empty())
    return program.emitOpError() << "has no linear that can be adapted";
  return success();
}

ParameterOp model::makePairParameter(OpBuilder &builder, ParameterOp weight,
                                     Location linear, StringRef name,
                                     ArrayRef<int64_t> shape, Type element) {
  // PEFT saves the vector by its bare name.
  const StringRef suffix = shape.size() == 1 ? StringRef() : StringRef(kWeight);
  SmallVector<Attribute> sources;
  for (auto source : weight.getSources().getAsRange<StringAttr>())
    sources.push_back(builder.getStringAttr(
        kPrefix + source.getValue().drop_back(kWeight.size()) + "." + name +
        suffix));
  auto named = dyn_cast<NameLoc>(linear);
  StringRef module = named ? named.getName().getValue() : StringRef("linear");
  module.consume_back(kWeight);
  Location location = NameLoc::get(builder.getStringAttr(module + "." + name));
  auto made = builder.create<ParameterOp>(
      location, StepTensorType::get(builder.getContext(), shape, element),
      builder.getArrayAttr(sources));
  if (name != "lora_A" && weight.getBlocks())
    made.setBlocksAttr(weight.getBlocksAttr());
  // Of several ranks each has of A the inputs that it has of the weight, and of
  // the rest the outputs.
  SmallVector<Attribute> shards;
  if (weight.getShards())
    for (auto shard : weight.getShardsAttr().getAsRange<ShardAttr>())
      if (shard.getDimension() == (name == "lora_A" ? 1 : 0))
        shards.push_back(shard);
  if (!shards.empty())
    made.setShardsAttr(builder.getArrayAttr(shards));
  return made;
}

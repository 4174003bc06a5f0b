//===- Derivation.cpp - results' placements, given the operands' ----------===//

#include "passes/sharding/Derivation.h"

using namespace mlir;
using namespace baton;
using namespace baton::dist;
using namespace baton::sharding;

std::optional<SmallVector<Sharding>>
baton::sharding::deriveFactors(const Rule &rule,
                               ArrayRef<PlacementAttr> operands,
                               ArrayRef<PlacementAttr> results, MeshOp mesh,
                               function_ref<InFlightDiagnostic()> emitError) {
  SmallVector<std::optional<Sharding>> found(rule.factors.size());
  bool fits = true;
  auto read = [&](const FactorLists &tensor, PlacementAttr placement,
                  StringRef what, unsigned index, bool onlyNew) {
    Shardings shardings = shardingsOf(placement, nullptr);
    SmallVector<bool> wasFound;
    for (const auto &sharding : found)
      wasFound.push_back(sharding.has_value());
    for (auto [dimension, list] : llvm::enumerate(tensor)) {
      const Sharding &whole = shardings[dimension];
      SmallVector<Sharding, 2> parts = split(whole, list, rule, mesh);
      size_t taken = 0;
      for (auto [factor, part] : llvm::zip(list, parts)) {
        taken += part.axes.size();
        if (onlyNew && wasFound[factor])
          continue;
        MLIRContext *context = mesh.getContext();
        if (!found[factor])
          found[factor] = part;
        else if (found[factor]->attribute(context) != part.attribute(context)) {
          emitError() << "operands shard factor '"
                      << rule.factors[factor].letter
                      << "' differently: " << found[factor]->attribute(context)
                      << " and, " << what << " " << index << ", "
                      << part.attribute(context);
          fits = false;
        }
        if (rule.factors[factor].kind == FactorKind::replicated &&
            !part.axes.empty()) {
          emitError() << what << " " << index << " shards dimension "
                      << dimension << ", which the op needs whole";
          fits = false;
        }
      }
      if (taken != whole.axes.size()) {
        emitError() << what << " " << index << " shards dimension " << dimension
                    << " where its factors cannot be cut";
        fits = false;
      }
      if (!fits)
        return;
    }
  };
  for (unsigned i = 0; i < operands.size() && fits; ++i)
    read(rule.operands[i], operands[i], "operand", i, false);
  for (unsigned i = 0; i < results.size() && fits; ++i)
    read(rule.results[i], results[i], "result", i, true);
  if (!fits)
    return std::nullopt;
  SmallVector<Sharding> factors;
  for (auto &sharding : found)
    factors.push_back(sharding.value_or(Sharding()));
  return factors;
}

/// A result that is partial over a term's axes, too, in the mesh's order.
static PlacementAttr withMorePartial(PlacementAttr result, PlacementAttr term,
                                     MeshOp mesh) {
  SmallVector<StringAttr> axes;
  for (auto axis : mesh.getNames().getAsRange<StringAttr>())
    if (llvm::is_contained(result.getPartialAxes(), axis) ||
        llvm::is_contained(term.getPartialAxes(), axis))
      axes.push_back(axis);
  return result.withPartial(term.getReduction(), axes);
}

std::optional<SmallVector<PlacementAttr>>
baton::sharding::deriveResults(const Rule &rule,
                               ArrayRef<PlacementAttr> operands,
                               ArrayRef<PlacementAttr> results, MeshOp mesh,
                               function_ref<InFlightDiagnostic()> emitError) {
  auto factors = deriveFactors(rule, operands, results, mesh, emitError);
  if (!factors)
    return std::nullopt;
  SmallVector<PlacementAttr> derived;
  for (const FactorLists &tensor : rule.results)
    derived.push_back(computedPlacement(tensor, *factors, rule, mesh));
  // Where results are nothing but sums of their terms, these may be partial.
  PlacementAttr term;
  if (rule.isLinear)
    term = operands[rule.terms.front()];
  if (term && term.isPartial())
    for (PlacementAttr &result : derived)
      result = withMorePartial(result, term, mesh);
  for (auto [i, operand] : llvm::enumerate(operands)) {
    bool isTerm = llvm::is_contained(rule.terms, i);
    ArrayRef<StringAttr> expected;
    if (isTerm)
      expected = (term ? term : derived.front()).getPartialAxes();
    if (operand.getPartialAxes() != expected ||
        (!expected.empty() && operand.getReduction() != Reduction::sum)) {
      emitError() << "operand " << i << " is placed " << operand
                  << (expected.empty()
                          ? ", but the op is not linear in it alone"
                          : ", expected the sum that its result is a part of");
      return std::nullopt;
    }
  }
  return derived;
}

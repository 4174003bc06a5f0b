//===- FusionReasons.cpp - which ops became a phase, and why --------------===//

#include "compiler/explain/Reasons.h"
#include "compiler/explain/Words.h"

#include "codegen/bodies/TaskCalls.h"

#include "llvm/ADT/STLExtras.h"

using namespace baton;
using namespace baton::explain;

/// Names of importers and places in files, in all parts of a location.
static void collectNames(mlir::Location location, Sentences &names) {
  if (auto fused = mlir::dyn_cast<mlir::FusedLoc>(location)) {
    for (mlir::Location part : fused.getLocations())
      collectNames(part, names);
    return;
  }
  std::string text = compiler::describe(location);
  if (!text.empty() && !llvm::is_contained(names, text))
    names.push_back(text);
}

/// "@x", when an operand is an address.
static std::string nameOf(mlir::Attribute operand) {
  auto address = mlir::dyn_cast_or_null<event::AddressAttr>(operand);
  return address ? "@" + address.getBuffer().getValue().str() : "";
}

/// The tensors that lie side by side in a product's weight.
static void addWeightParts(event::CallOp call, Sentences &reasons) {
  for (mlir::Attribute operand : call.getOperands_()) {
    auto weight = mlir::dyn_cast<event::WeightAttr>(operand);
    if (!weight)
      continue;
    auto parameter =
        mlir::SymbolTable::lookupNearestSymbolFrom<event::ParameterOp>(
            call, weight.getParameter());
    event::WeightForm form = parameter.getFormAttr();
    if (!form || !form.isPacked() || parameter.getSources()->size() < 2)
      continue;
    Sentences names;
    for (auto source : parameter.getSources()->getAsRange<event::SourceAttr>())
      if (std::string text = "`" + source.getName().str() + "`";
          !llvm::is_contained(names, text))
        names.push_back(text);
    reasons.push_back("one product reads its rows once for " + listText(names));
  }
}

/// What one call adds to a phase beside its main product.
static void addCall(event::CallOp call, Sentences &reasons) {
  llvm::StringRef callee = call.getCallee();
  if (call.getInvariant())
    reasons.push_back(
        callee.str() + " of " + nameOf(bodies::operandNamed(call, "x")) +
        " is no phase of its own: each worker computes it into scratch for its "
        "tile of rows");
  addWeightParts(call, reasons);
  auto addResidual = [&](mlir::Attribute operand) {
    if (std::string residual = nameOf(operand); !residual.empty())
      reasons.push_back("the body of " + callee.str() + " adds " + residual +
                        ": no phase for the sum");
  };
  if (auto linear = bodies::dynCall<bodies::LinearCall>(call)) {
    addResidual(linear.residual());
  } else if (auto integer = bodies::dynCall<bodies::IntegerLinearCall>(call)) {
    addResidual(integer.residual());
  } else if (auto rounded = bodies::dynCall<bodies::RoundedLinearCall>(call)) {
    addResidual(rounded.residual());
  } else if (auto amx = bodies::dynCall<bodies::AmxLinearCall>(call)) {
    addResidual(amx.residual());
  } else if (bodies::dynCall<bodies::GatedLinearCall>(call) ||
             bodies::dynCall<bodies::IntegerGatedLinearCall>(call) ||
             bodies::dynCall<bodies::RoundedGatedLinearCall>(call) ||
             bodies::dynCall<bodies::AmxGatedLinearCall>(call)) {
    reasons.push_back("gate, up, activation and product are one body, " +
                      callee.str() + ": none of them is stored");
  } else if (auto attention = bodies::dynCall<bodies::AttentionCall>(call)) {
    std::string text = "scores, mask, softmax and the sum of values are one "
                       "body: no score is stored";
    if (std::string gate = nameOf(attention.gate()); !gate.empty())
      text += "; it also applies the gate " + gate;
    reasons.push_back(text);
  } else if (bodies::dynCall<bodies::AttentionPartialCall>(call)) {
    reasons.push_back(
        "scores, mask, softmax and the sum of values are one body "
        "for each part of the positions: no score is stored, of "
        "every 64 positions a maximum and sums are");
  } else if (auto merge = bodies::dynCall<bodies::AttentionMergeCall>(call)) {
    std::string text = "merges what " + nameOf(merge.partials()) +
                       " has of every 64 positions, in ascending order";
    if (std::string gate = nameOf(merge.gate()); !gate.empty())
      text += "; it also applies the gate " + gate;
    reasons.push_back(text);
  }
}

Sentences explain::fusionReasons(event::PhaseOp phase,
                                 llvm::ArrayRef<compiler::Remark> remarks,
                                 std::vector<bool> &used) {
  Sentences reasons;
  Sentences names;
  collectNames(phase.getLoc(), names);
  if (names.size() > 1)
    reasons.push_back("made of " + listText(names));
  for (auto call : phase.getBody().getOps<event::CallOp>())
    addCall(call, reasons);
  for (auto [index, remark] : llvm::enumerate(remarks))
    if (llvm::is_contained(names, remark.at)) {
      used[index] = true;
      std::string text = remark.text;
      if (names.size() > 1)
        text = remark.at + ": " + text;
      if (!llvm::is_contained(reasons, text))
        reasons.push_back(text);
    }
  if (reasons.empty()) {
    std::vector<std::string> callees;
    for (auto call : phase.getBody().getOps<event::CallOp>())
      callees.push_back(call.getCallee().str());
    reasons.push_back(
        callees.empty()
            ? "hands over the step's logits, which ends it"
            : "one op, run by " + listText(callees) +
                  "; no pass remarks that it could be part of another");
  }
  return reasons;
}

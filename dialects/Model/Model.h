//===- Model.h - the model dialect ----------------------------------------===//

#ifndef BATON_DIALECTS_MODEL_MODEL_H
#define BATON_DIALECTS_MODEL_MODEL_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace baton::model {

/// Dimensions that are known only when a step starts, as they stand in
/// StepTensorType::getShape().
enum DimensionSymbol : int64_t { kRows = -1, kKv = -2, kOutputs = -3 };

/// Positions of a page of a batch's states, which attention computes on their
/// own.
constexpr int64_t kPagePositions = 64;

/// Words of what model.sample reads of a row and of a change of a logit, and of
/// what it makes of a row (runtime/step_sampling.h).
constexpr int64_t kSamplingWords = 28, kChangeWords = 3, kDrawWords = 298;
/// Of the latter those before numbers of tokens that are listed.
constexpr int64_t kDrawnWords = 42;
/// Tokens with a bias that a sequence may have.
constexpr int64_t kMostBiases = 1024;

/// Stands for the number of an expert in the name of a tensor.
constexpr char kExpert[] = "{expert}";
/// Experts that one row may have, and that there may be.
constexpr int64_t kMostExpertsOfRow = 64, kMostExperts = 4096;
/// Groups that experts may be in.
constexpr int64_t kMostGroups = 64;
/// Outputs of an expert's products come in multiples of so many: experts lie
/// one behind the other in whole panels of weights.
constexpr int64_t kExpertOutputs = 16;
/// A head of `model.head_linear` has a multiple of so many.
constexpr int64_t kHeadOutputs = 16;

/// Ranks of adapters that a batch has room for come in multiples of so many: a
/// panel of weights; and the most that one adapter may have.
constexpr int64_t kRankUnit = 16, kMostRanks = 1024;

/// Words of a mask of tokens, which has a bit for each.
constexpr int64_t maskWords(int64_t vocabulary) {
  return (vocabulary + 31) / 32;
}

inline bool isSymbol(int64_t dimension) { return dimension < 0; }

/// The rows that one of several ranks has where positions are cut: more than
/// one rank. All ranks have room for as many.
inline int64_t partOfRows(int64_t ranks) { return kOutputs - ranks; }

/// How many ranks such a dimension is a part for; 0 of any other.
inline int64_t countRowParts(int64_t dimension) {
  return dimension < kOutputs ? kOutputs - dimension : 0;
}

/// "rows", "kv", "outputs", "rows over 2" (a part), or the number.
std::string dimensionName(int64_t dimension);

/// What the losses of routers say of each row: all together, the model's own,
/// the one that balances experts, and the one of the logits' size.
constexpr int64_t kRouterLosses = 4;
/// What a preference says of a pair's first row: the loss, the rewards of both
/// answers, how far apart they are and whether the right way, and both
/// log-probabilities.
constexpr int64_t kPreferenceLosses = 7;
/// What the runtime says of a pair in its first row: its weight, beta, and the
/// reference's log-probabilities of both answers.
constexpr int64_t kPreferenceNumbers = 4;
/// What a loss with a teacher says of each row: all of it, the divergence from
/// the teacher, and the cross-entropy.
constexpr int64_t kTeacherLosses = 3;
/// What the runtime says of a teacher's row before the probabilities of tokens:
/// the factors of the divergence and of the cross-entropy, the inverse of the
/// temperature, the logarithm of the probability of all other tokens, and
/// whether the divergence is that of the teacher from the model.
constexpr int64_t kTeacherNumbers = 5;
/// What ranks with parts of the vocabulary find out of a row for such a loss:
/// maxima of all logits and of those that the teacher does not name, and sums.
constexpr int64_t kTeacherMaxima = 2;
constexpr int64_t kTeacherSums = 6;

/// A program's attribute: the factor by which its config adds the loss that
/// balances experts, in training.
constexpr char kBalanceLoss[] = "model.balance_loss";

/// Of the sums over routers of so many experts: for each row, and those of them
/// that have a gradient.
constexpr int64_t routerSums(int64_t experts) { return 2 * experts + 1; }
constexpr int64_t gradientsOfRouterSums(int64_t experts) { return experts + 1; }
/// How many experts such sums are of; 0 where they are of none.
constexpr int64_t expertsOfRouterSums(int64_t sums) {
  return sums % 2 ? sums / 2 : 0;
}

/// What an op writes its adjoint with: after the op, in the order of execution,
/// and in a stack of its own if the op stands in a stack.
class Adjoint {
public:
  virtual ~Adjoint() = default;

  /// Inserts where the adjoint goes; ops made get the op's location.
  mlir::OpBuilder &builder;
  mlir::Location location;

  /// A value of the forward step, as the adjoint reads it.
  virtual mlir::Value value(mlir::Value forward) = 0;
  /// The gradient of an op's result; null where no loss depends on it.
  virtual mlir::Value gradient(mlir::Value result) = 0;
  /// Adds to the gradient of an operand.
  virtual void add(mlir::Value operand, mlir::Value gradient) = 0;
  /// Adds to that of columns `offset` on of dimension `axis` of an operand.
  virtual void addSlice(mlir::Value operand, mlir::Value gradient, int64_t axis,
                        int64_t offset) = 0;

protected:
  Adjoint(mlir::OpBuilder &builder, mlir::Location location)
      : builder(builder), location(location) {}
};

} // namespace baton::model

#include "dialects/Model/ModelDialect.h.inc"
#include "dialects/Model/ModelEnums.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/Model/ModelTypes.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Model/ModelAttributes.h.inc"

#include "dialects/Model/Differentiable.h.inc"
#include "dialects/Model/Elementwise.h.inc"
#include "dialects/Model/Segments.h.inc"

namespace baton::model {

/// An attribute of a program whose parameters are frozen, but for low-rank
/// pairs beside linears: says what these are (low-rank-adapters).
constexpr llvm::StringLiteral kAdapter = "model.adapter";

/// An attribute of a batch whose rows have adapters of their own: for how many
/// ranks of all together there is room, the most of one, and which linears'
/// modules have pairs (adapter-slots).
constexpr llvm::StringLiteral kAdapters = "model.adapters";

/// Attributes of an event.body: the bodies that are its adjoint for inputs, and
/// for weights.
constexpr llvm::StringLiteral kInputAdjointAttribute = "adjoint_inputs";
constexpr llvm::StringLiteral kWeightAdjointAttribute = "adjoint_weights";

/// Parts of the maps of hyper-connections, and how many numbers all have.
int64_t countParts(Mixing mixing);
int64_t countMaps(int64_t streams, Mixing mixing);

/// The type of a value that is a step tensor.
inline StepTensorType typeOf(mlir::Value value) {
  return mlir::cast<StepTensorType>(value.getType());
}

} // namespace baton::model

#define GET_OP_CLASSES
#include "dialects/Model/ModelOps.h.inc"

namespace baton::model {

/// Whether a value is a parameter that does not train.
inline bool isFrozen(mlir::Value value) {
  auto parameter = value.getDefiningOp<ParameterOp>();
  return parameter && parameter.getFrozen();
}

} // namespace baton::model

#endif // BATON_DIALECTS_MODEL_MODEL_H

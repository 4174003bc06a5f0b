//===- Rules.h - which dimensions of an op belong together ----------------===//
//
// A rule is an equation of index letters, as of einsum: a linear is
// `bs k, n k -> bs n`. Letters are factors. What may be sharded, and what that
// does to results, is the factor's kind; nothing else is known of an op where
// placements are found, reshards are inserted, or both are checked.
//
// Rows are two factors, b·s: sequences, and positions in them. Axes that the
// mesh calls batch shard b, others s. So are places of rows with experts, b·e,
// where both may be cut. Query heads are g·r where key/value heads
// are g.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_PASSES_SHARDING_RULES_H
#define BATON_PASSES_SHARDING_RULES_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <optional>
#include <string>

namespace baton::sharding {

enum class FactorKind {
  /// Every result has it, and a rank computes its part alone.
  parallel,
  /// The same, but that results without it are each rank's own, of its part:
  /// nobody moves them.
  own,
  /// Where it is sharded, results without it are partial sums, or maxima.
  sum,
  maximum,
  /// A rank needs all of it.
  replicated,
  /// Sharded only by the ops that insert-reshards writes in the op's place,
  /// because results are neither sums nor maxima over it.
  expanded
};

struct Factor {
  char letter;
  /// 0 where only a step knows it.
  int64_t size;
  FactorKind kind = FactorKind::parallel;
};

/// The factors of one dimension, the outermost first.
using FactorList = llvm::SmallVector<unsigned, 2>;
using FactorLists = llvm::SmallVector<FactorList, 4>;

struct Rule {
  llvm::SmallVector<Factor, 8> factors;
  llvm::SmallVector<FactorLists> operands, results;
  /// Operands that results are sums of, so that a partial one is none too many.
  llvm::SmallVector<unsigned> terms;
  /// Whether results are linear in their terms, and have no others: then they
  /// are partial where the terms are. So it is where all operands are terms.
  bool isLinear = false;

  /// `bs k, n k -> bs n; sum k; k=60 n=96`
  std::string text() const;
  /// Whether a dimension is of rows, or of their places with experts: batch
  /// axes shard its first factor, others its second.
  bool isRows(const FactorList &dimension) const;
};

/// The rule of an op; none if whyWithoutRule says why, or if its types do not
/// fit the rule, which is a mistake in the table that it reports.
std::optional<Rule> ruleOf(mlir::Operation *op);

/// Empty for an op that has a rule, and for one of which nothing is known.
llvm::StringRef whyWithoutRule(llvm::StringRef opName);

bool hasRule(llvm::StringRef opName);

/// All values have the same factors: what holds of one holds of the others.
Rule identityRule(mlir::ValueRange values);

/// What a table of rules is written with.
class RuleWriter {
public:
  explicit RuleWriter(mlir::Operation *op) : op(op) {}

  /// A tensor is dimensions with spaces between, a dimension one or several
  /// letters. `R` is bs for rows, o for outputs, t for kv.
  RuleWriter &equation(llvm::StringRef text);
  RuleWriter &sum(llvm::StringRef letters);
  RuleWriter &maximum(llvm::StringRef letters);
  RuleWriter &replicated(llvm::StringRef letters);
  RuleWriter &own(llvm::StringRef letters);
  RuleWriter &expanded(llvm::StringRef letters);
  RuleWriter &terms(llvm::ArrayRef<unsigned> operands);
  /// Terms that results are linear in, whatever the other operands are.
  RuleWriter &linear(llvm::ArrayRef<unsigned> operands);

  /// Sizes come from types.
  std::optional<Rule> finish();

private:
  unsigned factor(char letter);
  RuleWriter &setKind(llvm::StringRef letters, FactorKind kind);
  void parseTensor(llvm::StringRef text, mlir::Value value,
                   llvm::SmallVectorImpl<FactorLists> &list);
  void inferSizes();

  mlir::Operation *op;
  Rule rule;
  std::string problem;
};

/// Letters for a tensor's dimensions, the last is k.
llvm::SmallVector<std::string> lettersOf(mlir::Value value);
std::string spaced(llvm::ArrayRef<std::string> dimensions);

} // namespace baton::sharding

#endif // BATON_PASSES_SHARDING_RULES_H

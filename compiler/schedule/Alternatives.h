//===- Alternatives.h - a schedule of which decisions are open ------------===//
//
// `transform.baton.tile %wide [48, 64] or [24, 64]` leaves open what is
// decided; `merge %ropes or not`, whether anything is. Such a schedule stands
// for many, of which each is its text with one alternative in the place of all:
// comments and names stay.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_COMPILER_SCHEDULE_ALTERNATIVES_H
#define BATON_COMPILER_SCHEDULE_ALTERNATIVES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/LogicalResult.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace baton::schedule {

/// Whether an op of a schedule has alternatives.
bool hasAlternatives(mlir::Operation *op);

/// A decision that is open.
struct OpenDecision {
  /// "tile %wide", and the line where it stands, from 1 on.
  std::string what;
  unsigned line;
  /// As they are written; "yes" and "not" of one that may be left out.
  std::vector<std::string> alternatives;

  // Bytes of the text.
  /// From the first alternative's begin to the last one's end.
  size_t begin, end;
  /// Of one that may be left out: where the statement begins, and its result,
  /// for which its operand stands then.
  size_t statement = 0;
  std::string result, operand;
};

/// One alternative of each decision, by its number.
using Chosen = std::vector<unsigned>;

class Alternatives {
public:
  /// Of a schedule's text, which parses as `module`. Errors name the line.
  static llvm::Expected<Alternatives>
  of(mlir::ModuleOp module, std::string text, const std::string &name);

  const std::vector<OpenDecision> &decisions() const { return open; }
  const std::string &text() const { return source; }
  /// The alternatives nearest to the default schedule: the first ones; what may
  /// be left out is done where the default does such things (fuse, group,
  /// recompute), and left out elsewhere.
  Chosen start() const;
  /// The schedule in which all is decided.
  std::string choose(const Chosen &chosen) const;

private:
  std::string source;
  /// In the order of the text.
  std::vector<OpenDecision> open;
};

} // namespace baton::schedule

#endif // BATON_COMPILER_SCHEDULE_ALTERNATIVES_H

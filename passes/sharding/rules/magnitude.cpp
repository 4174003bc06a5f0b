//===- magnitude.cpp - rows of adapted weights with trained lengths -------===//

#include "passes/sharding/rules/RuleTable.h"

using namespace mlir;
using namespace baton;
using namespace baton::model;
using namespace baton::sharding;

void sharding::addMagnitude(RuleTable &rules) {
  // Over ranks that have parts of a row, squares are a partial sum; a root is
  // taken of whole ones.
  rules.add<AdaptedSquaresOp>("n k, r k, n r -> n", "r", "k");
  rules.add<MagnitudeOp>([](MagnitudeOp op, RuleWriter &writer) {
    writer.equation(op.getBias() ? "R n, n, n, n -> R n" : "R n, n, n -> R n");
  });
  rules.add<MagnitudeGradientOp>("R n, R n, n -> n", "", "R");
}

//===- vocabulary_parts.cpp - the loss over parts of the vocabulary -------===//

#include "passes/sharding/rules/RuleTable.h"

#include "dialects/Dist/Dist.h"

using namespace mlir;
using namespace baton;
using namespace baton::model;
using namespace baton::sharding;

void sharding::addVocabularyParts(RuleTable &rules) {
  // With a teacher its tokens and numbers come last, and there are two maxima.
  rules.add<dist::LogitMaximumOp>([](dist::LogitMaximumOp op,
                                     RuleWriter &writer) {
    const bool hasTeacher = !op.getTeacher().empty();
    writer.equation(hasTeacher ? "R k, v k, R n, R m -> R x" : "R k, v k -> R")
        .maximum("v")
        .replicated(hasTeacher ? "knmx" : "k");
  });
  rules.add<dist::LogitSumsOp>([](dist::LogitSumsOp op, RuleWriter &writer) {
    const bool hasTeacher = !op.getTeacher().empty();
    writer
        .equation(hasTeacher ? "R k, v k, R, R x, R n, R m -> R z"
                             : "R k, v k, R, R -> R z")
        .replicated(hasTeacher ? "kxnmz" : "kz")
        .sum("v");
  });
  rules.add<dist::LossesOp>([](dist::LossesOp op, RuleWriter &writer) {
    const bool hasTeacher = !op.getTeacher().empty();
    writer.equation(hasTeacher ? "R x, R z, R, R m -> R l" : "R, R z, R -> R")
        .replicated(hasTeacher ? "xzml" : "z");
  });
  rules.add<dist::LossGradientsOp>([](dist::LossGradientsOp op,
                                      RuleWriter &writer) {
    const bool hasTeacher = !op.getTeacher().empty();
    writer
        .equation(hasTeacher ? "R k, v k, R, R, R x, R z, R n, R m -> R k, v k"
                             : "R k, v k, R, R, R, R z -> R k, v k")
        .replicated(hasTeacher ? "kxznm" : "kz")
        .sum("vR");
  });
}

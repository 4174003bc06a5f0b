//===- vocabulary_parts.cpp - the loss over parts of the vocabulary -------===//

#include "passes/sharding/rules/RuleTable.h"

#include "dialects/Dist/Dist.h"

using namespace mlir;
using namespace baton;
using namespace baton::model;
using namespace baton::sharding;

void sharding::addVocabularyParts(RuleTable &rules) {
  // Behind a teacher's tokens and numbers, with which there are two maxima,
  // comes a bias.
  rules.add<dist::LogitMaximumOp>(
      [](dist::LogitMaximumOp op, RuleWriter &writer) {
        const bool hasTeacher = !op.getTeacher().empty();
        const std::string bias = op.getBias() ? ", v" : "";
        writer
            .equation(hasTeacher ? "R k, v k, R n, R m" + bias + " -> R x"
                                 : "R k, v k" + bias + " -> R")
            .maximum("v")
            .replicated(hasTeacher ? "knmx" : "k");
      });
  rules.add<dist::LogitSumsOp>([](dist::LogitSumsOp op, RuleWriter &writer) {
    const bool hasTeacher = !op.getTeacher().empty();
    const std::string bias = op.getBias() ? ", v" : "";
    writer
        .equation(hasTeacher ? "R k, v k, R, R x, R n, R m" + bias + " -> R z"
                             : "R k, v k, R, R" + bias + " -> R z")
        .replicated(hasTeacher ? "kxnmz" : "kz")
        .sum("v");
  });
  rules.add<dist::LossesOp>([](dist::LossesOp op, RuleWriter &writer) {
    const bool hasTeacher = !op.getTeacher().empty();
    writer.equation(hasTeacher ? "R x, R z, R, R m -> R l" : "R, R z, R -> R")
        .replicated(hasTeacher ? "xzml" : "z");
  });
  rules.add<dist::LossGradientsOp>(
      [](dist::LossGradientsOp op, RuleWriter &writer) {
        const bool hasTeacher = !op.getTeacher().empty();
        const std::string bias = op.getBias() ? ", v" : "";
        writer
            .equation((hasTeacher ? "R k, v k, R, R, R x, R z, R n, R m"
                                  : "R k, v k, R, R, R, R z") +
                      bias + " -> R k, v k" + bias)
            .replicated(hasTeacher ? "kxznm" : "kz")
            .sum("vR");
      });
}

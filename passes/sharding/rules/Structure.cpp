//===- Structure.cpp - what moves or names values -------------------------===//

#include "passes/sharding/rules/RuleTable.h"

using namespace mlir;
using namespace baton;
using namespace baton::model;
using namespace baton::sharding;

/// Dimensions that join or split are what the finer side says.
static void writeReshape(ReshapeOp op, RuleWriter &writer) {
  auto x = cast<StepTensorType>(op.getX().getType()).getShape();
  auto y = cast<StepTensorType>(op.getResult().getType()).getShape();
  std::string left = "R", right = "R", whole;
  char next = 'A';
  if (!isSymbol(x.front()))
    left = right = next++;
  size_t i = 1, j = 1;
  while (i < x.size() || j < y.size()) {
    // The shortest runs of both sides with one product.
    size_t firstX = i, firstY = j;
    int64_t sizeX = i < x.size() ? x[i++] : 1;
    int64_t sizeY = j < y.size() ? y[j++] : 1;
    while (sizeX != sizeY)
      if (sizeX < sizeY)
        sizeX *= x[i++];
      else
        sizeY *= y[j++];
    size_t countX = i - firstX, countY = j - firstY;
    size_t fine = std::max(countX, countY);
    bool simple = std::min(countX, countY) <= 1;
    auto write = [&](std::string &side, size_t count, char first) {
      for (size_t k = 0; k < count; ++k) {
        side += " ";
        size_t letters = count == 1 && simple ? fine : 1;
        for (size_t n = 0; n < letters; ++n)
          side += char(first + k + n);
      }
    };
    write(left, countX, next);
    write(right, countY, simple ? next : char(next + countX));
    size_t used = simple ? fine : countX + countY;
    if (!simple)
      for (size_t n = 0; n < used; ++n)
        whole += char(next + n);
    next += used;
  }
  writer.equation(left + " -> " + right).replicated(whole).terms({0});
}

/// Parts along an axis, of which none is at one place of the whole.
static void writeJoin(Operation *op, int64_t axis, RuleWriter &writer) {
  std::string text, whole = "z";
  SmallVector<std::string> tensor = lettersOf(op->getResult(0));
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    // Letters that lettersOf gives to no dimension of so few.
    tensor[axis] = char('A' + i);
    whole += tensor[axis];
    text += (i ? ", " : "") + spaced(tensor);
  }
  tensor[axis] = "z";
  writer.equation(text + " -> " + spaced(tensor)).replicated(whole);
}

void sharding::addStructure(RuleTable &rules) {
  rules.without<ProgramOp>("its arguments lie where dist.arguments says");
  rules.without<StackOp>("what it carries lies in one place in all iterations");
  rules.without<YieldOp>("it reads what the stack carries, where that lies");
  rules.without<CustomOp>(
      "only its body knows what a task reads, so a rank needs "
      "all of every operand");
  rules.add<ReturnOp>([](ReturnOp op, RuleWriter &writer) {
    bool loss = rankOf(op.getOperand(0)) == 1;
    writer.equation(loss ? "R ->" : "R v ->").replicated(loss ? "" : "Rv");
  });
  rules.add<ParameterOp>([](ParameterOp op, RuleWriter &writer) {
    writer.equation(" -> " + letters(op.getResult()));
  });
  rules.add<SaveOp>([](SaveOp op, RuleWriter &writer) {
    writer.equation(letters(op.getX()) + " ->");
  });
  rules.add<SavedOp>([](SavedOp op, RuleWriter &writer) {
    writer.equation(" -> " + letters(op.getResult()));
  });
  rules.add<GradientOp>([](GradientOp op, RuleWriter &writer) {
    std::string tensor = letters(op.getGradient());
    writer.equation(tensor + ", " + tensor + " ->");
  });

  rules.add<ReshapeOp>(writeReshape);
  rules.add<TransposeOp>([](TransposeOp op, RuleWriter &writer) {
    SmallVector<std::string> x = lettersOf(op.getX()), y;
    for (int64_t from : op.getPermutation())
      y.push_back(x[from]);
    writer.equation(spaced(x) + " -> " + spaced(y)).terms({0});
  });
  rules.add<model::SliceOp>([](model::SliceOp op, RuleWriter &writer) {
    SmallVector<std::string> x = lettersOf(op.getX()), y = x;
    x[op.getAxis()] = "x";
    y[op.getAxis()] = "y";
    writer.equation(spaced(x) + " -> " + spaced(y)).replicated("xy");
  });
  rules.add<BroadcastOp>([](BroadcastOp op, RuleWriter &writer) {
    SmallVector<std::string> x = lettersOf(op.getX()), y = x;
    y[op.getAxis()] += "r";
    writer.equation(spaced(x) + " -> " + spaced(y));
  });
  // Positions are of all rows.
  rules.add<ReindexOp>([](ReindexOp op, RuleWriter &writer) {
    writer.equation(alike(op)).replicated("Rt");
  });
  rules.add<LastRowsOp>("R k -> o k", "Ro");
  rules.add<ConcatOp>(
      [](ConcatOp op, RuleWriter &writer) { writeJoin(op, 0, writer); });
  rules.add<JoinOp>([](JoinOp op, RuleWriter &writer) {
    writeJoin(op, op.getAxisAttr().getInt(), writer);
  });
}

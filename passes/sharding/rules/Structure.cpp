//===- Structure.cpp - what moves or names values -------------------------===//

#include "passes/sharding/rules/RuleTable.h"

#include "dialects/Event/Event.h"

#include "llvm/ADT/StringExtras.h"

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

namespace {
/// Bounds of a body's tile along its argument's dimension of rows.
struct RowBounds {
  AffineExpr low, high;
  bool operator==(const RowBounds &other) const {
    return low == other.low && high == other.high;
  }
};
} // namespace

/// Whether each task makes rows of operands' same rows alone, so that ranks can
/// have some of the rows each.
static bool isByRows(CustomOp op) {
  auto body =
      SymbolTable::lookupNearestSymbolFrom<event::BodyOp>(op, op.getBodyAttr());
  SmallVector<Value> values(op->getOperands());
  llvm::append_range(values, op->getResults());
  if (!body || body.getAccesses().size() != values.size())
    return false;
  std::optional<RowBounds> all;
  for (auto [value, access] : llvm::zip(values, body.getAccessAttrs())) {
    auto rows = llvm::find_if(typeOf(value).getShape(), isSymbol);
    if (rows == typeOf(value).getShape().end())
      continue;
    unsigned d = rows - typeOf(value).getShape().begin();
    if (d >= access.getLow().getNumResults())
      return false;
    RowBounds bounds{access.getLow().getResult(d),
                     access.getHigh().getResult(d)};
    if (all && !(*all == bounds))
      return false;
    all = bounds;
  }
  return true;
}

/// Only the body knows what a task reads: a rank needs all of every operand but
/// for rows, which may be its own. What has none is a parameter's gradient, a
/// sum over them.
static void writeCustom(CustomOp op, RuleWriter &writer) {
  // Dimensions of a size have one letter; none of those of rows and positions.
  StringRef names = "ABCDEFGHIJKLMNOPQUVWXYZacdefghijklmnpqruvwxyz";
  SmallVector<int64_t> sizes;
  auto spell = [&](ValueRange values) {
    SmallVector<std::string> tensors;
    for (Value value : values) {
      SmallVector<std::string> dimensions;
      for (int64_t size : typeOf(value).getShape()) {
        if (isSymbol(size)) {
          dimensions.push_back("R");
          continue;
        }
        auto found = llvm::find(sizes, size);
        dimensions.push_back({names[(found - sizes.begin()) % names.size()]});
        if (found == sizes.end())
          sizes.push_back(size);
      }
      tensors.push_back(spaced(dimensions));
    }
    return llvm::join(tensors, ", ");
  };
  std::string text = spell(op->getOperands()) + " -> ";
  text += spell(op->getResults());
  writer.equation(text).replicated(names);
  auto hasRows = [](Value value) {
    return llvm::any_of(typeOf(value).getShape(), isSymbol);
  };
  if (llvm::none_of(op->getResults(), hasRows))
    writer.sum("R");
  else if (!isByRows(op))
    writer.replicated("R");
}

void sharding::addStructure(RuleTable &rules) {
  rules.without<ProgramOp>("its arguments lie where dist.arguments says");
  rules.without<StackOp>("what it carries lies in one place in all iterations");
  rules.without<YieldOp>("it reads what the stack carries, where that lies");
  rules.without<AdapterDownOp>("adapter-slots makes it of what a rank has");
  rules.without<AdapterUpOp>("adapter-slots makes it of what a rank has");
  rules.without<PagedAppendOp>("batch-form makes it of what a rank has");
  rules.without<PagedAttentionOp>("batch-form makes it of what a rank has");
  rules.without<TokenMaskOp>("batch-form makes it of what a rank has");
  rules.without<SampleOp>("batch-form makes it of what a rank has");
  rules.add<CustomOp>(writeCustom);
  rules.add<ReturnOp>([](ReturnOp op, RuleWriter &writer) {
    auto program = op->getParentOfType<ProgramOp>();
    bool loss = program && program.getTraining();
    writer.equation(rankOf(op.getOperand(0)) == 1 ? "R ->" : "R v ->")
        .replicated(loss ? "v" : "Rv");
  });
  rules.add<ParameterOp>([](ParameterOp op, RuleWriter &writer) {
    writer.equation(" -> " + letters(op.getResult()));
  });
  rules.add<SaveOp>([](SaveOp op, RuleWriter &writer) {
    writer.equation(letters(op.getX()) + " ->").terms({0});
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

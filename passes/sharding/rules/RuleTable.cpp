//===- ModelRules.cpp - the rules of the model dialect, and of losses -----===//
//
// Rows that take their place in the step, not an operand, as their position
// cannot be sharded: a rank would not know where its rows begin.
//
//===----------------------------------------------------------------------===//

#include "passes/sharding/Rules.h"

#include "dialects/Dist/Dist.h"

#include "llvm/ADT/StringMap.h"

#include <functional>

using namespace mlir;
using namespace baton;
using namespace baton::model;
using namespace baton::sharding;

namespace {

using Writer = std::function<void(Operation *, RuleWriter &)>;

/// Rules by the names of ops, and reasons why others have none.
class Table {
public:
  Table() {
    addStructure();
    addProducts();
    addRows();
    addAttention();
    addElementwise();
    addViews();
    addTraining();
    addAttentionAdjoints();
    addHyperConnections();
    addLosses();
  }

  llvm::StringMap<Writer> rules;
  llvm::StringMap<StringRef> reasons;

private:
  template <typename OpT>
  void add(std::function<void(OpT, RuleWriter &)> write) {
    rules[OpT::getOperationName()] = [write](Operation *op,
                                             RuleWriter &writer) {
      write(cast<OpT>(op), writer);
    };
  }
  /// An equation that depends on nothing.
  template <typename OpT>
  void add(StringRef equation, StringRef replicated = "", StringRef sum = "") {
    rules[OpT::getOperationName()] = [=](Operation *op, RuleWriter &writer) {
      writer.equation(equation).replicated(replicated).sum(sum);
    };
  }
  /// Those of Ops that are element-wise: "A, A -> A".
  template <typename... Ops> void addElementwiseOf();
  template <typename OpT> void without(StringRef reason) {
    reasons[OpT::getOperationName()] = reason;
  }

  void addStructure();
  void addProducts();
  void addRows();
  void addAttention();
  void addElementwise();
  void addViews();
  void addTraining();
  void addAttentionAdjoints();
  void addHyperConnections();
  void addLosses();
};

int64_t rankOf(Value value) {
  return cast<StepTensorType>(value.getType()).getRank();
}

std::string letters(Value value) { return spaced(lettersOf(value)); }

/// "A, A -> A": operands and results of one shape.
std::string alike(Operation *op) {
  std::string text, tensor = letters(op->getOperand(0));
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    text += (i ? ", " : "") + tensor;
  return text + " -> " + tensor;
}

} // namespace

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

void Table::addStructure() {
  without<ProgramOp>("its arguments lie where dist.arguments says");
  without<StackOp>("what it carries lies in one place in all iterations");
  without<YieldOp>("it reads what the stack carries, where that lies");
  without<CustomOp>("only its body knows what a task reads, so a rank needs "
                    "all of every operand");
  add<ReturnOp>([](ReturnOp op, RuleWriter &writer) {
    bool loss = rankOf(op.getOperand(0)) == 1;
    writer.equation(loss ? "R ->" : "R v ->").replicated(loss ? "" : "Rv");
  });
  add<ParameterOp>([](ParameterOp op, RuleWriter &writer) {
    writer.equation(" -> " + letters(op.getResult()));
  });
  add<SaveOp>([](SaveOp op, RuleWriter &writer) {
    writer.equation(letters(op.getX()) + " ->");
  });
  add<SavedOp>([](SavedOp op, RuleWriter &writer) {
    writer.equation(" -> " + letters(op.getResult()));
  });
  add<GradientOp>([](GradientOp op, RuleWriter &writer) {
    std::string tensor = letters(op.getGradient());
    writer.equation(tensor + ", " + tensor + " ->");
  });
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

void Table::addProducts() {
  add<EmbeddingOp>("R, v k -> R k", "", "v");
  add<PositionEmbeddingOp>("p k -> R k", "Rp");
  // A bias and a residual are terms: over ranks that have parts of the sum over
  // k, one of them adds them. What follows the sum keeps k whole.
  add<LinearOp>([](LinearOp op, RuleWriter &writer) {
    std::string text = "R k, n k";
    SmallVector<unsigned> terms;
    unsigned index = 2;
    if (op.getBias()) {
      text += ", n";
      terms.push_back(index++);
    }
    for (Value norm : {op.getNormWeight(), op.getNormBias()})
      if (norm) {
        text += ", k";
        ++index;
      }
    if (op.getResidual()) {
      text += ", R n";
      terms.push_back(index++);
    }
    writer.equation(text + " -> R n");
    bool plain = op.getNorm() == Norm::identity &&
                 op.getActivation() == Activation::identity;
    if (plain)
      writer.sum("k").terms(terms);
    else
      writer.replicated("k");
  });
  add<GatedLinearOp>([](GatedLinearOp op, RuleWriter &writer) {
    std::string text = "R k, n k, n k";
    for (Value bias : {op.getGateBias(), op.getUpBias()})
      text += bias ? ", n" : "";
    for (Value norm : {op.getNormWeight(), op.getNormBias()})
      text += norm ? ", k" : "";
    writer.equation(text + " -> R n").replicated("k");
  });
  add<MatmulOp>([](MatmulOp op, RuleWriter &writer) {
    // Of the three letters any may be kv, which is never sharded.
    auto lhs = cast<StepTensorType>(op.getLhs().getType());
    auto result = cast<StepTensorType>(op.getResult().getType());
    std::string k = isSymbol(lhs.getDimension(2)) ? "R" : "k";
    std::string n = isSymbol(result.getDimension(2)) ? "R" : "n";
    writer.equation("h R " + k + ", h " + k + " " + n + " -> h R " + n)
        .sum(lhs.getDimension(2) == kRows ? "R" : "k")
        .replicated("t");
  });
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// [R, K] or, every head by itself, [R, H, K].
static std::string rowsOf(Value x) { return rankOf(x) == 3 ? "R h k" : "R k"; }

void Table::addRows() {
  add<RmsNormOp>([](RmsNormOp op, RuleWriter &writer) {
    std::string x = rowsOf(op.getX());
    writer.equation(x + ", k -> " + x).replicated("k");
  });
  // Over ranks that have parts of a row, what begins a norm is local, and the
  // squares are a partial sum, as products of what is scaled are.
  add<NormBeginOp>("R k, k -> R k, R z", "z", "k");
  add<NormEndOp>("R n, R z -> R n", "z");
  add<LayerNormOp>([](LayerNormOp op, RuleWriter &writer) {
    writer.equation(op.getBias() ? "R k, k, k -> R k" : "R k, k -> R k")
        .replicated("k");
  });
  add<RopeTableOp>([](RopeTableOp op, RuleWriter &writer) {
    if (op.getPositions())
      writer.equation("R -> R z").replicated("z");
    else
      writer.equation(" -> R z").replicated("Rz");
  });
  add<RopeOp>("R h d, R z -> R h d", "dz");
  add<KvAppendOp>("R h d -> t h d", "Rtd");
  add<LastRowsOp>("R k -> o k", "Ro");
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// Letters of query and of key/value heads. Ranks that share key/value heads
/// have all of them, and of the queries' some.
static std::pair<std::string, std::string> headsOf(Operation *op) {
  if (op->hasAttr(dist::kSharedHeads))
    return {"h", "g"};
  return {"gr", "g"};
}

void Table::addAttention() {
  add<AttentionOp>([](AttentionOp op, RuleWriter &writer) {
    auto [h, g] = headsOf(op);
    std::string gate;
    if (op.getGate())
      gate = ", R " + h + (rankOf(op.getGate()) == 3 ? " e" : "");
    writer
        .equation("R " + h + " d, R " + g + " d, R " + g + " e" + gate +
                  " -> R " + h + " e")
        .replicated(op->hasAttr(dist::kSharedHeads) ? "Rtdeg" : "Rtde");
  });
  add<SequenceAttentionOp>([](SequenceAttentionOp op, RuleWriter &writer) {
    auto [h, g] = headsOf(op);
    writer
        .equation("R " + h + " d, R " + g + " d, R " + g + " e, R -> R " + h +
                  " e, R " + h + " z")
        .replicated(op->hasAttr(dist::kSharedHeads) ? "sdezg" : "sdez");
  });
  add<GateOp>([](GateOp op, RuleWriter &writer) {
    writer.equation(rankOf(op.getGate()) == 3 ? "R h e, R h e -> R h e"
                                              : "R h e, R h -> R h e");
  });
  add<MaskOp>([](MaskOp op, RuleWriter &writer) {
    std::string x = letters(op.getX());
    writer.equation(x + (op.getPositions() ? ", R -> " : " -> ") + x)
        .replicated("Rt");
  });
  // Positions are of all rows.
  add<ReindexOp>([](ReindexOp op, RuleWriter &writer) {
    writer.equation(alike(op)).replicated("Rt");
  });
  add<SoftmaxOp>([](SoftmaxOp op, RuleWriter &writer) {
    writer.equation(alike(op)).replicated(lettersOf(op.getX()).back());
  });
}

//===----------------------------------------------------------------------===//
// Element-wise, views
//===----------------------------------------------------------------------===//

template <typename... Ops> void Table::addElementwiseOf() {
  auto addIfElementwise = [&]<typename OpT>(OpT *) {
    if constexpr (OpT::template hasTrait<Elementwise::Trait>())
      rules[OpT::getOperationName()] = [](Operation *op, RuleWriter &writer) {
        writer.equation(alike(op));
      };
  };
  (addIfElementwise(static_cast<Ops *>(nullptr)), ...);
}

void Table::addElementwise() {
  addElementwiseOf<
#define GET_OP_LIST
#include "dialects/Model/ModelOps.cpp.inc"
      >();
  // Those that are linear, too.
  add<AddOp>([](AddOp op, RuleWriter &writer) {
    writer.equation(alike(op)).terms({0, 1});
  });
  add<ScaleOp>([](ScaleOp op, RuleWriter &writer) {
    writer.equation(alike(op)).terms({0});
  });
  add<SoftmaxGradientOp>([](SoftmaxGradientOp op, RuleWriter &writer) {
    writer.equation(alike(op)).replicated(lettersOf(op.getY()).back());
  });
}

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

void Table::addViews() {
  add<ReshapeOp>(writeReshape);
  add<TransposeOp>([](TransposeOp op, RuleWriter &writer) {
    SmallVector<std::string> x = lettersOf(op.getX()), y;
    for (int64_t from : op.getPermutation())
      y.push_back(x[from]);
    writer.equation(spaced(x) + " -> " + spaced(y)).terms({0});
  });
  add<model::SliceOp>([](model::SliceOp op, RuleWriter &writer) {
    SmallVector<std::string> x = lettersOf(op.getX()), y = x;
    x[op.getAxis()] = "x";
    y[op.getAxis()] = "y";
    writer.equation(spaced(x) + " -> " + spaced(y)).replicated("xy");
  });
  add<BroadcastOp>([](BroadcastOp op, RuleWriter &writer) {
    SmallVector<std::string> x = lettersOf(op.getX()), y = x;
    y[op.getAxis()] += "r";
    writer.equation(spaced(x) + " -> " + spaced(y));
  });
  add<ConcatOp>(
      [](ConcatOp op, RuleWriter &writer) { writeJoin(op, 0, writer); });
  add<JoinOp>([](JoinOp op, RuleWriter &writer) {
    writeJoin(op, op.getAxisAttr().getInt(), writer);
  });
}

//===----------------------------------------------------------------------===//
// Training
//===----------------------------------------------------------------------===//

void Table::addTraining() {
  add<CrossEntropyOp>([](CrossEntropyOp op, RuleWriter &writer) {
    writer.equation("R k, v k, R, R -> R, R k, v k")
        .sum("R")
        .replicated("k")
        .expanded("v");
  });
  add<LinearInputGradientOp>("R n, n k -> R k", "", "n");
  add<LinearWeightGradientOp>("R n, R k -> n k", "", "R");
  add<BiasGradientOp>("R n -> n", "", "R");
  add<EmbeddingGradientOp>("R k, R -> v k", "", "R");
  add<NormStatisticsOp>([](NormStatisticsOp op, RuleWriter &writer) {
    bool heads = rankOf(op.getX()) == 3;
    writer.equation(heads ? "R h k -> R h z" : "R k -> R z").replicated("kz");
  });
  add<NormInputGradientOp>([](NormInputGradientOp op, RuleWriter &writer) {
    std::string x = rowsOf(op.getX());
    writer
        .equation(x + ", " + x + ", k, " + (x == "R k" ? "R z" : "R h z") +
                  " -> " + x)
        .replicated("kz");
  });
  add<NormWeightGradientOp>([](NormWeightGradientOp op, RuleWriter &writer) {
    std::string x = rowsOf(op.getX());
    writer.equation(x + ", " + x + (x == "R k" ? ", R z -> k" : ", R h z -> k"))
        .sum("Rh")
        .replicated("kz");
  });
  add<NormBeginGradientOp>([](NormBeginGradientOp op, RuleWriter &writer) {
    std::string text = "R k, k";
    text += op.getScaledGradient() ? ", R k" : "";
    text += op.getSquaresGradient() ? ", R z" : "";
    writer.equation(text + " -> R k")
        .replicated(op.getSquaresGradient() ? "z" : "");
  });
  add<NormEndGradientOp>("R n, R n, R z -> R z", "z", "n");
  add<RopeGradientOp>("R h d, R z -> R h d", "dz");
}

void Table::addAttentionAdjoints() {
  add<AttentionDeltaOp>("R h e, R h e -> R h", "e");
  auto operands = [](Operation *op) {
    auto [h, g] = headsOf(op);
    return "R " + h + " e, R " + h + " d, R " + g + " d, R " + g + " e, R " +
           h + ", R " + h + " z, R -> ";
  };
  add<AttentionQueryGradientOp>(
      [=](AttentionQueryGradientOp op, RuleWriter &writer) {
        writer.equation(operands(op) + "R " + headsOf(op).first + " d")
            .replicated(op->hasAttr(dist::kSharedHeads) ? "sdezg" : "sdez");
      });
  // Gradients of a key/value head are sums over the query heads that read it.
  add<AttentionKeyValueGradientOp>(
      [=](AttentionKeyValueGradientOp op, RuleWriter &writer) {
        writer.equation(operands(op) + "R g d, R g e");
        if (op->hasAttr(dist::kSharedHeads))
          writer.replicated("sdezg").sum("h");
        else
          writer.replicated("sdez").sum("r");
      });
  add<MaskGradientOp>([](MaskGradientOp op, RuleWriter &writer) {
    std::string x = letters(op.getDy());
    writer.equation(x + ", R -> " + x).replicated("Rt");
  });
  add<GateGradientOp>([](GateGradientOp op, RuleWriter &writer) {
    if (rankOf(op.getGate()) == 3)
      writer.equation("R h e, R h e, R h e -> R h e");
    else
      writer.equation("R h e, R h e, R h -> R h").replicated("e");
  });
}

//===----------------------------------------------------------------------===//
// Hyper-connections
//===----------------------------------------------------------------------===//

// Maps of a row are made of all its elements, and read whole: c is what may be
// sharded, where nothing is summed over a row's elements but gradients of maps.
void Table::addHyperConnections() {
  add<HyperProjectOp>("R n c, m p -> R m", "ncp");
  add<HyperMapsOp>("R m, p, q -> R m", "mpq");
  add<HyperPreOp>("R n c, R n -> R c", "n");
  add<HyperPostOp>("R n c, R c, R m -> R n c", "nm");
  add<HyperEnterOp>("R n c, l p, q, m -> R c, R m", "nclpqm");
  add<HyperTurnOp>("R n c, R c, R w, l p, q, m -> R n c, R c, R m", "ncwlpqm");
  add<ScaleRowsOp>("R k, R z -> R k", "z");
  add<HyperProjectGradientOp>("R m, R n c, m p, R m, R z -> R n c", "mncpz");
  add<HyperMapsGradientOp>("R m, R m, p, q -> R m, R m", "mpq");
  add<HyperScaleGradientOp>("R m, R m -> p", "mp", "R");
  add<HyperPreGradientOp>("R c, R n c, R n -> R n c, R n", "n", "c");
  add<HyperPostGradientOp>("R n c, R n c, R c, R m -> R n c, R c, R m", "nm",
                           "c");
}

//===----------------------------------------------------------------------===//
// Losses over a sharded vocabulary
//===----------------------------------------------------------------------===//

void Table::addLosses() {
  add<dist::LogitMaximumOp>([](dist::LogitMaximumOp op, RuleWriter &writer) {
    writer.equation("R k, v k -> R").maximum("v").replicated("k");
  });
  add<dist::LogitSumsOp>("R k, v k, R, R -> R z", "kz", "v");
  add<dist::LossesOp>("R, R z, R -> R", "z");
  add<dist::LossGradientsOp>("R k, v k, R, R, R, R z -> R k, v k", "kz", "vR");
}

//===----------------------------------------------------------------------===//
// Looking up
//===----------------------------------------------------------------------===//

static const Table &table() {
  static const Table instance;
  return instance;
}

std::optional<Rule> baton::sharding::ruleOf(Operation *op) {
  auto found = table().rules.find(op->getName().getStringRef());
  if (found == table().rules.end())
    return std::nullopt;
  RuleWriter writer(op);
  found->second(op, writer);
  return writer.finish();
}

StringRef baton::sharding::whyWithoutRule(StringRef opName) {
  return table().reasons.lookup(opName);
}

bool baton::sharding::hasRule(StringRef opName) {
  return table().rules.contains(opName);
}

//===- Rules.cpp - which dimensions of an op belong together --------------===//

#include "passes/sharding/Rules.h"

#include "dialects/Model/Model.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace baton::model;
using namespace baton::sharding;

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<StepTensorType>(value.getType()).getShape();
}

//===----------------------------------------------------------------------===//
// Letters
//===----------------------------------------------------------------------===//

static StringRef lettersOfSymbol(int64_t dimension) {
  return dimension == kRows ? "bs" : dimension == kOutputs ? "o" : "t";
}

SmallVector<std::string> baton::sharding::lettersOf(Value value) {
  ArrayRef<int64_t> shape = shapeOf(value);
  StringRef names = "khgfed";
  SmallVector<std::string> letters;
  for (auto [i, dimension] : llvm::enumerate(shape)) {
    size_t fromEnd = shape.size() - 1 - i;
    if (isSymbol(dimension))
      letters.push_back(lettersOfSymbol(dimension).str());
    else
      letters.push_back(
          {fromEnd < names.size() ? names[fromEnd] : char('A' + fromEnd)});
  }
  return letters;
}

std::string baton::sharding::spaced(ArrayRef<std::string> dimensions) {
  return llvm::join(dimensions, " ");
}

std::string Rule::text() const {
  auto tensors = [&](ArrayRef<FactorLists> list) {
    return llvm::join(
        llvm::map_range(list,
                        [&](const FactorLists &tensor) {
                          SmallVector<std::string> dimensions;
                          for (const FactorList &dimension : tensor) {
                            std::string &letters = dimensions.emplace_back();
                            for (unsigned factor : dimension)
                              letters += factors[factor].letter;
                          }
                          return spaced(dimensions);
                        }),
        ", ");
  };
  std::string left = tensors(operands), right = tensors(results);
  std::string text =
      left + (left.empty() ? "->" : " ->") + (right.empty() ? "" : " " + right);
  for (auto [kind, word] : {std::pair(FactorKind::sum, "sum"),
                            {FactorKind::maximum, "max"},
                            {FactorKind::own, "own"},
                            {FactorKind::replicated, "replicated"},
                            {FactorKind::expanded, "expanded"}}) {
    std::string letters;
    for (const Factor &factor : factors)
      if (factor.kind == kind)
        letters += std::string(" ") + factor.letter;
    if (!letters.empty())
      text += std::string("; ") + word + letters;
  }
  if (!terms.empty())
    text += "; terms " +
            llvm::join(llvm::map_range(
                           terms, [](unsigned i) { return std::to_string(i); }),
                       " ");
  if (isLinear && terms.size() != operands.size())
    text += ", linear in them";
  std::string sizes;
  for (const Factor &factor : factors)
    if (factor.size)
      sizes +=
          std::string(" ") + factor.letter + "=" + std::to_string(factor.size);
  return sizes.empty() ? text : text + ";" + sizes;
}

bool Rule::isRows(const FactorList &dimension) const {
  if (dimension.size() != 2 || factors[dimension[0]].letter != 'b')
    return false;
  const char inner = factors[dimension[1]].letter;
  return inner == 's' || inner == 'e';
}

Rule baton::sharding::identityRule(ValueRange values) {
  Rule rule;
  FactorLists tensor;
  auto add = [&](FactorList &dimension, char letter, int64_t size) {
    dimension.push_back(rule.factors.size());
    rule.factors.push_back({letter, size});
  };
  for (int64_t size : shapeOf(values.front())) {
    FactorList &dimension = tensor.emplace_back();
    if (!isSymbol(size))
      add(dimension, char('A' + tensor.size() - 1), size);
    else
      for (char letter : lettersOfSymbol(size))
        add(dimension, letter, 0);
  }
  rule.operands.resize(values.size(), tensor);
  return rule;
}

//===----------------------------------------------------------------------===//
// Writing rules
//===----------------------------------------------------------------------===//

unsigned RuleWriter::factor(char letter) {
  for (auto [i, factor] : llvm::enumerate(rule.factors))
    if (factor.letter == letter)
      return i;
  rule.factors.push_back({letter, 0});
  return rule.factors.size() - 1;
}

void RuleWriter::parseTensor(StringRef text, Value value,
                             SmallVectorImpl<FactorLists> &list) {
  ArrayRef<int64_t> shape = shapeOf(value);
  FactorLists &tensor = list.emplace_back();
  SmallVector<StringRef> dimensions;
  text.split(dimensions, ' ', -1, /*KeepEmpty=*/false);
  if (dimensions.size() != shape.size()) {
    problem = "'" + text.str() + "' does not name the dimensions";
    return;
  }
  for (auto [size, letters] : llvm::zip(shape, dimensions)) {
    if (letters == "R")
      letters = lettersOfSymbol(size);
    FactorList &dimension = tensor.emplace_back();
    for (char letter : letters)
      dimension.push_back(factor(letter));
  }
}

RuleWriter &RuleWriter::equation(StringRef text) {
  auto [left, right] = text.split("->");
  auto parse = [&](StringRef side, auto values,
                   SmallVectorImpl<FactorLists> &list) {
    SmallVector<StringRef> tensors;
    if (!side.trim().empty() || values.size() == 1)
      side.split(tensors, ',');
    if (tensors.size() != values.size()) {
      problem = "'" + text.str() + "' does not name all operands and results";
      return;
    }
    for (auto [tensor, value] : llvm::zip(tensors, values))
      parseTensor(tensor.trim(), value, list);
  };
  parse(left, op->getOperands(), rule.operands);
  parse(right, op->getResults(), rule.results);
  return *this;
}

RuleWriter &RuleWriter::setKind(StringRef letters, FactorKind kind) {
  for (char letter : letters)
    for (Factor &factor : rule.factors)
      // All that `R` may be, but for kv, which is never a row's own.
      if (factor.letter == letter ||
          (letter == 'R' && StringRef("bso").contains(factor.letter)))
        factor.kind = kind;
  return *this;
}

RuleWriter &RuleWriter::sum(StringRef letters) {
  return setKind(letters, FactorKind::sum);
}
RuleWriter &RuleWriter::maximum(StringRef letters) {
  return setKind(letters, FactorKind::maximum);
}
RuleWriter &RuleWriter::replicated(StringRef letters) {
  return setKind(letters, FactorKind::replicated);
}
RuleWriter &RuleWriter::own(StringRef letters) {
  return setKind(letters, FactorKind::own);
}
RuleWriter &RuleWriter::expanded(StringRef letters) {
  return setKind(letters, FactorKind::expanded);
}
RuleWriter &RuleWriter::terms(ArrayRef<unsigned> operands) {
  rule.terms.assign(operands.begin(), operands.end());
  rule.isLinear = !operands.empty() && operands.size() == op->getNumOperands();
  return *this;
}
RuleWriter &RuleWriter::linear(ArrayRef<unsigned> operands) {
  terms(operands);
  rule.isLinear = true;
  return *this;
}

/// A dimension of one factor is its size; of several, the one that no other
/// dimension tells is what is left.
void RuleWriter::inferSizes() {
  for (bool compound : {false, true}) {
    auto visit = [&](const FactorLists &tensor, Value value) {
      for (auto [size, dimension] : llvm::zip(shapeOf(value), tensor)) {
        if (isSymbol(size) || (dimension.size() > 1) != compound)
          continue;
        int64_t known = 1;
        Factor *unknown = nullptr;
        for (unsigned index : dimension) {
          Factor &factor = rule.factors[index];
          if (factor.size)
            known *= factor.size;
          else
            unknown = &factor;
        }
        if (unknown)
          unknown->size = size / known;
        if (known * (unknown ? unknown->size : 1) != size)
          problem = "a dimension of " + std::to_string(size) +
                    " is not what its factors make";
      }
    };
    for (auto [tensor, value] : llvm::zip(rule.operands, op->getOperands()))
      visit(tensor, value);
    for (auto [tensor, value] : llvm::zip(rule.results, op->getResults()))
      visit(tensor, value);
  }
}

std::optional<Rule> RuleWriter::finish() {
  if (problem.empty())
    inferSizes();
  // A parallel factor that a result lacks would be a sum that nobody states.
  for (const FactorLists &tensor : rule.results)
    for (auto [i, factor] : llvm::enumerate(rule.factors))
      if (factor.kind == FactorKind::parallel &&
          llvm::none_of(tensor, [i = unsigned(i)](const FactorList &list) {
            return llvm::is_contained(list, i);
          }))
        problem =
            std::string("a result lacks the parallel factor ") + factor.letter;
  if (problem.empty())
    return rule;
  op->emitOpError() << "does not fit its sharding rule: " << problem;
  return std::nullopt;
}

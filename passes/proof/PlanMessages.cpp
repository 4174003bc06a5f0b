//===- PlanMessages.cpp - what messages call the parts of a plan ---------===//

#include "passes/proof/PlanMessages.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace baton::event;
using namespace baton::tasks;

std::string baton::tasks::tupleText(ArrayRef<int64_t> values) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << '(';
  llvm::interleaveComma(values, out);
  out << ')';
  return text;
}

std::string baton::tasks::textOf(AffineExpr expression) {
  std::string text;
  llvm::raw_string_ostream out(text);
  expression.print(out);
  return text;
}

std::string baton::tasks::taskName(PhaseOp phase,
                                   ArrayRef<int64_t> coordinates) {
  std::string text = phase.getName().str() +
                     tupleText(coordinates.take_front(phase.getRank()));
  if (coordinates.size() > size_t(phase.getRank()))
    text +=
        " with entries " + tupleText(coordinates.drop_front(phase.getRank()));
  return text;
}

std::string baton::tasks::symbolNames(ArrayRef<int64_t> symbols) {
  return llvm::formatv("rows {0}, past {1}, outputs {2}", symbols[kRows],
                       symbols[kPast], symbols[kOutputs])
      .str();
}

std::string baton::tasks::sharing(BufferOp one, BufferOp other) {
  std::string text = ("@" + one.getSymName()).str();
  if (one != other)
    text +=
        (" and @" + other.getSymName() + ", which share @" + *one.getStorage())
            .str();
  return text;
}

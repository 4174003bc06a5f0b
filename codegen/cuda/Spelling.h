//===- Spelling.h - pieces of a plan as pieces of C++ ---------------------===//

#ifndef BATON_CODEGEN_CUDA_SPELLING_H
#define BATON_CODEGEN_CUDA_SPELLING_H

#include "mlir/IR/AffineMap.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

#include <string>

namespace baton::cuda {

/// In C++: dimensions are t0, t1, ..., symbols rows, past and outputs.
std::string spell(mlir::AffineExpr expression);
llvm::SmallVector<std::string> spell(mlir::AffineMap map);
std::string spell(const llvm::APFloat &value);

std::string braces(llvm::ArrayRef<std::string> items);
std::string braces(llvm::ArrayRef<int64_t> items);

/// The C++ type of elements in memory; narrow floating-point numbers are bits.
llvm::StringRef elementType(mlir::Type element);

std::string identifier(llvm::StringRef name);

/// A sum of terms of which some are 0 or have the factor 1.
class Sum {
public:
  void add(const std::string &term, int64_t factor = 1) {
    if (term == "0" || factor == 0)
      return;
    bool product = llvm::StringRef(term).contains(' ') && term.front() != '(';
    terms.push_back(factor == 1 ? term
                                : (product ? "(" + term + ")" : term) + " * " +
                                      std::to_string(factor));
  }
  void add(int64_t constant) { add(std::to_string(constant)); }
  std::string text() const {
    return terms.empty() ? "0" : llvm::join(terms, " + ");
  }
  bool isZero() const { return terms.empty(); }

private:
  llvm::SmallVector<std::string> terms;
};

} // namespace baton::cuda

#endif // BATON_CODEGEN_CUDA_SPELLING_H

//===- CublasLtChoice.h - which products cuBLASLt computes ----------------===//
//
// cuBLASLt multiplies faster than the kernel's own bodies where it reaches more
// of the machine's peak; it takes both sides laid out anew, and a boundary that
// all workers meet at. What of the two is more follows from the figures of the
// target's description (compiler/targets/cuda.json), for each product and
// number of rows.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_COMPILER_CUBLASLTCHOICE_H
#define BATON_COMPILER_CUBLASLTCHOICE_H

#include "codegen/cuda/CublasLtProducts.h"
#include "compiler/Options.h"
#include "compiler/TargetDescription.h"

namespace baton::compiler {

/// How long a product takes, in microseconds, at least.
struct ProductTimes {
  double ownBody, cublasLt;
  /// The part of the latter that is not the call: what is laid out, what tasks
  /// then read, and launches.
  double boundary;
};

struct ProductChoice {
  event::PhaseOp phase;
  /// Nothing for a linear that cuBLASLt cannot compute.
  std::optional<cuda::CublasLtProduct> product;
  /// Steps of at least so many rows are cuBLASLt's; 0: none are.
  int64_t leastRows = 0;
  /// One sentence.
  std::string reason;
};

/// Nothing where the description lacks a figure.
std::optional<ProductTimes> productTimes(const cuda::CublasLtProduct &product,
                                         int64_t rows,
                                         const TargetDescription &description);

/// Of each linear of a program for a device, in order of rank.
std::vector<ProductChoice> chooseProducts(event::ProgramOp program,
                                          const CompileOptions &options,
                                          const TargetDescription &description);

/// An error for --cublaslt=always where no program has such a product.
llvm::Error checkCublasLt(llvm::ArrayRef<std::vector<ProductChoice>> programs,
                          const CompileOptions &options);

} // namespace baton::compiler

#endif // BATON_COMPILER_CUBLASLTCHOICE_H

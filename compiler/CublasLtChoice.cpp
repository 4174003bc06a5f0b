//===- CublasLtChoice.cpp - which products cuBLASLt computes --------------===//

#include "compiler/CublasLtChoice.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

using namespace baton;
using namespace baton::compiler;

/// A kernel that lays out both sides, cuBLASLt's, and one that goes on.
static constexpr double kLaunches = 3;

std::optional<ProductTimes>
compiler::productTimes(const cuda::CublasLtProduct &product, int64_t rows,
                       const TargetDescription &description) {
  for (const std::optional<double> &figure :
       {description.workers, description.readBandwidthGigabytes,
        description.workerTensorGigaflops, description.ownBodyReaches,
        description.cublasLtReaches, description.launchMicroseconds})
    if (!figure)
      return std::nullopt;
  auto moved = [&](double bytes) {
    return bytes / (*description.readBandwidthGigabytes * 1e3);
  };
  const double columns = double(product.resultColumns) * product.sides,
               depth = double(product.depth);
  const double atPeak =
      2.0 * double(rows) * depth * columns /
      (*description.workers * *description.workerTensorGigaflops * 1e3);
  const double weights = 2 * depth * columns, x = 4.0 * double(rows) * depth,
               results = 4.0 * double(rows) * double(product.resultColumns);
  ProductTimes times;
  times.ownBody = std::max(atPeak / *description.ownBodyReaches,
                           moved(weights + x + results));
  const auto rounded = double(product.activationBytes(rows)),
             unpacked = double(product.weightBytes()),
             sums = double(product.productBytes(rows));
  times.boundary = moved(x + rounded + weights + unpacked + sums + results) +
                   kLaunches * *description.launchMicroseconds;
  times.cublasLt =
      times.boundary + std::max(atPeak / *description.cublasLtReaches,
                                moved(rounded + unpacked + sums));
  return times;
}

static std::string timesText(const ProductTimes &times, int64_t rows,
                             const TargetDescription &description) {
  return llvm::formatv(
      "at {0} rows {1:F1} us by cuBLASLt ({2:P0} of the peak, and {3:F1} us "
      "for laying out both sides, taking the product and {4:F0} launches), "
      "{5:F1} us by the kernel's own body ({6:P0} of the peak)",
      rows, times.cublasLt, *description.cublasLtReaches, times.boundary,
      kLaunches, times.ownBody, *description.ownBodyReaches);
}

/// Fewest rows from which on cuBLASLt is the faster one, by whole tiles; 0: it
/// never is.
static int64_t leastFasterRows(const cuda::CublasLtProduct &product,
                               int64_t mostRows,
                               const TargetDescription &description) {
  int64_t least = 0;
  for (int64_t rows = mostRows; rows > 1;) {
    auto times = productTimes(product, rows, description);
    if (times->cublasLt >= times->ownBody)
      break;
    least = rows;
    rows = (rows - 1) / description.linearRows * description.linearRows;
  }
  return least;
}

static void choose(ProductChoice &choice, int64_t mostRows,
                   const CompileOptions &options,
                   const TargetDescription &description) {
  using enum CublasLt;
  if (options.training)
    choice.reason = "products of training are the kernel's own";
  else if (options.cublasLt == never)
    choice.reason = "--cublaslt=never";
  else if (options.batchInvariant)
    choice.reason = "--batch-invariant: cuBLASLt's sums have another order for "
                    "another number of rows";
  else if (mostRows == 1)
    choice.reason =
        "a step of this program has one row, and is bound by memory";
  if (!choice.reason.empty())
    return;
  if (options.cublasLt == always) {
    choice.leastRows = 2;
    choice.reason = "--cublaslt=always";
    return;
  }
  auto times = productTimes(*choice.product, mostRows, description);
  if (!times) {
    choice.reason = "the target's description states no figures for cuBLASLt";
    return;
  }
  choice.leastRows = leastFasterRows(*choice.product, mostRows, description);
  choice.reason = timesText(*times, mostRows, description);
}

std::vector<ProductChoice>
compiler::chooseProducts(event::ProgramOp program,
                         const CompileOptions &options,
                         const TargetDescription &description) {
  std::vector<ProductChoice> choices;
  for (event::PhaseOp phase : event::phasesOf(program)) {
    std::string why;
    auto product = cuda::cublasLtProduct(phase, why);
    if (!product && why.empty())
      continue;
    ProductChoice &choice =
        choices.emplace_back(ProductChoice{phase, product, 0, why});
    if (product)
      choose(choice, int64_t(program.getMaxRows()), options, description);
    choice.reason =
        (choice.leastRows == 0
             ? "the kernel's own body computes it, not cuBLASLt: "
         : options.cublasLt == CublasLt::always
             ? "cuBLASLt computes it in steps of two rows or more: "
             : "cuBLASLt computes it in steps of " +
                   std::to_string(choice.leastRows) + " rows or more: ") +
        choice.reason;
  }
  return choices;
}

llvm::Error
compiler::checkCublasLt(llvm::ArrayRef<std::vector<ProductChoice>> programs,
                        const CompileOptions &options) {
  if (options.cublasLt != CublasLt::always)
    return llvm::Error::success();
  for (const std::vector<ProductChoice> &choices : programs)
    for (const ProductChoice &choice : choices)
      if (choice.leastRows)
        return llvm::Error::success();
  return llvm::createStringError(
      "--cublaslt=always: " + options.model +
      " has no product that cuBLASLt can compute, a linear over all rows of a "
      "step with BF16 weights; batonc explain says why of each");
}

//===- Means.h - means of a text, and how sure they are ---------------===//
//
// Tokens of one window depend on one another, so that the window is what is
// drawn from all text: a mean's interval is Student's, of the windows' means,
// with one degree of freedom less than there are windows. What two models are
// compared by is a difference of the same windows, so that a text that is hard
// for both says nothing.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_COMPILER_COMPARISON_MEANS_H
#define BATON_COMPILER_COMPARISON_MEANS_H

#include "llvm/ADT/ArrayRef.h"

#include <cstddef>
#include <optional>
#include <vector>

namespace baton::comparison {

/// A mean, and how far from it the mean of all text lies at most with the
/// confidence of 95 %; nothing where there is one window.
struct TextMean {
  double value = 0;
  std::optional<double> margin;
};

/// Of the means of windows that have as many tokens each; there is one.
TextMean textMean(llvm::ArrayRef<double> windows);

/// Student's t of 97.5 %: a mean lies within so many standard errors.
double studentsQuantile(size_t degreesOfFreedom);

/// The value that so much of the values, which are sorted and not empty, is no
/// larger than: between two of them, linearly.
double quantile(llvm::ArrayRef<double> sorted, double part);

} // namespace baton::comparison

#endif // BATON_COMPILER_COMPARISON_MEANS_H

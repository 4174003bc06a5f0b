//===- Comparison.cpp - two programs on one text --------------------------===//

#include "compiler/comparison/Comparison.h"

#include <algorithm>

using namespace baton;
using namespace baton::comparison;
using llvm::Error;
using llvm::Expected;

/// Fails unless both are of the same tokens.
static Error expectSameTokens(const LogitStream &a, const LogitStream &b) {
  if (a.vocabulary() != b.vocabulary())
    return b.fail("has a vocabulary of " + llvm::Twine(b.vocabulary()) +
                  " tokens, and the reference one of " +
                  llvm::Twine(a.vocabulary()) +
                  "; distributions of the same tokens are compared");
  // What they are cut into is asked of both alike.
  auto [inA, inB] = std::mismatch(a.tokens().begin(), a.tokens().end(),
                                  b.tokens().begin(), b.tokens().end());
  if (inA == a.tokens().end() && inB == b.tokens().end())
    return Error::success();
  if (inA == a.tokens().end() || inB == b.tokens().end())
    return b.fail("makes " + llvm::Twine(b.windows()) +
                  " windows of the text, and the reference " +
                  llvm::Twine(a.windows()) +
                  "; models of one tokenizer are compared");
  return b.fail("makes other tokens of the text than the reference: token " +
                llvm::Twine(inA - a.tokens().begin()) + " is " +
                llvm::Twine(*inB) + " instead of " + llvm::Twine(*inA) +
                "; models of one tokenizer are compared");
}

static Error readRow(LogitStream &stream, Distribution &distribution,
                     size_t window) {
  auto row = stream.next();
  if (!row)
    return row.takeError();
  if (!distribution.set(*row))
    return stream.fail("computes logits that are no numbers, in window " +
                       llvm::Twine(window + 1));
  return Error::success();
}

namespace {
/// Of each window, the means of its tokens.
struct WindowMeans {
  std::vector<double> loss, otherLoss, excess, divergence, agreement;
};
} // namespace

static Comparison summarise(const LogitStream &reference,
                            const WindowMeans &means,
                            std::vector<double> divergences) {
  Comparison result;
  result.windows = means.loss.size();
  result.context = reference.context();
  result.tokens = result.windows * reference.rows();
  result.loss = textMean(means.loss);
  if (means.otherLoss.empty())
    return result;
  Differences other;
  other.loss = textMean(means.otherLoss);
  other.excess = textMean(means.excess);
  other.divergence = textMean(means.divergence);
  other.agreement = textMean(means.agreement);
  std::sort(divergences.begin(), divergences.end());
  if (!divergences.empty()) {
    other.medianDivergence = quantile(divergences, 0.5);
    other.highDivergence = quantile(divergences, kHighPart);
    other.mostDivergence = divergences.back();
  }
  result.other = other;
  return result;
}

Expected<Comparison> comparison::compare(LogitStream &reference,
                                         LogitStream *other,
                                         const OnWindow &onWindow) {
  if (other)
    if (Error error = expectSameTokens(reference, *other))
      return std::move(error);
  WindowMeans means;
  std::vector<double> divergences;
  Distribution a, b;
  const size_t rows = reference.rows();
  const double count = static_cast<double>(rows);
  for (size_t window = 0; window < reference.windows(); ++window) {
    llvm::ArrayRef<int32_t> targets =
        reference.tokens()
            .slice(window * reference.context(), reference.context())
            .take_back(rows);
    double loss = 0, otherLoss = 0, divergent = 0, same = 0;
    for (int32_t target : targets) {
      if (Error error = readRow(reference, a, window))
        return std::move(error);
      const auto token = static_cast<size_t>(target);
      loss -= a.logProbability(token) / count;
      if (!other)
        continue;
      if (Error error = readRow(*other, b, window))
        return std::move(error);
      otherLoss -= b.logProbability(token) / count;
      divergences.push_back(divergence(a, b));
      divergent += divergences.back() / count;
      same += a.best() == b.best();
    }
    means.loss.push_back(loss);
    if (other) {
      means.otherLoss.push_back(otherLoss);
      means.excess.push_back(otherLoss - loss);
      means.divergence.push_back(divergent);
      means.agreement.push_back(same / count);
    }
    onWindow(summarise(reference, means, {}));
  }
  for (LogitStream *stream : {&reference, other})
    if (stream)
      if (Error error = stream->finish())
        return std::move(error);
  return summarise(reference, means, std::move(divergences));
}

//===- toy_constraints.h - constraints that are easily told ---------------===//

#ifndef BATON_TEST_RUNTIME_BATCH_TOY_CONSTRAINTS_H
#define BATON_TEST_RUNTIME_BATCH_TOY_CONSTRAINTS_H

#include "runtime/batch/token_constraint.h"
#include "runtime/error.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace baton::test {

/// Tokens that a function takes, of the number that the text has already.
class ToyMatcher : public TokenMatcher {
public:
  using Takes = std::function<bool(size_t place, int32_t token)>;
  ToyMatcher(Takes takes, size_t end) : takes(std::move(takes)), end(end) {}

  void allowed(std::span<uint32_t> mask) override {
    if (place == failed)
      throw Error("it is too hard");
    std::ranges::fill(mask, 0u);
    for (size_t token = 0; token < 32 * mask.size(); ++token)
      if (takes(place, static_cast<int32_t>(token)))
        mask[token / 32] |= uint32_t(1) << token % 32;
  }
  bool accept(int32_t token) override {
    if (!takes(place, token) || place == refused)
      return false;
    ++place;
    return true;
  }
  bool is_finished() const override { return place == end; }

  size_t refused = ~size_t(0), failed = ~size_t(0);

private:
  const Takes takes;
  const size_t end;
  size_t place = 0;
};

/// All tokens, of which the mask is as a function leaves it.
class WatchedMatcher : public TokenMatcher {
public:
  using Watch = std::function<void(std::span<uint32_t> mask)>;
  explicit WatchedMatcher(Watch watch) : watch(std::move(watch)) {}

  void allowed(std::span<uint32_t> mask) override {
    std::ranges::fill(mask, ~0u);
    watch(mask);
  }
  bool accept(int32_t) override { return true; }
  bool is_finished() const override { return false; }

private:
  const Watch watch;
};

class ToyConstraint : public TokenConstraint {
public:
  using Start = std::function<std::unique_ptr<TokenMatcher>()>;
  explicit ToyConstraint(Start make) : make(std::move(make)) {}
  std::unique_ptr<TokenMatcher> start() const override { return make(); }

private:
  const Start make;
};

inline std::shared_ptr<const TokenConstraint> multiples_of(int32_t factor) {
  return std::make_shared<ToyConstraint>([factor] {
    return std::make_unique<ToyMatcher>(
        [factor](size_t, int32_t token) { return token % factor == 0; },
        ~size_t(0));
  });
}

inline std::shared_ptr<const TokenConstraint>
watched(WatchedMatcher::Watch watch) {
  return std::make_shared<ToyConstraint>(
      [watch] { return std::make_unique<WatchedMatcher>(watch); });
}

/// What comes behind the tokens of just(): the end, nothing, instead of the
/// last one a refusal, or an error.
enum class End { finished, stuck, refused, failed };

/// These tokens.
inline std::shared_ptr<const TokenConstraint> just(std::vector<int32_t> tokens,
                                                   End end = End::finished) {
  return std::make_shared<ToyConstraint>([tokens = std::move(tokens), end] {
    auto matcher = std::make_unique<ToyMatcher>(
        [tokens](size_t place, int32_t token) {
          return place < tokens.size() && tokens[place] == token;
        },
        end == End::stuck || end == End::failed ? ~size_t(0) : tokens.size());
    if (end == End::refused)
      matcher->refused = tokens.size() - 1;
    if (end == End::failed)
      matcher->failed = tokens.size();
    return matcher;
  });
}

} // namespace baton::test

#endif // BATON_TEST_RUNTIME_BATCH_TOY_CONSTRAINTS_H
